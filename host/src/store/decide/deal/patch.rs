//! A partner changes a deal.

use serde_json::json;

use super::super::known::Known;
use super::super::{conversation, ticket};
use super::{Changes, edited, history, own};
use crate::domain::deal::{Stage, Status, moved};
use crate::domain::id::{ConversationId, DealId};
use crate::store::{DealPatch, DealPatched};

pub fn patch(known: &mut Known, patch: &DealPatch) -> DealPatched {
    let workspace = patch.by.workspace;
    let product = patch.product.as_ref().map(|external_id| {
        let key = (workspace, external_id.clone());
        known.products.get(&key).copied()
    });
    let owner = patch.owner_email.as_ref().map(|email| {
        let key = (workspace, email.clone());
        known.owners.get(&key).copied()
    });
    let Some(deal) = own(known, &patch.by, patch.deal) else {
        return DealPatched::NoDeal;
    };
    if product == Some(None) {
        return DealPatched::NoProduct;
    }
    if owner == Some(None) {
        return DealPatched::NoOwner;
    }
    let product = product.flatten().or(deal.product);
    let owner = owner.flatten().or(deal.owner);
    let before = (deal.status, deal.stage);
    let (status, stage) = moved(before, patch.status, patch.stage);
    let mut changes = Changes::default();
    changes.note("status", json!(before.0.as_str()), json!(status.as_str()));
    changes.note(
        "stage_code",
        json!(before.1.as_str()),
        json!(stage.as_str()),
    );
    if changes.note("product_id", json!(deal.product), json!(product)) {
        edited(deal, "product");
    }
    changes.note("owner_id", json!(deal.owner), json!(owner));
    if changes.0.is_empty() {
        return DealPatched::Done { changed: false };
    }
    (deal.status, deal.stage) = (status, stage);
    (deal.product, deal.owner) = (product, owner);
    known.touch_deal(patch.deal);
    let by = patch.by.changed_by();
    history(known, workspace, patch.deal, by, changes.0);
    follow(known, patch.deal, before, (status, stage));
    DealPatched::Done { changed: true }
}

/// Applies a deal's new state to its conversations and to the contact's newest deal.
fn follow(known: &mut Known, id: DealId, before: (Status, Stage), now: (Status, Stage)) {
    let talks = known.dialogue.open_talks(id);
    if now.1 != before.1 {
        match now.1 {
            Stage::VisitScheduled => appoint(known, talks.last().copied()),
            Stage::Transferred => ticket::hand_over_deal(known, id, talks.last().copied()),
            _ => {}
        }
    }
    if now.0 != before.0 {
        known.newest_deal_follows(id);
        if now.0 != Status::Open {
            for talk in talks {
                conversation::close(known, talk);
            }
        }
    }
}

/// Notes that a visit was agreed on.
fn appoint(known: &mut Known, talk: Option<ConversationId>) {
    let now = known.now;
    let Some(id) = talk else { return };
    if let Some(conversation) = known.dialogue.conversations.get_mut(&id)
        && conversation.appointment_at.is_none()
    {
        conversation.appointment_at = Some(now);
        known.dialogue.touch_conversation(id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::*;
    use super::*;
    use crate::domain::conversation;
    use crate::domain::id::{PartnerId, WorkspaceId};
    use crate::store::{ByPartner, ChangedBy};

    const CHANGED: DealPatched = DealPatched::Done { changed: true };
    const KEPT: DealPatched = DealPatched::Done { changed: false };

    fn to_stage(known: &mut Known, deal: DealId, stage: Stage) -> DealPatched {
        let stage = Some(stage);
        change(
            known,
            DealPatch {
                stage,
                ..wish(deal)
            },
        )
    }

    fn to_status(known: &mut Known, deal: DealId, status: Status) -> DealPatched {
        let status = Some(status);
        change(
            known,
            DealPatch {
                status,
                ..wish(deal)
            },
        )
    }

    #[test]
    fn a_change_is_one_stamp_and_one_history_row_with_all_changed_fields() {
        let known = &mut known();
        let id = stored_deal(known);
        let all = DealPatch {
            status: Some(Status::Won),
            product: Some("P-1".to_owned()),
            owner_email: Some(OLGA.to_owned()),
            ..wish(id)
        };
        assert_eq!(change(known, all), CHANGED);
        let now = deal(known, id);
        assert_eq!((now.status, now.stage), (Status::Won, Stage::ClosedWon));
        assert_eq!((now.product, now.owner), (Some(product()), Some(owner())));
        assert_eq!(known.changed_deals, [id]);
        let [row] = known.new_history.as_slice() else {
            panic!("not one row: {:?}", known.new_history);
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
    fn two_changes_of_one_batch_are_one_stamp_and_two_history_rows() {
        let known = &mut known();
        let id = stored_deal(known);
        assert_eq!(to_status(known, id, Status::Lost), CHANGED);
        assert_eq!(to_stage(known, id, Stage::InService), CHANGED);
        assert_eq!(to_status(known, id, Status::Open), KEPT);
        assert_eq!(known.changed_deals, [id]);
        assert_eq!(known.new_history.len(), 2);
    }

    #[test]
    fn a_patch_without_changes_leaves_no_trace() {
        let known = &mut known();
        let id = stored_deal(known);
        let talk_id = talk_about(known, id, notification());
        for wish in [
            wish(id),
            DealPatch {
                status: Some(Status::Open),
                stage: Some(Stage::FIRST),
                ..wish(id)
            },
        ] {
            assert_eq!(change(known, wish), KEPT);
        }
        assert!(known.changed_deals.is_empty() && known.new_history.is_empty());
        assert!(known.dialogue.changed_conversations.is_empty());
        assert!(deal(known, id).edited.is_empty());
        assert_eq!(talk(known, talk_id).closed_at, None);
    }

    #[test]
    fn an_unknown_name_refuses_the_whole_patch() {
        let known = &mut known();
        let id = stored_deal(known);
        let wish = || DealPatch {
            status: Some(Status::Won),
            ..wish(id)
        };
        let product = Some("P-2".to_owned());
        let owner_email = Some("nobody@example.com".to_owned());
        let wrong = DealPatch { product, ..wish() };
        assert_eq!(change(known, wrong), DealPatched::NoProduct);
        let wrong = DealPatch {
            owner_email,
            ..wish()
        };
        assert_eq!(change(known, wrong), DealPatched::NoOwner);
        assert_eq!(deal(known, id).status, Status::Open);
        assert!(known.changed_deals.is_empty() && known.new_history.is_empty());
    }

    #[test]
    fn another_partners_deal_is_as_unknown_as_a_missing_one() {
        let known = &mut known();
        let id = stored_deal(known);
        let other = uuid::Uuid::from_u128(9);
        let partner = PartnerId(other);
        let workspace = WorkspaceId(other);
        let wish = || DealPatch {
            status: Some(Status::Won),
            // The refusal does not reveal which names exist.
            owner_email: Some("nobody@example.com".to_owned()),
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
            assert_eq!(change(known, wrong), DealPatched::NoDeal);
        }
        assert!(known.changed_deals.is_empty());
    }

    #[test]
    fn a_deal_that_ends_ends_its_conversations_and_no_others() {
        for end in [Status::Won, Status::Lost, Status::Closed] {
            let known = &mut known();
            let id = stored_deal(known);
            let first = talk_about(known, id, notification());
            let mut elsewhere = notification();
            elsewhere.channel.agent = crate::domain::id::AgentId(2);
            let second = talk_about(known, id, elsewhere);
            let mut of_other = notification();
            of_other.channel.agent = crate::domain::id::AgentId(3);
            let other = talk_about(known, DealId::new(NOW), of_other);
            assert_eq!(to_status(known, id, end), CHANGED);
            let closed = |id| talk(known, id).closed_at;
            assert_eq!((closed(first), closed(second)), (Some(NOW), Some(NOW)));
            assert_eq!(closed(other), None);
            assert_eq!(known.dialogue.changed_conversations.len(), 2);
            // The next message begins another conversation, which is not about the ended
            // deal.
            let next = notify(known, notification());
            assert_ne!(message(known, next).conversation, first);
            assert_eq!(conversation(known, next).deal, None);
        }
    }

    #[test]
    fn a_reopened_deal_is_what_its_contact_talks_about() {
        let known = &mut known();
        let id = stored_deal(known);
        to_status(known, id, Status::Won);
        to_status(known, id, Status::Open);
        assert_eq!(deal(known, id).stage, Stage::InService);
        let next = notify(known, notification());
        assert_eq!(conversation(known, next).deal, Some(id));
    }

    #[test]
    fn a_conversation_that_is_about_the_deal_since_this_batch_ends_with_it() {
        let known = &mut known();
        let id = stored_deal(known);
        let new = notify(known, notification());
        assert_eq!(conversation(known, new).deal, Some(id));
        to_status(known, id, Status::Won);
        assert_eq!(conversation(known, new).closed_at, Some(NOW));
    }

    #[test]
    fn a_visit_is_an_appointment_once() {
        let known = &mut known();
        let id = stored_deal(known);
        let talk_id = talk_about(known, id, notification());
        to_stage(known, id, Stage::VisitScheduled);
        assert_eq!(talk(known, talk_id).appointment_at, Some(NOW));
        assert_eq!(known.dialogue.changed_conversations, [talk_id]);
        saved(known);
        known.now = time(60);
        to_stage(known, id, Stage::Negotiating);
        to_stage(known, id, Stage::VisitScheduled);
        assert_eq!(talk(known, talk_id).appointment_at, Some(NOW));
        assert!(known.dialogue.changed_conversations.is_empty());
    }

    #[test]
    fn a_transferred_deal_hands_its_conversation_to_people_once() {
        let known = &mut known();
        let id = stored_deal(known);
        let mut with_words = notification();
        with_words.details.special_instructions = Some("be brief".to_owned());
        let talk_id = talk_about(known, id, with_words);
        assert!(talk(known, talk_id).respond_by.is_some());
        let given = DealPatch {
            stage: Some(Stage::Transferred),
            owner_email: Some(OLGA.to_owned()),
            ..wish(id)
        };
        assert_eq!(change(known, given), CHANGED);
        let now = talk(known, talk_id);
        assert_eq!(now.status(), conversation::Status::Transferred);
        assert_eq!((now.transferred_at, now.respond_by), (Some(NOW), None));
        let (_, opened) = ticket(known);
        assert_eq!(
            (opened.conversation, opened.deal),
            (Some(talk_id), Some(id))
        );
        assert_eq!(opened.contact, deal(known, id).person);
        assert_eq!(opened.agent, Some(channel().agent));
        assert_eq!(opened.owner, Some(owner()));
        assert_eq!(opened.special_instructions.as_deref(), Some("be brief"));
        saved(known);
        to_stage(known, id, Stage::InService);
        to_stage(known, id, Stage::Transferred);
        ticket(known);
        assert!(known.dialogue.changed_conversations.is_empty());
    }

    #[test]
    fn a_transferred_deal_without_a_conversation_gets_a_ticket_too() {
        let known = &mut known();
        let id = stored_deal(known);
        to_stage(known, id, Stage::Transferred);
        let (_, opened) = ticket(known);
        assert_eq!((opened.conversation, opened.deal), (None, Some(id)));
        to_stage(known, id, Stage::InService);
        to_stage(known, id, Stage::Transferred);
        assert_eq!(ticket(known).1.resolved_at, None);
    }
}
