//! The desk: tickets and their conversations.

use leadhost_domain::deal::DealStage;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::{ConversationId, DealId, TicketId};
use leadhost_domain::row::Entity;
use leadhost_domain::ticket::{TicketStatus, TicketView};
use leadhost_store::*;
use serde_json::json;
use uuid::Uuid;

use super::deals::{acme, clock, deal, lead_of, patch, wish};
use super::messages::{PHONE, accepted, conversation_row, elapse, out, settle_send, store, urgent};
use super::world::*;

const CHANGED: TicketPatched = TicketPatched::Done { changed: true };
const UNCHANGED: TicketPatched = TicketPatched::Done { changed: false };

fn all() -> TicketFilter {
    TicketFilter {
        limit: 100,
        ..TicketFilter::default()
    }
}

async fn tickets(world: &World, filter: TicketFilter) -> Vec<TicketView> {
    world.tickets(&world.scope, &filter).await.unwrap()
}

/// Returns the only ticket.
async fn ticket(world: &World) -> TicketView {
    let mut found = tickets(world, all()).await;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn wanted(world: &World, ticket: TicketId) -> TicketPatch {
    TicketPatch {
        workspace: world.workspace,
        ticket,
        status: None,
        owner_email: None,
    }
}

async fn change(world: &World, patch: TicketPatch) -> TicketPatched {
    let written = world.commit(&[Write::PatchTicket(Box::new(patch))]).await;
    match written[0] {
        WriteOutcome::TicketPatched(patched) => patched,
        ref other => panic!("no patch: {other:?}"),
    }
}

async fn to_status(world: &World, ticket: TicketId, status: TicketStatus) -> TicketPatched {
    let status = Some(status);
    let patch = TicketPatch {
        status,
        ..wanted(world, ticket)
    };
    change(world, patch).await
}

/// Sets the owner of the workspace's plan, or none.
async fn to_olga(world: &World, ticket: TicketId, is_hers: bool) -> TicketPatched {
    let email = is_hers.then(|| "olga@example.com".to_owned());
    let patch = TicketPatch {
        owner_email: Some(email),
        ..wanted(world, ticket)
    };
    change(world, patch).await
}

async fn to_stage(world: &World, id: DealId, stage: DealStage) {
    let stage = Some(stage);
    let by = acme(world).await;
    let wish = DealPatch {
        stage,
        ..wish(by, id)
    };
    assert_eq!(
        patch(world, wish).await,
        DealPatched::Done { changed: true }
    );
}

/// Makes a handed-over conversation with this number that is unanswered.
async fn unanswered(world: &World, to: &str) -> ConversationId {
    let new = store(world, urgent(world, to)).await;
    settle_send(world, new.message, 0, accepted(world, to)).await;
    world.advance(86_400).await;
    assert!(elapse(world, new.conversation).await);
    new.conversation
}

pub async fn an_unanswered_notification_is_on_the_desk(world: &World) {
    let id = deal(world).await;
    let mut new = urgent(world, PHONE);
    new.details.special_instructions = Some("be brief".to_owned());
    let new = store(world, new).await;
    settle_send(world, new.message, 0, accepted(world, "w1")).await;
    world.advance(86_400).await;
    assert!(elapse(world, new.conversation).await);
    let found = ticket(world).await;
    assert_eq!(
        serde_json::to_value(&found).expect("JSON"),
        json!({
            "id": found.id,
            "status": "open",
            "conversationId": new.conversation,
            "dealId": id,
            "person": {
                "id": new.contact, "name": "Rita", "email": null, "phoneNumber": PHONE
            },
            "agentId": world.first_agent,
            "owner": null,
            "specialInstructions": "be brief",
            "openedAt": world.now(),
            "answeredAt": null,
            "resolvedAt": null,
            "updatedAt": world.now()
        })
    );
    assert!(!elapse(world, new.conversation).await);
    ticket(world).await;
}

pub async fn a_ticket_is_claimed_answered_and_resolved(world: &World) {
    let talk = unanswered(world, PHONE).await;
    let id = ticket(world).await.id;
    let opened = world.now();
    assert_eq!(to_olga(world, id, true).await, CHANGED);
    assert_eq!(to_olga(world, id, true).await, UNCHANGED);
    let owner = ticket(world).await.owner.expect("it is claimed");
    assert_eq!(owner.email, "olga@example.com");
    world.advance(60).await;
    let answered = world.now();
    assert_eq!(to_status(world, id, TicketStatus::Answered).await, CHANGED);
    world.advance(60).await;
    assert_eq!(
        to_status(world, id, TicketStatus::Answered).await,
        UNCHANGED
    );
    let found = ticket(world).await;
    assert_eq!(
        (found.opened_at, found.answered_at),
        (opened, Some(answered))
    );
    assert_eq!((found.updated_at, found.resolved_at), (answered, None));
    let before = clock(world, Entity::Conversations).await;
    assert_eq!(to_status(world, id, TicketStatus::Resolved).await, CHANGED);
    let found = ticket(world).await;
    assert_eq!(found.resolved_at, Some(world.now()));
    assert_eq!(found.answered_at, Some(answered));
    let row = conversation_row(world, talk).await;
    assert_eq!(row["closed_at"], json!(world.now()));
    assert!(clock(world, Entity::Conversations).await > before);
    // The next message begins another conversation.
    assert_ne!(out(world, "w2").await.conversation, talk);
    assert_eq!(to_olga(world, id, false).await, CHANGED);
    assert_eq!(ticket(world).await.owner, None);
}

pub async fn unknown_names_change_nothing(world: &World) {
    unanswered(world, PHONE).await;
    let before = ticket(world).await;
    let foreign = world.apply(&plan("foreign"), START, false).await;
    let elsewhere = TicketPatch {
        workspace: foreign.expect("the plan holds").workspace_id,
        status: Some(TicketStatus::Resolved),
        ..wanted(world, before.id)
    };
    assert_eq!(change(world, elsewhere).await, TicketPatched::NoTicket);
    let unknown = TicketId(Uuid::from_u128(9));
    assert_eq!(
        to_status(world, unknown, TicketStatus::Open).await,
        TicketPatched::NoTicket
    );
    let unknown = TicketPatch {
        status: Some(TicketStatus::Resolved),
        owner_email: Some(Some("nobody@example.com".to_owned())),
        ..wanted(world, before.id)
    };
    assert_eq!(change(world, unknown).await, TicketPatched::NoOwner);
    assert_eq!(ticket(world).await, before);
}

pub async fn tickets_are_found_by_each_filter_newest_first(world: &World) {
    let numbers = ["+5511987650001", "+5511987650002", "+5511987650003"];
    let mut talks = Vec::new();
    for to in numbers {
        talks.push(unanswered(world, to).await);
    }
    talks.reverse();
    let found = tickets(world, all()).await;
    let of = |tickets: &[TicketView]| -> Vec<_> {
        let talk = |ticket: &TicketView| ticket.conversation_id.expect("one");
        tickets.iter().map(talk).collect()
    };
    assert_eq!(of(&found), talks);
    let middle = found[1].id;
    to_status(world, middle, TicketStatus::Answered).await;
    let check = async |filter: TicketFilter, expect: &[ConversationId]| {
        let found = tickets(world, filter.clone()).await;
        assert_eq!(of(&found), expect, "{filter:?}");
    };
    let open = Some(TicketStatus::Open);
    let one = |ticket, status| TicketFilter {
        ticket: Some(ticket),
        status,
        ..all()
    };
    check(one(middle, None), &talks[1..2]).await;
    check(one(middle, open), &[]).await;
    check(one(TicketId(Uuid::from_u128(9)), None), &[]).await;
    let of_status = |status| TicketFilter {
        status: Some(status),
        ..all()
    };
    check(of_status(TicketStatus::Open), &[talks[0], talks[2]]).await;
    check(of_status(TicketStatus::Answered), &talks[1..2]).await;
    check(of_status(TicketStatus::Resolved), &[]).await;
    let before = |before: TicketId, status| TicketFilter {
        before: Some(before),
        status,
        ..all()
    };
    check(before(found[0].id, None), &talks[1..]).await;
    check(before(found[0].id, open), &talks[2..]).await;
    check(before(found[2].id, None), &[]).await;
    let two = TicketFilter { limit: 2, ..all() };
    check(two, &talks[..2]).await;
    let foreign = world.apply(&plan("foreign"), START, false).await;
    let foreign = scope(&world.store, foreign.expect("a plan").workspace_id).await;
    for filter in [all(), one(middle, None), of_status(TicketStatus::Open)] {
        let found = world.tickets(&foreign, &filter).await;
        assert!(found.expect("it reads").is_empty(), "{filter:?}");
    }
}

pub async fn a_deal_without_a_conversation_has_one_live_ticket_too(world: &World) {
    let id = deal(world).await;
    to_stage(world, id, DealStage::Transferred).await;
    to_stage(world, id, DealStage::InService).await;
    to_stage(world, id, DealStage::Transferred).await;
    let first = ticket(world).await;
    assert_eq!((first.conversation_id, first.deal_id), (None, Some(id)));
    world.advance(1).await;
    assert_eq!(
        to_status(world, first.id, TicketStatus::Resolved).await,
        CHANGED
    );
    to_stage(world, id, DealStage::InService).await;
    to_stage(world, id, DealStage::Transferred).await;
    let found = tickets(world, all()).await;
    assert_eq!(found.len(), 2);
    let second = found[0].id;
    for status in [TicketStatus::Open, TicketStatus::Answered] {
        let patched = to_status(world, first.id, status).await;
        assert_eq!(patched, TicketPatched::Superseded);
    }
    // In one batch one ticket makes room for the other, in either order.
    let resolve = |ticket| TicketPatch {
        status: Some(TicketStatus::Resolved),
        ..wanted(world, ticket)
    };
    let open = |ticket| TicketPatch {
        status: Some(TicketStatus::Open),
        ..wanted(world, ticket)
    };
    let claim = |ticket| TicketPatch {
        owner_email: Some(Some("olga@example.com".to_owned())),
        ..wanted(world, ticket)
    };
    let patches = [claim(first.id), resolve(second), open(first.id)];
    let writes = patches.map(|patch| Write::PatchTicket(Box::new(patch)));
    for written in world.commit(&writes).await {
        assert!(
            matches!(written, WriteOutcome::TicketPatched(CHANGED)),
            "{written:?}"
        );
    }
    let statuses = tickets(world, all()).await;
    let statuses: Vec<_> = statuses.iter().map(|ticket| ticket.status).collect();
    assert_eq!(statuses, [TicketStatus::Resolved, TicketStatus::Open]);
}

pub async fn a_conversation_is_handed_over_only_once(world: &World) {
    let numbers: Vec<String> = (1..=5).map(|n| format!("+551198765000{n}")).collect();
    let mut talks = Vec::new();
    for to in &numbers {
        let item = world.bring(lead_of(world, to, to)).await;
        let new = store(world, urgent(world, to)).await;
        settle_send(world, new.message, 0, accepted(world, to)).await;
        talks.push((item.deal_id.expect("a deal"), new.conversation));
    }
    world.advance(86_400).await;
    let by = acme(world).await;
    for (id, talk) in talks {
        let passes = [Write::Elapse(Elapse {
            workspace: world.workspace,
            conversation: talk,
        })];
        let stage = Some(DealStage::Transferred);
        let given = [Write::PatchDeal(Box::new(DealPatch {
            stage,
            ..wish(by, id)
        }))];
        let (one, other) = tokio::join!(world.store.commit(&passes), world.store.commit(&given));
        one.expect("time passes");
        other.expect("the partner changes it");
        let row = conversation_row(world, talk).await;
        assert_eq!(row["transferred_at"], json!(world.now()));
        let found = tickets(world, all()).await;
        let of_it = |ticket: &&TicketView| ticket.conversation_id == Some(talk);
        assert_eq!(found.iter().filter(of_it).count(), 1);
    }
    let found = tickets(world, all()).await;
    assert_eq!(found.len(), numbers.len());
    assert!(found.iter().all(|ticket| ticket.deal_id.is_some()));
}

pub async fn a_conversation_is_about_the_deal_that_comes_after_it(world: &World) {
    let (fetched, replayed) = ("+5511987650001", "+5511987650002");
    let mut talks = Vec::new();
    for to in [fetched, replayed] {
        talks.push(store(world, urgent(world, to)).await.conversation);
    }
    let found = |to| vec![lead(lead_of(world, to, to))];
    world.item(fetch(world.fetch(fetched))).await;
    let held = world.claim_fetch().await;
    let items = FetchOutcome::Items(found(fetched));
    let by_fetch = world.commit_one(settle(&held, items)).await;
    let ignored = world.accept_with(DeliveryStatus::Ignored);
    let ignored = world.commit_one(ignored).await.delivery;
    let mode = Mode::Replay { apply: true };
    let by_replay = world.replay(ignored, mode, found(replayed)).await;
    for (talk, made) in talks.into_iter().zip([by_fetch, by_replay]) {
        let deal = made.items[0].deal_id.expect("a deal");
        assert_eq!(conversation_row(world, talk).await["deal_id"], json!(deal));
    }
}
