//! What every store promises, a test a clause. A clause is a function of a
//! [`world::World`]; the list below runs each of them on each store, and a
//! clause that is not listed is dead code, which the lints refuse.

mod accept;
mod again;
mod answers;
mod claims;
mod contacts;
mod deals;
mod declare;
mod feed;
mod feed_property;
mod fetches;
mod fleet;
mod keeping;
mod keys;
mod one_file;
mod plugins;
mod postgres;
mod repeat;
mod two_hosts;
mod world;
mod writer;

/// Runs every clause on the stores that are named: a module a store, and the
/// function that makes a world on it, if that is possible here.
macro_rules! clauses {
    ($($store:ident = $open:path),+ ; $list:tt) => {
        $( clauses!(@store $store, $open, $list); )+
    };
    (@store $store:ident, $open:path, { $( $area:ident : $( $clause:ident ),+ ; )+ }) => {
        mod $store {
            $( mod $area { $(
                #[tokio::test]
                async fn $clause() {
                    if let Some(world) = $open().await {
                        crate::store::$area::$clause(&world).await;
                    }
                }
            )+ } )+
        }
    };
}

clauses! {
    on_sqlite = crate::store::world::World::on_sqlite,
    on_postgres = crate::store::world::World::on_postgres;
    {
        accept:
            a_lead_becomes_a_contact_and_a_deal,
            an_empty_body_and_odd_characters_come_back_as_they_were,
            a_lead_goes_to_the_agent_it_names,
            one_bad_item_does_not_harm_the_others,
            a_delivery_is_kept_in_the_state_that_is_said,
            answers_come_in_the_order_of_the_writes,
            a_batch_with_a_wrong_write_leaves_nothing,
            a_commit_that_is_dropped_half_way_harms_nothing,
            no_writes_are_no_commit;
        again:
            a_failed_delivery_is_accepted_as_usual_when_it_is_retried,
            a_failure_is_remembered_with_its_attempts_and_its_next_time,
            a_replay_of_the_owner_never_says_duplicate,
            a_replay_shows_what_differs_and_writes_it_only_when_asked,
            a_replay_without_keys_finds_its_items_by_their_place,
            a_replay_that_meets_the_key_of_another_delivery_links_to_its_deal,
            a_replay_adds_what_was_not_finished,
            a_replay_that_fails_does_not_undo_the_leads,
            a_replay_of_an_update_shows_and_does_not_repeat_it,
            only_who_holds_a_delivery_may_convert_it;
        answers:
            answers_stay_with_their_delivery_in_the_order_of_settling,
            what_was_asked_is_kept_rather_than_what_the_pointer_said,
            an_answer_that_led_nowhere_is_not_kept,
            an_item_that_is_fetched_anew_keeps_its_newest_answer,
            answers_go_with_their_delivery,
            a_delivery_is_let_go_of_as_it_was;
        claims:
            due_work_is_claimed_oldest_first_and_by_the_limit,
            a_held_delivery_comes_with_all_that_it_needs,
            a_lease_that_ran_out_frees_the_work,
            one_delivery_is_claimed_in_any_state_by_one_at_a_time,
            failed_work_of_a_plugin_is_claimed_for_another_digest_only;
        contacts:
            the_same_phone_is_the_same_person,
            two_leads_of_one_batch_with_one_phone_are_one_person,
            a_known_person_is_only_filled_where_nothing_was_known,
            a_person_about_whom_nothing_new_is_said_gets_no_stamp,
            an_address_finds_a_person_when_one_of_the_two_has_no_phone,
            a_phone_decides_before_an_address,
            an_impossible_phone_is_no_phone,
            people_of_two_workspaces_never_meet;
        deals:
            a_deal_is_four_objects_with_nulls,
            deals_are_found_by_each_filter_newest_first,
            deals_of_another_workspace_are_not_found;
        declare:
            a_plan_makes_what_it_names_and_says_so,
            the_same_plan_again_changes_nothing,
            only_what_changed_is_listed_and_nothing_is_removed,
            configuration_and_secrets_follow_the_fingerprint,
            a_dry_run_says_what_would_change_and_changes_nothing,
            a_plan_that_names_what_is_not_there_changes_nothing,
            agent_ids_grow_from_one_over_all_workspaces,
            a_connection_is_paused_and_goes_on,
            connections_come_by_name_and_unknown_ones_are_none;
        feed:
            an_empty_feed_is_an_empty_page_at_zero,
            every_key_is_on_every_row,
            what_others_wrote_leaves_letter_by_letter,
            stamps_are_unique_and_rows_come_in_their_order,
            rows_of_a_batch_are_stamped_in_the_order_of_its_items,
            the_clock_does_not_run_ahead_by_the_size_of_a_batch,
            a_clock_that_stands_or_steps_back_still_gives_new_stamps,
            pages_follow_each_other_without_gap_or_repeat,
            a_pull_ends_though_rows_change_meanwhile,
            each_entity_has_a_clock_of_its_own;
        fetches:
            a_fetch_waits_and_comes_back_whole,
            a_waiting_fetch_has_its_key_already,
            an_answered_fetch_becomes_its_lead,
            the_first_item_takes_the_fetchs_place_and_others_follow,
            a_fetch_may_lead_to_a_further_fetch,
            an_answer_is_kept_for_the_attempt_after_a_crash,
            a_retry_is_due_again_later_and_asks_anew,
            a_fetch_given_up_frees_its_key,
            stop_pauses_the_connections_fetches_and_nothing_else,
            an_answer_with_nothing_in_it_is_ignored,
            only_who_holds_a_fetch_may_settle_it,
            a_replay_takes_a_waiting_fetch_from_who_holds_it;
        fleet:
            a_host_is_seen_with_what_it_said_last_until_it_leaves,
            a_proposal_stands_alone_and_serves_once,
            a_proposal_that_is_withdrawn_never_serves,
            a_proposal_of_a_host_that_is_gone_stands_in_nobodys_way,
            a_workspace_pays_for_what_it_asks_and_not_for_refusals,
            what_is_announced_is_heard,
            the_first_sealing_key_counts_until_who_has_it_brings_another;
        keeping:
            finished_deliveries_go_after_their_time_and_leads_stay,
            quarantined_deliveries_go_sooner,
            a_sweep_takes_no_more_than_asked_and_the_oldest_first,
            what_somebody_holds_is_not_swept,
            content_keys_go_when_their_window_is_over,
            a_quarantine_is_bounded_and_says_when_it_is_full,
            the_backlog_counts_what_waits,
            deliveries_are_listed_newest_first_by_each_filter;
        keys:
            a_key_opens_one_partner_of_one_workspace,
            an_operators_key_is_of_no_workspace,
            a_key_is_revoked_once_and_still_shown,
            two_keys_never_share_a_digest,
            the_last_use_is_kept_to_the_minute_and_never_goes_back;
        plugins:
            a_component_comes_back_by_its_digest,
            a_known_component_is_left_as_it_is,
            an_activation_keeps_what_served_before,
            a_component_that_is_not_stored_cannot_serve,
            the_newest_hundred_refusals_are_kept;
        repeat:
            a_repeat_is_a_duplicate_of_the_first,
            a_repeat_within_one_batch_or_one_delivery_is_a_duplicate,
            the_same_key_at_another_connection_is_another_lead,
            leads_without_a_key_are_never_repeats,
            a_content_key_holds_for_its_window_from_the_owners_time,
            an_update_changes_what_the_source_says_now,
            an_update_of_an_unknown_lead_creates_it,
            a_delete_marks_the_deal_once,
            a_delete_of_an_unknown_lead_is_ignored;
    }
}
