//! A partner changes a deal.

use super::super::{conversation, ticket};
use super::edit::{DealChanges, edited, history, own};
use crate::decide::prelude::*;
use crate::{DealPatch, DealPatched};
use leadhost_domain::deal::{DealStage, moved};

/// Changes a partner's deal. Changes nothing if the partner has no such deal, or the
/// workspace has no such product or owner.
pub fn patch(set: &mut WorkingSet, patch: &DealPatch) -> DealPatched {
    let workspace = patch.by.workspace;
    let product = patch.product.as_ref().map(|external_id| {
        let key = (workspace, external_id.clone());
        set.products.get(&key).copied()
    });
    let owner = patch.owner_email.as_ref().map(|email| {
        let key = email.clone().map(|email| (workspace, email));
        key.map(|key| set.owners.get(&key).copied())
    });
    let Some(deal) = own(set, &patch.by, patch.deal) else {
        return DealPatched::NoDeal;
    };
    if product == Some(None) {
        return DealPatched::NoProduct;
    }
    let owner = match owner {
        None => deal.owner,
        Some(None) => None,
        Some(Some(None)) => return DealPatched::NoOwner,
        Some(Some(found)) => found,
    };
    let product = product.flatten().or(deal.product);
    let before = (deal.status, deal.stage);
    let (status, stage) = moved(before, patch.status, patch.stage);
    let mut changes = DealChanges::default();
    changes.note("status", json!(before.0.as_str()), json!(status.as_str()));
    changes.note(
        "stage_code",
        json!(before.1.as_str()),
        json!(stage.as_str()),
    );
    changes.note("product_id", json!(deal.product), json!(product));
    // Who confirms a value chooses it, too.
    let is_chosen = patch.product.is_some() && edited(deal, "product");
    changes.note("owner_id", json!(deal.owner), json!(owner));
    let agent = deal.agent;
    (deal.status, deal.stage) = (status, stage);
    (deal.product, deal.owner) = (product, owner);
    let is_same = changes.0.is_empty();
    if !is_same {
        set.touch_deal(patch.deal);
        let by = patch.by.changed_by();
        history(set, workspace, patch.deal, by, changes.0);
    } else if is_chosen {
        set.unstamped_deals.insert((workspace, patch.deal));
    }
    // The conversation may have begun while the deal was closed.
    let is_open = [before.0, status].contains(&DealStatus::Open);
    let is_alone = set.dialogue.open_conversations(patch.deal).is_empty();
    let adopts = is_open && is_alone && conversation::adopt(set, patch.deal, agent);
    follow(set, patch.deal, before, (status, stage), adopts);
    let changed = !is_same || adopts;
    DealPatched::Done { changed }
}

/// Applies a deal's new state to its conversations and to the contact's newest deal. A conversation
/// that is about the deal only now gets what the deal's stage says, too.
fn follow(
    set: &mut WorkingSet,
    id: DealId,
    before: (DealStatus, DealStage),
    now: (DealStatus, DealStage),
    adopts: bool,
) {
    let conversations = set.dialogue.open_conversations(id);
    if now.1 != before.1 || adopts {
        match now.1 {
            DealStage::VisitScheduled => appoint(set, conversations.last().copied()),
            DealStage::Transferred => {
                ticket::hand_over_deal(set, id, conversations.last().copied())
            }
            _ => {}
        }
    }
    if now.0 != before.0 {
        set.newest_deal_follows(id);
        if now.0 != DealStatus::Open {
            for conversation in conversations {
                conversation::close(set, conversation);
            }
        }
    }
}

/// Notes that a visit was agreed on.
fn appoint(set: &mut WorkingSet, conversation: Option<ConversationId>) {
    let now = set.now;
    let Some(id) = conversation else { return };
    if let Some(conversation) = set.dialogue.conversations.get_mut(&id)
        && conversation.appointment_at.is_none()
    {
        conversation.appointment_at = Some(now);
        set.dialogue.touch_conversation(id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::*;
    use super::*;
    use crate::{ByPartner, ChangedBy};
    use leadhost_domain::conversation;

    const CHANGED: DealPatched = DealPatched::Done { changed: true };
    const UNCHANGED: DealPatched = DealPatched::Done { changed: false };

    fn to_stage(set: &mut WorkingSet, deal: DealId, stage: DealStage) -> DealPatched {
        let stage = Some(stage);
        change(
            set,
            DealPatch {
                stage,
                ..wish(deal)
            },
        )
    }

    fn to_status(set: &mut WorkingSet, deal: DealId, status: DealStatus) -> DealPatched {
        let status = Some(status);
        change(
            set,
            DealPatch {
                status,
                ..wish(deal)
            },
        )
    }

    #[test]
    fn a_change_is_one_stamp_and_one_history_row_with_all_changed_fields() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let all = DealPatch {
            status: Some(DealStatus::Won),
            product: Some("P-1".to_owned()),
            owner_email: Some(Some(OLGA.to_owned())),
            ..wish(id)
        };
        assert_eq!(change(set, all), CHANGED);
        let now = deal(set, id);
        assert_eq!(
            (now.status, now.stage),
            (DealStatus::Won, DealStage::ClosedWon)
        );
        assert_eq!((now.product, now.owner), (Some(product()), Some(owner())));
        assert_eq!(set.changed_deals, [id]);
        let [row] = set.new_history.as_slice() else {
            panic!("not one row: {:?}", set.new_history);
        };
        assert_eq!((row.workspace, row.deal), (by().workspace, id));
        let by = ChangedBy::Partner {
            partner_id: by().partner,
            key_id: by().key,
        };
        assert_eq!(row.by, by);
        let changes: Vec<_> = row
            .changes
            .iter()
            .map(|change| (change.field.as_str(), &change.before, &change.after))
            .collect();
        let null = serde_json::Value::Null;
        assert_eq!(
            changes,
            [
                ("status", &json!("open"), &json!("won")),
                (
                    "stage_code",
                    &json!("in_qualification"),
                    &json!("closed_won")
                ),
                ("product_id", &null, &json!(product())),
                ("owner_id", &null, &json!(owner())),
            ]
        );
    }

    #[test]
    fn a_deal_without_an_owner_is_a_change_with_its_history_once() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let owned_by = |email: Option<&str>| DealPatch {
            owner_email: Some(email.map(str::to_owned)),
            ..wish(id)
        };
        assert_eq!(change(set, owned_by(None)), UNCHANGED);
        assert_eq!(change(set, owned_by(Some(OLGA))), CHANGED);
        assert_eq!(change(set, owned_by(None)), CHANGED);
        assert_eq!(deal(set, id).owner, None);
        assert_eq!(change(set, owned_by(None)), UNCHANGED);
        let [_, row] = set.new_history.as_slice() else {
            panic!("not two rows: {:?}", set.new_history);
        };
        let [change] = row.changes.as_slice() else {
            panic!("not one change: {:?}", row.changes);
        };
        assert_eq!(change.field, "owner_id");
        assert_eq!(
            (&change.before, &change.after),
            (&json!(owner()), &json!(null))
        );
    }

    #[test]
    fn two_changes_of_one_batch_are_one_stamp_and_two_history_rows() {
        let set = &mut working_set();
        let id = stored_deal(set);
        assert_eq!(to_status(set, id, DealStatus::Lost), CHANGED);
        assert_eq!(to_stage(set, id, DealStage::InService), CHANGED);
        assert_eq!(to_status(set, id, DealStatus::Open), UNCHANGED);
        assert_eq!(set.changed_deals, [id]);
        assert_eq!(set.new_history.len(), 2);
    }

    #[test]
    fn a_patch_without_changes_leaves_no_trace() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let conversation_id = conversation_about(set, id, notification());
        for wish in [
            wish(id),
            DealPatch {
                status: Some(DealStatus::Open),
                stage: Some(DealStage::FIRST),
                ..wish(id)
            },
        ] {
            assert_eq!(change(set, wish), UNCHANGED);
        }
        assert!(set.changed_deals.is_empty() && set.new_history.is_empty());
        assert!(set.dialogue.changed_conversations.is_empty());
        assert!(deal(set, id).edited.is_empty());
        assert_eq!(conversation_by_id(set, conversation_id).closed_at, None);
    }

    #[test]
    fn a_product_that_is_confirmed_is_edited_without_a_stamp() {
        let set = &mut working_set();
        let id = stored_deal(set);
        set.deals.get_mut(&id).expect("the deal").product = Some(product());
        let product = Some("P-1".to_owned());
        let confirmed = DealPatch {
            product,
            ..wish(id)
        };
        assert_eq!(change(set, confirmed.clone()), UNCHANGED);
        assert_eq!(deal(set, id).edited, ["product"]);
        assert!(set.changed_deals.is_empty() && set.new_history.is_empty());
        assert_eq!(set.unstamped_deals.len(), 1);
        set.unstamped_deals.clear();
        assert_eq!(change(set, confirmed), UNCHANGED);
        assert!(set.unstamped_deals.is_empty());
    }

    #[test]
    fn an_unknown_name_refuses_the_whole_patch() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let wish = || DealPatch {
            status: Some(DealStatus::Won),
            ..wish(id)
        };
        let product = Some("P-2".to_owned());
        let owner_email = Some(Some("nobody@example.com".to_owned()));
        let wrong = DealPatch { product, ..wish() };
        assert_eq!(change(set, wrong), DealPatched::NoProduct);
        let wrong = DealPatch {
            owner_email,
            ..wish()
        };
        assert_eq!(change(set, wrong), DealPatched::NoOwner);
        assert_eq!(deal(set, id).status, DealStatus::Open);
        assert!(set.changed_deals.is_empty() && set.new_history.is_empty());
    }

    #[test]
    fn another_partners_deal_is_as_unknown_as_a_missing_one() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let other = uuid::Uuid::from_u128(9);
        let partner = PartnerId(other);
        let workspace = WorkspaceId(other);
        let wish = || DealPatch {
            status: Some(DealStatus::Won),
            // The refusal does not reveal which names exist.
            owner_email: Some(Some("nobody@example.com".to_owned())),
            ..wish(id)
        };
        for wrong in [
            DealPatch {
                by: ByPartner { partner, ..by() },
                ..wish()
            },
            DealPatch {
                by: ByPartner { workspace, ..by() },
                ..wish()
            },
            DealPatch {
                deal: DealId(other),
                ..wish()
            },
        ] {
            assert_eq!(change(set, wrong), DealPatched::NoDeal);
        }
        assert!(set.changed_deals.is_empty());
    }

    #[test]
    fn a_deal_that_ends_ends_its_conversations_and_no_others() {
        for end in [DealStatus::Won, DealStatus::Lost, DealStatus::Closed] {
            let set = &mut working_set();
            let id = stored_deal(set);
            let first = conversation_about(set, id, notification());
            let mut elsewhere = notification();
            elsewhere.channel.agent = leadhost_domain::id::AgentId(2);
            let second = conversation_about(set, id, elsewhere);
            let mut of_other = notification();
            of_other.channel.agent = leadhost_domain::id::AgentId(3);
            let other = conversation_about(set, DealId::new(NOW), of_other);
            assert_eq!(to_status(set, id, end), CHANGED);
            let closed = |id| conversation_by_id(set, id).closed_at;
            assert_eq!((closed(first), closed(second)), (Some(NOW), Some(NOW)));
            assert_eq!(closed(other), None);
            assert_eq!(set.dialogue.changed_conversations.len(), 2);
            // The next message begins another conversation, which is not about the ended
            // deal.
            let next = notify(set, notification());
            assert_ne!(message(set, next).conversation, first);
            assert_eq!(conversation(set, next).deal, None);
        }
    }

    #[test]
    fn a_reopened_deal_is_what_its_contact_talks_about() {
        let set = &mut working_set();
        let id = stored_deal(set);
        to_status(set, id, DealStatus::Won);
        to_status(set, id, DealStatus::Open);
        assert_eq!(deal(set, id).stage, DealStage::InService);
        let next = notify(set, notification());
        assert_eq!(conversation(set, next).deal, Some(id));
    }

    #[test]
    fn a_conversation_that_is_about_the_deal_since_this_batch_ends_with_it() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let new = notify(set, notification());
        assert_eq!(conversation(set, new).deal, Some(id));
        to_status(set, id, DealStatus::Won);
        assert_eq!(conversation(set, new).closed_at, Some(NOW));
    }

    #[test]
    fn a_deal_takes_the_conversation_that_began_while_it_was_closed_or_was_never_assigned() {
        for (stage, repeated) in [
            (DealStage::VisitScheduled, false),
            (DealStage::VisitScheduled, true),
            (DealStage::Transferred, true),
        ] {
            let set = &mut working_set();
            let id = stored_deal(set);
            if repeated {
                to_stage(set, id, stage);
            }
            to_status(set, id, DealStatus::Lost);
            let begun = notify(set, notification());
            assert_eq!(conversation(set, begun).deal, None);
            let record = set.deals.get_mut(&id).expect("the deal");
            (record.status, record.stage) = (DealStatus::Open, stage);
            if !repeated {
                record.stage = DealStage::InService;
            }
            saved(set);
            assert_eq!(to_stage(set, id, stage), CHANGED);
            let now = conversation(set, begun);
            assert_eq!(now.deal, Some(id));
            if stage == DealStage::Transferred {
                // The ticket that the deal had opened alone.
                assert_eq!(now.transferred_at, Some(NOW));
                let (_, ticket) = ticket(set);
                assert_eq!(ticket.conversation, Some(message(set, begun).conversation));
            } else {
                assert_eq!(now.appointment_at, Some(NOW));
            }
            assert_eq!(set.changed_deals.is_empty(), repeated);
            assert_eq!(to_stage(set, id, stage), UNCHANGED);
        }
    }

    #[test]
    fn a_closed_deal_takes_no_conversation() {
        let set = &mut working_set();
        let id = stored_deal(set);
        to_status(set, id, DealStatus::Lost);
        let begun = notify(set, notification());
        assert_eq!(to_status(set, id, DealStatus::Closed), CHANGED);
        assert_eq!(conversation(set, begun).deal, None);
    }

    #[test]
    fn a_visit_is_an_appointment_once() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let conversation_id = conversation_about(set, id, notification());
        to_stage(set, id, DealStage::VisitScheduled);
        assert_eq!(
            conversation_by_id(set, conversation_id).appointment_at,
            Some(NOW)
        );
        assert_eq!(set.dialogue.changed_conversations, [conversation_id]);
        saved(set);
        set.now = time(60);
        to_stage(set, id, DealStage::Negotiating);
        to_stage(set, id, DealStage::VisitScheduled);
        assert_eq!(
            conversation_by_id(set, conversation_id).appointment_at,
            Some(NOW)
        );
        assert!(set.dialogue.changed_conversations.is_empty());
    }

    #[test]
    fn a_transferred_deal_hands_its_conversation_to_people_once() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let mut with_words = notification();
        with_words.details.special_instructions = Some("be brief".to_owned());
        let conversation_id = conversation_about(set, id, with_words);
        assert!(
            conversation_by_id(set, conversation_id)
                .respond_by
                .is_some()
        );
        let given = DealPatch {
            stage: Some(DealStage::Transferred),
            owner_email: Some(Some(OLGA.to_owned())),
            ..wish(id)
        };
        assert_eq!(change(set, given), CHANGED);
        let now = conversation_by_id(set, conversation_id);
        assert_eq!(now.status(), conversation::ConversationStatus::Transferred);
        assert_eq!((now.transferred_at, now.respond_by), (Some(NOW), None));
        let (_, opened) = ticket(set);
        assert_eq!(
            (opened.conversation, opened.deal),
            (Some(conversation_id), Some(id))
        );
        assert_eq!(opened.contact, deal(set, id).person);
        assert_eq!(opened.agent, Some(channel().agent));
        assert_eq!(opened.owner, Some(owner()));
        assert_eq!(opened.special_instructions.as_deref(), Some("be brief"));
        saved(set);
        to_stage(set, id, DealStage::InService);
        to_stage(set, id, DealStage::Transferred);
        ticket(set);
        assert!(set.dialogue.changed_conversations.is_empty());
    }

    #[test]
    fn a_transferred_deal_without_a_conversation_gets_a_ticket_too() {
        let set = &mut working_set();
        let id = stored_deal(set);
        to_stage(set, id, DealStage::Transferred);
        let (_, opened) = ticket(set);
        assert_eq!((opened.conversation, opened.deal), (None, Some(id)));
        to_stage(set, id, DealStage::InService);
        to_stage(set, id, DealStage::Transferred);
        assert_eq!(ticket(set).1.resolved_at, None);
    }
}
