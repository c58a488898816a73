//! The promises of every store, one test for each clause. A clause is a
//! function of a [`world::World`]. The list below runs each clause on each
//! store; a clause that is not listed is dead code, which the lints refuse.

mod accept;
mod answers;
mod audit;
mod claims;
mod contacts;
pub(crate) mod deals;
mod declare;
pub(crate) mod desk;
mod feed;
mod feed_property;
mod fetches;
mod fleet;
mod keeping;
mod keys;
pub(crate) mod messages;
mod one_file;
mod parts;
mod plugins;
mod postgres;
mod products;
mod quarantine;
mod reconversion;
mod removal;
mod repairs;
mod repeat;
mod rollouts;
mod rollup;
mod sketches;
mod two_hosts;
pub(crate) mod world;
mod writer;

use deals::{creating, lookup, noting, patching};
use messages::{greeting, notifying, receiving, reports, sending, statuses, timeouts};
use rollup::{builds, counting, cubes, removals};

/// Runs every clause on the named stores: one module for each store, with the
/// function that makes a world on it if that is possible here.
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
            a_delivery_is_kept_in_the_given_state,
            a_batch_with_a_wrong_write_leaves_nothing,
            a_commit_that_is_dropped_half_way_harms_nothing,
            no_writes_are_no_commit;
        reconversion:
            a_failed_delivery_is_accepted_as_usual_when_it_is_retried,
            a_failure_is_remembered_with_its_attempts_and_its_next_time,
            the_log_of_a_plugin_stays_until_a_version_is_called_again,
            earlier_failures_stay_among_the_notes,
            a_replay_of_the_owner_never_answers_duplicate,
            a_replay_that_finds_the_key_at_another_contact_moves_the_deal_there,
            a_replay_that_only_looks_leaves_the_version_that_made_the_leads,
            a_contact_whose_deals_have_moved_leaves_its_keys_to_the_other,
            a_replay_shows_the_differences_and_writes_them_only_when_asked,
            a_replay_without_keys_finds_its_items_by_their_place,
            a_replay_that_meets_the_key_of_another_delivery_links_to_its_deal,
            a_replay_adds_the_items_that_were_not_finished,
            a_preview_shows_what_an_unfinished_delivery_would_make_and_makes_nothing,
            a_preview_shows_the_differences_of_finished_items_and_the_leads_that_it_would_add,
            a_preview_that_fails_leaves_the_delivery_as_it_is,
            a_replay_that_fails_does_not_undo_the_leads,
            a_replay_of_an_update_shows_and_does_not_repeat_it,
            only_the_holder_of_a_delivery_may_convert_it;
        repairs:
            one_repair_is_open_at_a_time,
            a_host_that_has_lost_a_repair_stores_no_progress,
            a_repair_has_a_row_for_each_field_that_it_changes,
            a_repair_leaves_what_a_person_edited,
            a_repair_that_only_looks_writes_nothing,
            a_repair_of_one_field_changes_that_field_alone,
            nothing_is_written_for_a_repair_that_has_ended,
            a_repair_that_is_not_being_undone_loses_no_change,
            a_deal_that_a_repair_creates_is_in_its_receipt_and_stays,
            an_undo_restores_what_the_repair_changed,
            an_undo_leaves_what_was_changed_since,
            an_undo_leaves_a_removed_deal_and_its_values_are_gone,
            an_undo_gives_a_deal_back_to_its_former_person,
            an_undo_makes_a_merged_person_again,
            an_undo_of_two_moves_of_a_deal_ends_with_its_first_person,
            a_host_that_has_lost_a_repair_merges_no_contacts,
            a_host_that_takes_a_repair_merges_what_the_host_before_left,
            keys_that_a_contact_shares_are_in_the_receipt_and_an_undo_takes_them,
            an_undo_leaves_keys_that_a_newer_lead_names,
            an_erasure_of_the_former_person_takes_the_values_of_a_deal_that_moved,
            an_erasure_of_the_new_person_counts_the_rows_of_its_deals,
            a_receipt_that_is_being_undone_is_not_swept,
            an_erasure_takes_the_values_out_of_receipts,
            receipts_are_kept_as_long_as_deliveries;
        answers:
            answers_stay_with_their_delivery_in_the_order_of_settling,
            the_answered_request_is_kept_rather_than_the_pointers,
            the_answer_of_a_failed_fetch_is_not_kept,
            an_item_that_is_fetched_again_keeps_its_newest_answer,
            answers_are_removed_with_their_delivery,
            a_released_delivery_is_unchanged;
        claims:
            due_work_is_claimed_oldest_first_and_by_the_limit,
            connections_take_turns_however_much_one_has_waiting,
            work_that_a_host_holds_counts_for_its_connection,
            waiting_work_is_counted_by_connection,
            a_held_delivery_comes_with_all_that_it_needs,
            a_lease_that_ran_out_frees_the_work,
            one_delivery_is_claimed_in_any_state_by_one_at_a_time,
            deliveries_are_claimed_together_but_for_those_that_are_held,
            failed_work_of_a_plugin_is_claimed_for_another_digest_only;
        parts:
            a_large_conversion_waits_until_its_last_part_is_there,
            a_large_conversion_that_was_cut_off_is_finished_by_the_next,
            another_version_that_numbers_leads_differently_makes_none_twice,
            a_fetch_that_is_settled_between_two_parts_leaves_the_others_their_places,
            a_failure_between_two_parts_keeps_both_the_done_and_the_remaining_ones,
            a_replay_leaves_a_large_delivery_unchanged,
            a_person_erased_between_two_parts_takes_no_other_lead_along;
        contacts:
            two_leads_of_one_batch_with_one_phone_are_one_person,
            only_the_empty_fields_of_a_known_person_are_filled,
            a_person_without_new_data_gets_no_stamp,
            an_address_finds_a_person_when_one_of_the_two_has_no_phone,
            a_phone_decides_before_an_address,
            an_impossible_phone_is_no_phone,
            contacts_of_two_workspaces_are_separate;
        lookup:
            a_deal_is_four_objects_with_nulls,
            deals_are_found_by_each_filter_newest_first,
            an_address_that_two_people_share_finds_the_deals_of_both,
            the_newest_of_long_deals_are_shown;
        patching:
            a_change_is_one_stamp_and_one_history_row,
            a_product_that_a_partner_confirms_is_not_changed_by_the_source,
            another_partners_deal_is_as_unknown_as_a_missing_one,
            a_deal_that_ends_ends_its_conversation,
            changes_that_partners_make_together_are_all_in_the_history,
            a_timeout_and_partner_changes_in_one_batch_make_one_ticket,
            a_source_overwrites_no_change_of_a_partner,
            the_history_of_a_deal_tells_a_replay_from_a_new_delivery;
        creating:
            a_deal_is_made_with_its_person_and_found_by_its_partner_only,
            a_product_is_named_by_its_id_too,
            an_external_id_is_of_one_deal_of_its_partner,
            a_deal_with_a_message_begins_a_conversation_that_the_worker_sends,
            a_refused_deal_leaves_nothing,
            a_repeated_request_gets_the_same_answer_and_creates_nothing,
            two_requests_with_one_key_at_once_make_one_deal;
        noting:
            a_note_is_kept_whole_and_shown_in_part,
            the_newest_notes_are_shown_and_all_are_kept,
            only_the_partner_of_a_deal_may_note_on_it,
            a_repeated_note_gets_the_same_answer_and_is_kept_once;
        desk:
            an_unanswered_notification_is_on_the_desk,
            a_ticket_is_claimed_answered_and_resolved,
            unknown_names_change_nothing,
            tickets_are_found_by_each_filter_newest_first,
            a_deal_without_a_conversation_has_one_live_ticket_too,
            a_conversation_is_handed_over_only_once,
            a_conversation_is_about_the_deal_that_comes_after_it;
        declare:
            a_plan_creates_the_named_objects_and_reports_them,
            the_same_plan_again_changes_nothing,
            only_changes_are_listed_and_nothing_is_removed,
            configuration_and_secrets_follow_the_fingerprint,
            a_dry_run_lists_the_changes_and_makes_none,
            a_plan_with_an_unknown_name_changes_nothing,
            agent_ids_grow_from_one_over_all_workspaces,
            a_connection_is_paused_and_resumed,
            connections_come_by_name_and_unknown_ones_are_none;
        feed:
            an_empty_feed_is_an_empty_page_at_zero,
            internal_feeds_are_never_exported,
            every_key_is_on_every_row,
            texts_are_exported_letter_by_letter,
            a_page_of_long_rows_ends_at_its_bytes_and_the_next_continues,
            rows_of_a_batch_are_stamped_in_the_order_of_its_items,
            the_clock_does_not_run_ahead_by_the_size_of_a_batch,
            a_clock_that_stands_or_steps_back_still_gives_new_stamps,
            each_entity_has_a_clock_of_its_own;
        fetches:
            a_fetch_waits_and_comes_back_whole,
            a_waiting_fetch_has_its_key_already,
            an_answered_fetch_becomes_its_lead,
            remarks_on_a_fetch_are_added_to_the_deliverys_notes,
            the_first_item_takes_the_fetchs_place_and_others_follow,
            a_fetch_may_lead_to_a_further_fetch,
            an_answer_is_kept_for_the_attempt_after_a_crash,
            a_retry_is_due_again_later_and_asks_again,
            a_fetch_given_up_frees_its_key,
            stop_pauses_the_connections_fetches_and_nothing_else,
            an_answer_with_nothing_in_it_is_ignored,
            only_the_holder_of_a_fetch_may_settle_it,
            a_replay_takes_a_waiting_fetch_from_its_holder;
        fleet:
            a_host_is_listed_with_its_last_report_until_it_leaves,
            one_proposal_of_a_plugin_is_open_at_a_time_and_is_activated_once,
            a_proposal_that_is_withdrawn_never_serves,
            a_proposal_of_a_host_that_left_blocks_no_other,
            a_proposal_of_a_dead_host_blocks_no_other,
            accepted_requests_count_against_the_rate_and_refused_ones_do_not,
            announcements_arrive,
            the_first_sealing_key_counts_until_its_owner_replaces_it;
        keeping:
            finished_deliveries_are_removed_after_their_retention_and_leads_stay,
            quarantined_deliveries_are_removed_sooner,
            a_sweep_takes_no_more_than_asked_and_the_oldest_first,
            held_deliveries_are_not_swept,
            content_keys_are_removed_after_their_window,
            the_backlog_counts_waiting_deliveries,
            deliveries_are_listed_newest_first_by_each_filter,
            converted_deliveries_are_counted_among_the_newest_ones,
            the_newest_of_each_outcome_come_in_turn,
            the_floor_of_a_list_is_the_row_after_its_newest_ones;
        quarantine:
            a_quarantine_is_bounded_and_its_newest_are_kept,
            each_address_has_a_share_of_a_quarantine,
            a_batch_sees_the_deliveries_that_it_quarantined,
            a_delivery_larger_than_a_quarantine_is_not_kept,
            held_deliveries_stay_in_quarantine,
            a_delivery_that_turns_out_unproven_counts_for_the_quarantine;
        keys:
            a_key_opens_one_partner_of_one_workspace,
            an_operators_key_is_of_no_workspace,
            a_key_is_revoked_once_and_still_shown,
            two_keys_never_share_a_digest,
            the_last_use_is_kept_to_the_minute_and_never_goes_back;
        audit:
            rows_of_the_audit_follow_each_other_and_come_back_as_they_were,
            rows_of_the_audit_that_are_added_at_once_have_one_order,
            the_audit_is_listed_newest_first_in_pages_and_by_its_filters,
            old_rows_of_the_audit_are_removed_in_steps_and_the_chain_goes_on,
            rows_are_added_to_the_audit_while_others_are_removed;
        plugins:
            a_component_comes_back_by_its_digest,
            a_known_component_is_left_as_it_is,
            an_activation_keeps_the_previous_version,
            only_a_version_that_nothing_names_is_removed,
            a_component_that_is_not_stored_cannot_serve,
            refusals_are_overtaken_by_file_and_by_bytes,
            the_newest_hundred_refusals_are_kept;
        rollouts:
            a_rollout_begins_with_a_number_and_a_generation_and_comes_back_as_it_was,
            a_rollout_is_not_begun_while_one_of_its_name_is_open,
            a_rollout_that_begins_after_another_forgets_its_reports,
            a_change_comes_back_with_a_new_generation,
            a_change_of_an_older_generation_changes_nothing,
            a_version_is_activated_with_the_change_of_its_rollout_and_its_act_or_none_of_it,
            the_seconds_of_a_step_are_recorded_for_its_generation_only,
            reports_are_replaced_by_host_and_listed_by_name,
            only_the_newest_of_many_reports_are_kept,
            reports_on_ended_rollouts_are_kept_as_long_as_deliveries;
        sketches:
            a_sketch_replaces_only_the_generation_that_was_read;
        products:
            an_import_creates_changes_and_keeps_products,
            the_last_of_two_products_with_one_id_counts,
            products_that_the_import_has_named_before_are_left_alone,
            the_feed_has_declared_products_too,
            a_replaced_catalogue_loses_the_products_that_were_not_named,
            a_product_that_an_earlier_import_changes_later_is_kept_by_the_import_that_named_it,
            a_deal_of_a_removed_product_shows_none,
            removals_are_in_the_feed_for_their_time_and_no_longer,
            products_of_two_workspaces_are_separate;
        removal:
            a_person_is_erased_with_all_its_data_and_no_other_person_is,
            a_source_that_repeats_a_lead_brings_no_person_back,
            another_persons_lead_under_a_removed_id_is_kept,
            what_a_channel_reports_about_an_erased_person_is_not_kept,
            reports_about_somebody_who_is_no_contact_are_erased_by_the_number,
            an_interrupted_erasure_continues_and_a_repeat_finds_nothing,
            people_who_share_an_address_are_found_by_it_one_after_the_other,
            a_shared_delivery_is_emptied_and_the_other_people_stay,
            a_shared_delivery_without_a_body_loses_its_query_and_its_headers,
            a_delivery_with_an_unrouted_lead_is_left,
            a_delivery_with_a_part_that_led_to_no_person_is_emptied,
            data_that_arrives_meanwhile_is_erased_too,
            a_person_who_sends_and_gets_messages_during_the_erasure_leaves_nothing_behind,
            deliveries_that_led_to_no_person_are_listed_whole_and_removed_by_their_ids,
            a_repeated_request_does_not_get_the_erased_names,
            erasures_are_listed_newest_first_without_names,
            a_removed_deal_is_referenced_by_nothing,
            products_are_removed_by_their_names;
        repeat:
            a_repeat_is_a_duplicate_of_the_first,
            a_repeat_within_one_batch_or_one_delivery_is_a_duplicate,
            the_same_key_at_another_connection_is_another_lead,
            leads_without_a_key_are_never_repeats,
            a_content_key_holds_for_its_window_from_the_owners_time,
            an_update_changes_the_fields_that_the_source_sends,
            an_update_that_does_not_fit_its_deal_is_reported_in_the_notes,
            an_update_of_an_unknown_lead_creates_it,
            a_delete_marks_the_deal_once,
            a_delete_of_an_unknown_lead_is_ignored,
            an_id_that_another_person_has_is_no_repeat,
            an_id_of_very_many_people_knows_each_by_any_of_its_contacts,
            two_people_with_one_id_in_a_batch_or_a_delivery_are_two_leads,
            a_lead_that_shares_a_value_with_the_first_of_its_id_is_a_repeat,
            without_names_another_phone_or_address_is_another_person,
            a_change_under_a_shared_id_is_of_the_lead_whose_person_it_fits,
            a_deletion_under_a_shared_id_is_of_its_person_or_of_all,
            another_name_is_another_person_though_no_phone_can_be_read,
            a_change_or_deletion_of_somebody_else_leaves_the_only_lead_of_its_id,
            a_repeat_with_another_phone_says_that_it_is_not_kept,
            what_a_source_said_before_brings_no_deleted_lead_back,
            a_time_that_cannot_be_holds_back_no_change,
            a_lead_that_its_source_makes_again_is_no_longer_deleted;
        notifying:
            a_notification_is_a_contact_a_conversation_and_a_message_on_its_way,
            without_a_lease_it_waits_for_the_worker,
            a_notification_continues_the_open_conversation,
            a_conversation_is_about_the_named_deal_or_the_newest_open_one,
            a_contact_who_opted_out_is_sent_nothing_and_nothing_is_stored,
            two_notifications_of_one_batch_make_one_contact_and_one_conversation,
            a_message_that_has_to_wait_is_not_sent_at_once,
            a_repeated_key_sends_nothing_and_gets_the_same_answer,
            a_key_comes_twice_in_one_batch,
            an_answer_without_a_message_is_remembered_once;
        sending:
            due_sends_are_claimed_oldest_first_and_by_the_limit,
            only_the_holder_of_a_send_may_begin_and_settle_it,
            an_accepted_message_begins_its_conversation,
            a_contact_is_also_found_by_the_channels_name_for_it,
            the_providers_own_word_is_kept_next_to_the_state,
            a_refused_message_failed_and_is_in_the_report,
            an_opt_out_bans_the_contact,
            a_kept_message_is_tried_again_at_its_time,
            a_message_with_an_unknown_outcome_is_not_sent_again_until_an_operator_decides,
            a_message_that_is_given_up_failed_and_is_in_the_report,
            a_status_settles_an_unknown_outcome,
            a_message_that_has_a_status_is_never_sent_again,
            a_host_that_stops_in_the_middle_of_a_send_leaves_an_unknown_outcome,
            a_paused_instance_sends_nothing_until_it_is_resumed,
            a_message_that_may_not_go_out_is_still_given_up_at_its_time,
            a_held_number_is_not_claimed_and_a_held_contact_is_reported;
        statuses:
            each_state_has_its_time_and_read_is_delivered,
            a_status_without_news_changes_no_row,
            the_answer_and_its_statuses_come_to_the_same_in_any_order,
            the_answer_and_a_status_meet_in_one_commit,
            a_failure_is_one_row_and_filled_when_its_message_is_known,
            a_status_without_progress_is_ignored,
            an_id_of_another_instance_is_not_ours,
            two_ids_are_one_message,
            a_webhook_of_a_thousand_events_is_one_commit,
            statuses_of_unknown_messages_are_forgotten_and_the_report_is_not;
        receiving:
            a_contact_may_write_first,
            the_first_message_after_ours_is_the_answer,
            an_answer_may_come_before_the_acceptance,
            a_repeated_message_is_stored_once,
            a_reply_goes_to_the_conversation_of_the_message_that_it_answers,
            a_late_answer_is_an_answer,
            an_opt_out_is_honoured_and_an_older_one_is_not,
            a_new_number_is_the_contacts_and_the_old_one_stays_a_key,
            a_status_does_not_change_an_incoming_message,
            news_of_a_template_change_the_stored_list;
        timeouts:
            an_unanswered_conversation_is_handed_to_people_unless_the_notification_forbids_it,
            each_message_of_ours_gives_the_contact_new_time,
            an_idle_conversation_closes_and_the_next_message_opens_another,
            a_conversation_that_is_unanswered_and_idle_is_handed_over_and_closed,
            a_timeout_of_an_unknown_conversation_changes_nothing;
        greeting:
            lead_deal_conversation_and_message_come_from_one_webhook,
            tests_and_contacts_who_cannot_or_will_not_get_messages_are_not_greeted;
        reports:
            failures_are_found_by_each_filter_in_the_order_of_their_stamps,
            a_failure_has_to_match_its_deal_and_its_conversation,
            a_message_is_found_by_its_state_behind_newer_ones_of_another,
            operators_see_messages_newest_first_by_each_filter;
        counting:
            the_first_run_counts_the_existing_rows,
            the_agent_and_the_source_of_a_conversation_may_change,
            a_test_lead_that_is_removed_is_not_counted_either,
            a_lead_that_turns_out_a_test_is_no_longer_counted,
            a_source_of_any_length_is_counted,
            tickets_count_in_the_period_in_which_they_opened,
            a_ticket_of_a_test_lead_that_is_removed_is_not_counted_either,
            keys_and_counts_are_a_workspaces_own;
        removals:
            removed_rows_are_subtracted,
            a_build_that_missed_removals_is_counted_again,
            a_new_build_needs_no_earlier_removals,
            a_build_that_missed_removals_while_it_was_made_is_given_up;
        builds:
            two_steps_at_once_count_once,
            a_rebuild_serves_when_it_is_whole_and_the_old_rows_go,
            counts_that_were_not_read_keep_their_as_of,
            a_run_that_ends_late_takes_nothing_back;
        cubes:
            a_cube_that_is_being_filled_follows_changes,
            steps_of_counting_and_of_a_cube_may_cross,
            an_unused_zone_loses_its_cube;
    }
}
