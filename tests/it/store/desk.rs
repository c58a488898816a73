//! The desk: tickets and their conversations.

use super::deals::{acme, deal, lead_of, patch, patch_write, to_stage};
use super::messages::{PHONE, accept_send, conversation_row, elapse, elapse_write, out, send};
use super::messages::{store, urgent};
use super::world::*;

const CHANGED: TicketPatched = TicketPatched::Done { changed: true };
const UNCHANGED: TicketPatched = TicketPatched::Done { changed: false };

fn all() -> TicketFilter {
    TicketFilter {
        limit: 100,
        ..TicketFilter::default()
    }
}

async fn tickets(world: &World, filter: &TicketFilter) -> Vec<TicketView> {
    world.tickets(&world.scope, filter).await.unwrap()
}

/// Returns the only ticket.
async fn ticket(world: &World) -> TicketView {
    let mut found = tickets(world, &all()).await;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A change without any field.
pub fn wanted(world: &World, ticket: TicketId) -> TicketPatch {
    TicketPatch {
        workspace: world.workspace,
        ticket,
        status: None,
        owner_email: None,
    }
}

pub fn status_write(world: &World, ticket: TicketId, status: TicketStatus) -> Write {
    let status = Some(status);
    Write::PatchTicket(Box::new(TicketPatch {
        status,
        ..wanted(world, ticket)
    }))
}

/// Sets this owner, or none.
fn owner_write(world: &World, ticket: TicketId, email: Option<&str>) -> Write {
    Write::PatchTicket(Box::new(TicketPatch {
        owner_email: Some(email.map(str::to_owned)),
        ..wanted(world, ticket)
    }))
}

async fn change(world: &World, write: Write) -> TicketPatched {
    outcome!(world.write(write).await, TicketPatched)
}

async fn to_status(world: &World, ticket: TicketId, status: TicketStatus) -> TicketPatched {
    change(world, status_write(world, ticket, status)).await
}

/// The owner of the workspace's plan.
const OLGA: Option<&str> = Some("olga@example.com");

async fn to_stages(world: &World, id: DealId, stages: &[DealStage]) {
    for stage in stages {
        let wish = to_stage(acme(world).await, id, *stage);
        assert_eq!(patch(world, wish).await, super::deals::CHANGED);
    }
}

/// Makes a handed-over conversation with this number that is unanswered.
async fn unanswered(world: &World, to: &str) -> ConversationId {
    let new = send(world, to).await;
    accept_send(world, &new, to).await;
    world.advance(DAY).await;
    assert!(elapse(world, new.conversation).await);
    new.conversation
}

pub async fn an_unanswered_notification_is_on_the_desk(world: &World) {
    let id = deal(world).await;
    let mut new = urgent(world, PHONE);
    new.details.special_instructions = Some("be brief".to_owned());
    let new = store(world, new).await;
    accept_send(world, &new, "w1").await;
    world.advance(DAY).await;
    assert!(elapse(world, new.conversation).await);
    let found = ticket(world).await;
    let expect = json!({
        "id": found.id, "status": "open", "conversationId": new.conversation, "dealId": id,
        "person": {"id": new.contact, "name": "Rita", "email": null, "phoneNumber": PHONE},
        "agentId": world.first_agent, "owner": null, "specialInstructions": "be brief",
        "openedAt": world.now(), "answeredAt": null, "resolvedAt": null,
        "updatedAt": world.now(),
    });
    assert_eq!(json!(found), expect);
    assert!(!elapse(world, new.conversation).await);
    ticket(world).await;
}

pub async fn a_ticket_is_claimed_answered_and_resolved(world: &World) {
    let talk = unanswered(world, PHONE).await;
    let id = ticket(world).await.id;
    let opened = world.now();
    for outcome in [CHANGED, UNCHANGED] {
        let claimed = owner_write(world, id, OLGA);
        assert_eq!(change(world, claimed).await, outcome);
    }
    let owner = ticket(world).await.owner.expect("it is claimed");
    assert_eq!(owner.email, "olga@example.com");
    world.advance(60).await;
    let answered = world.now();
    for outcome in [CHANGED, UNCHANGED] {
        let patched = to_status(world, id, TicketStatus::Answered).await;
        assert_eq!(patched, outcome);
        world.advance(60).await;
    }
    let found = ticket(world).await;
    assert_eq!(found.opened_at, opened);
    assert_eq!(found.answered_at, Some(answered));
    assert_eq!((found.updated_at, found.resolved_at), (answered, None));
    let before = world.clock(Entity::Conversations).await;
    assert_eq!(to_status(world, id, TicketStatus::Resolved).await, CHANGED);
    let found = ticket(world).await;
    assert_eq!(found.resolved_at, Some(world.now()));
    assert_eq!(found.answered_at, Some(answered));
    let row = conversation_row(world, talk).await;
    assert_eq!(row["closed_at"], json!(world.now()));
    assert!(world.clock(Entity::Conversations).await > before);
    // The next message begins another conversation.
    assert_ne!(out(world, "w2").await.conversation, talk);
    let nobodys = owner_write(world, id, None);
    assert_eq!(change(world, nobodys).await, CHANGED);
    assert_eq!(ticket(world).await.owner, None);
}

pub async fn unknown_names_change_nothing(world: &World) {
    unanswered(world, PHONE).await;
    let before = ticket(world).await;
    let resolved = || TicketPatch {
        status: Some(TicketStatus::Resolved),
        ..wanted(world, before.id)
    };
    let elsewhere = TicketPatch {
        workspace: world.elsewhere("foreign").await.workspace_id,
        ..resolved()
    };
    let unknown = TicketPatch {
        ticket: TicketId(Uuid::from_u128(9)),
        ..resolved()
    };
    let nobody = TicketPatch {
        owner_email: Some(Some("nobody@example.com".to_owned())),
        ..resolved()
    };
    for (patch, outcome) in [
        (elsewhere, TicketPatched::NoTicket),
        (unknown, TicketPatched::NoTicket),
        (nobody, TicketPatched::NoOwner),
    ] {
        let write = Write::PatchTicket(Box::new(patch));
        assert_eq!(change(world, write).await, outcome);
    }
    assert_eq!(ticket(world).await, before);
}

pub async fn tickets_are_found_by_each_filter_newest_first(world: &World) {
    let mut talks = Vec::new();
    for to in ["+5511987650001", "+5511987650002", "+5511987650003"] {
        talks.insert(0, unanswered(world, to).await);
    }
    let of = |tickets: &[TicketView]| -> Vec<_> {
        let talk = |ticket: &TicketView| ticket.conversation_id.expect("one");
        tickets.iter().map(talk).collect()
    };
    let found = tickets(world, &all()).await;
    assert_eq!(of(&found), talks);
    let [first, middle, last] = [0, 1, 2].map(|at: usize| Some(found[at].id));
    to_status(world, found[1].id, TicketStatus::Answered).await;
    let foreign = world.elsewhere("foreign").await.workspace_id;
    let foreign = scope(&world.store, foreign).await;
    let nothing = Some(TicketId(Uuid::from_u128(9)));
    let [open, answered, resolved] = [
        TicketStatus::Open,
        TicketStatus::Answered,
        TicketStatus::Resolved,
    ]
    .map(Some);
    for (ticket, before, status, limit, expect) in [
        (middle, None, None, 100, &talks[1..2]),
        (middle, None, open, 100, &[]),
        (nothing, None, None, 100, &[]),
        (None, None, open, 100, &[talks[0], talks[2]]),
        (None, None, answered, 100, &talks[1..2]),
        (None, None, resolved, 100, &[]),
        (None, first, None, 100, &talks[1..]),
        (None, first, open, 100, &talks[2..]),
        (None, last, None, 100, &[]),
        (None, None, None, 2, &talks[..2]),
    ] {
        let filter = TicketFilter {
            ticket,
            before,
            status,
            limit,
            ..TicketFilter::default()
        };
        assert_eq!(of(&tickets(world, &filter).await), expect, "{filter:?}");
        let found = world.tickets(&foreign, &filter).await;
        assert!(found.expect("it reads").is_empty(), "{filter:?}");
    }
}

pub async fn a_deal_without_a_conversation_has_one_live_ticket_too(world: &World) {
    use DealStage::{InService, Transferred};
    let id = deal(world).await;
    to_stages(world, id, &[Transferred, InService, Transferred]).await;
    let first = ticket(world).await;
    assert_eq!((first.conversation_id, first.deal_id), (None, Some(id)));
    world.advance(1).await;
    let resolved = to_status(world, first.id, TicketStatus::Resolved).await;
    assert_eq!(resolved, CHANGED);
    to_stages(world, id, &[InService, Transferred]).await;
    let found = tickets(world, &all()).await;
    assert_eq!(found.len(), 2);
    for status in [TicketStatus::Open, TicketStatus::Answered] {
        let patched = to_status(world, first.id, status).await;
        assert_eq!(patched, TicketPatched::Superseded);
    }
    // In one batch one ticket makes room for the other, in either order.
    let writes = [
        owner_write(world, first.id, OLGA),
        status_write(world, found[0].id, TicketStatus::Resolved),
        status_write(world, first.id, TicketStatus::Open),
    ];
    for written in world.commit(&writes).await {
        assert_eq!(outcome!(written, TicketPatched), CHANGED);
    }
    let statuses = tickets(world, &all()).await;
    let statuses: Vec<_> = statuses.iter().map(|ticket| ticket.status).collect();
    assert_eq!(statuses, [TicketStatus::Resolved, TicketStatus::Open]);
}

pub async fn a_conversation_is_handed_over_only_once(world: &World) {
    let numbers: Vec<String> = (1..=5).map(|n| format!("+551198765000{n}")).collect();
    let mut talks = Vec::new();
    for to in &numbers {
        let item = world.bring(lead_of(world, to, to)).await;
        let new = send(world, to).await;
        accept_send(world, &new, to).await;
        talks.push((item.deal_id.expect("a deal"), new.conversation));
    }
    world.advance(DAY).await;
    let by = acme(world).await;
    for (id, talk) in talks {
        let passes = elapse_write(world, talk);
        let given = patch_write(to_stage(by, id, DealStage::Transferred));
        tokio::join!(world.write(passes), world.write(given));
        let row = conversation_row(world, talk).await;
        assert_eq!(row["transferred_at"], json!(world.now()));
        let found = tickets(world, &all()).await;
        let of_it = |ticket: &&TicketView| ticket.conversation_id == Some(talk);
        assert_eq!(found.iter().filter(of_it).count(), 1);
    }
    let found = tickets(world, &all()).await;
    assert_eq!(found.len(), numbers.len());
    assert!(found.iter().all(|ticket| ticket.deal_id.is_some()));
}

pub async fn a_conversation_is_about_the_deal_that_comes_after_it(world: &World) {
    let (fetched, replayed) = ("+5511987650001", "+5511987650002");
    let talks = [
        send(world, fetched).await.conversation,
        send(world, replayed).await.conversation,
    ];
    let found = |to| vec![lead(lead_of(world, to, to))];
    world.item(fetch(world.fetch(fetched))).await;
    let held = world.claim_fetch().await;
    let items = FetchOutcome::Items(found(fetched));
    let by_fetch = world.commit_one(settle(&held, items)).await;
    let ignored = world.received(DeliveryStatus::Ignored).await;
    let by_replay = world.replay(ignored, APPLY, found(replayed)).await;
    for (talk, made) in talks.into_iter().zip([by_fetch, by_replay]) {
        let deal = made.items[0].deal_id.expect("a deal");
        assert_eq!(conversation_row(world, talk).await["deal_id"], json!(deal));
    }
}
