//! Two hosts work on the same deals at the same time, in opposite orders: partners
//! change them, sources update them, their conversations time out, messages open
//! new ones, the desk changes their tickets. No batch fails, there is no deadlock,
//! and each deal has at most one live ticket and conversation.

use super::super::deals::{acme, lead_of, patch_write, to_stage};
use super::super::desk::status_write;
use super::super::messages::{accepted_at, elapse_write, line, notification, notify_write};
use super::super::messages::{send, sent};
use super::super::two_hosts::{at_once, rows, two_hosts};
use super::*;

const ROUNDS: usize = 40;
const DEALS: usize = 4;

fn person(round: usize, number: usize) -> String {
    format!("+551198{round:04}{number:03}")
}

fn external(round: usize, number: usize) -> String {
    format!("{round}-{number}")
}

/// Makes the deals of a round's new leads.
async fn deals(world: &World, round: usize) -> Vec<DealId> {
    let mut deals = Vec::new();
    for number in 0..DEALS {
        let new = lead_of(world, &external(round, number), &person(round, number));
        let item = world.bring(new).await;
        deals.push(item.deal_id.expect("a deal"));
    }
    deals
}

fn to_stages(by: ByPartner, deals: &[DealId], stage: DealStage) -> Vec<Write> {
    let patch = |deal: &DealId| patch_write(to_stage(by, *deal, stage));
    deals.iter().map(patch).collect()
}

async fn tickets(world: &World) -> Vec<TicketView> {
    let filter = TicketFilter {
        limit: 10_000,
        ..TicketFilter::default()
    };
    world.tickets(&world.scope, &filter).await.unwrap()
}

/// Begins a conversation about each person's deal, and lets the time for an answer
/// pass.
async fn unanswered(world: &World, round: usize) -> Vec<ConversationId> {
    let mut talks = Vec::new();
    for number in 0..DEALS {
        let new = send(world, &person(round, number)).await;
        let long_ago = SystemClock.now().minus(Duration::from_hours(2 * 24));
        let outcome = accepted_at(&[&external(round, number)], None, long_ago);
        let settled = sent(line(world), new.message, 0, outcome);
        world.write(settled).await;
        talks.push(new.conversation);
    }
    talks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deal_handed_over_by_several_causes_at_once_has_one_ticket() {
    let (world, hosts) = available!(two_hosts());
    let by = acme(&world).await;
    let mut talks = BTreeMap::new();
    for round in 0..ROUNDS {
        let deals = deals(&world, round).await;
        let of_round = unanswered(&world, round).await;
        let passes = of_round.iter().map(|talk| elapse_write(&world, *talk));
        let update = |number: usize| {
            let new = lead_of(&world, &external(round, number), &person(round, number));
            world.accept(vec![lead(updating(titled(new, "said later")))])
        };
        let handed = || to_stages(by, &deals, DealStage::Transferred);
        let updates = (0..DEALS).map(update).collect();
        let batches = vec![handed(), passes.collect(), updates, handed()];
        at_once(&hosts, batches).await;
        talks.extend(of_round.into_iter().zip(deals));
    }
    let tickets = tickets(&world).await;
    assert_eq!(tickets.len(), talks.len());
    for ticket in &tickets {
        let talk = ticket.conversation_id.expect("it has a conversation");
        assert_eq!(ticket.deal_id, talks.remove(&talk), "{ticket:?}");
    }
    assert!(talks.is_empty(), "{talks:?}");
    for row in rows(&world, Entity::Conversations).await {
        assert!(row["transferred_at"].is_string(), "{row}");
    }
    for row in rows(&world, Entity::Deals).await {
        // Neither host has overwritten the other's change.
        fields!(row, {"stage_code": "transferred", "title": "said later"});
    }
    assert_eq!(deadlocks(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_conversation_continues_about_a_deal_that_ended_meanwhile() {
    let (world, hosts) = available!(two_hosts());
    let by = acme(&world).await;
    for round in 0..ROUNDS {
        let deals = deals(&world, round).await;
        let out = |number| notify_write(notification(&world, &person(round, number)));
        let out = || (0..DEALS).map(out).collect();
        let won = || to_stages(by, &deals, DealStage::ClosedWon);
        at_once(&hosts, vec![won(), out(), out(), won()]).await;
    }
    let deals = rows(&world, Entity::Deals).await;
    assert!(deals.iter().all(|row| row["status"] == "won"));
    let mut talks = 0;
    for row in rows(&world, Entity::Conversations).await {
        talks += 1;
        // A conversation about the deal began before the end, and was closed with
        // it.
        let is_about_it = row["deal_id"].is_string();
        assert_eq!(row["closed_at"].is_string(), is_about_it, "{row}");
    }
    // A person's two messages are in one conversation, unless the deal ended in
    // between.
    let people = ROUNDS * DEALS;
    assert!((people..=2 * people).contains(&talks));
    let sent = rows(&world, Entity::Messages).await;
    assert_eq!(sent.len(), 2 * people);
    assert_eq!(deadlocks(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reopened_ticket_prevents_a_second_live_ticket() {
    let (world, hosts) = available!(two_hosts());
    let by = acme(&world).await;
    for round in 0..ROUNDS {
        let deals = deals(&world, round).await;
        let transferred = || to_stages(by, &deals, DealStage::Transferred);
        world.commit(&transferred()).await;
        let first: Vec<_> = tickets(&world).await.into_iter().take(DEALS).collect();
        let change = |status| -> Vec<Write> {
            let patch = |ticket: &TicketView| status_write(&world, ticket.id, status);
            first.iter().map(patch).collect()
        };
        let mut again = to_stages(by, &deals, DealStage::InService);
        again.extend(transferred());
        let batches = vec![
            change(TicketStatus::Resolved),
            change(TicketStatus::Resolved),
            change(TicketStatus::Open),
            again.into_iter().rev().collect(),
        ];
        at_once(&hosts, batches).await;
    }
    let mut live: BTreeMap<DealId, usize> = BTreeMap::new();
    for ticket in tickets(&world).await {
        assert_eq!(ticket.conversation_id, None);
        let is_live = usize::from(ticket.resolved_at.is_none());
        *live.entry(ticket.deal_id.expect("a deal")).or_default() += is_live;
    }
    assert_eq!(live.len(), ROUNDS * DEALS);
    assert!(live.values().all(|tickets| *tickets <= 1), "{live:?}");
    let deals = rows(&world, Entity::Deals).await;
    let status = DealStatus::Open.as_str();
    assert!(deals.iter().all(|row| row["status"] == status));
    assert_eq!(deadlocks(&world).await, 0);
}
