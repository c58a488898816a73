//! Two hosts work on the same deals at the same time, in opposite orders: partners
//! change them, sources update them, their conversations time out, messages open
//! new ones, the desk changes their tickets. No batch fails, there is no deadlock,
//! and each deal has at most one live ticket and conversation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_domain::deal::{DealStage, DealStatus};
use leadhost_domain::id::{ContactId, ConversationId, DealId};
use leadhost_domain::lead::Action;
use leadhost_domain::message::MessageState;
use leadhost_domain::row::Entity;
use leadhost_domain::ticket::{self, TicketView};
use leadhost_store::*;
use leadhost_tests::fields;

use super::super::deals::{acme, lead_of, wish};
use super::super::messages::{self, line, notified, sent, stored, urgent};
use super::super::two_hosts::{rows, two_hosts};
use super::super::world::{self, World};
use super::deadlocks;

const ROUNDS: usize = 40;
const DEALS: usize = 4;
const WRITERS: usize = 4;

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
        let item = world.item(world::lead(new)).await;
        deals.push(item.deal_id.expect("a deal"));
    }
    deals
}

/// Runs each writer's batch, every second one backwards, all at once: two on each
/// host.
async fn at_once(hosts: &[Arc<Store>; 2], batches: [Vec<Write>; WRITERS]) {
    let barrier = Arc::new(tokio::sync::Barrier::new(WRITERS));
    let writers: Vec<_> = batches
        .into_iter()
        .enumerate()
        .map(|(writer, mut batch)| {
            if writer % 2 == 1 {
                batch.reverse();
            }
            let (barrier, host) = (Arc::clone(&barrier), Arc::clone(&hosts[writer % 2]));
            tokio::spawn(async move {
                barrier.wait().await;
                host.commit(&batch).await
            })
        })
        .collect();
    for writer in writers {
        let written = writer.await.expect("a writer ends");
        written.expect("no batch ends badly");
    }
}

fn to_stage(by: ByPartner, deals: &[DealId], stage: DealStage) -> Vec<Write> {
    let patch = |deal: &DealId| {
        let stage = Some(stage);
        let patch = DealPatch {
            stage,
            ..wish(by, *deal)
        };
        Write::PatchDeal(Box::new(patch))
    };
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
async fn unanswered(world: &World, round: usize) -> Vec<(ConversationId, ContactId)> {
    let mut talks = Vec::new();
    for number in 0..DEALS {
        let write = Write::Notify(Box::new(urgent(world, &person(round, number))));
        let new = stored(notified(world.commit(&[write]).await.remove(0)));
        let long_ago = SystemClock.now().minus(Duration::from_hours(2 * 24));
        let outcome = SendOutcome::Accepted {
            external_ids: vec![external(round, number)],
            recipient_id: None,
            progress: messages::at(MessageState::Accepted, long_ago),
            word: None,
        };
        let settled = sent(line(world), new.message, 0, outcome);
        world.commit(&[settled]).await;
        talks.push((new.conversation, new.contact));
    }
    talks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deal_handed_over_by_several_causes_at_once_has_one_ticket() {
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    let by = acme(&world).await;
    let mut talks = BTreeMap::new();
    for round in 0..ROUNDS {
        let deals = deals(&world, round).await;
        let of_round = unanswered(&world, round).await;
        let passes = of_round.iter().map(|(talk, _)| {
            Write::Elapse(Elapse {
                workspace: world.workspace,
                conversation: *talk,
            })
        });
        let update = |number: usize| {
            let mut lead = lead_of(&world, &external(round, number), &person(round, number));
            lead.action = Action::Update;
            lead.title = Some("said later".to_owned());
            world.accept(vec![world::lead(lead)])
        };
        let handed = || to_stage(by, &deals, DealStage::Transferred);
        let updates = (0..DEALS).map(update).collect();
        at_once(&hosts, [handed(), passes.collect(), updates, handed()]).await;
        let of_round = of_round.into_iter().map(|(talk, _)| talk);
        talks.extend(of_round.zip(deals));
    }
    let tickets = tickets(&world).await;
    assert_eq!(tickets.len(), talks.len());
    for ticket in &tickets {
        let talk = ticket
            .conversation_id
            .expect("the ticket has a conversation");
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
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    let by = acme(&world).await;
    for round in 0..ROUNDS {
        let deals = deals(&world, round).await;
        let out = |number: usize| {
            let new = messages::notification(&world, &person(round, number));
            Write::Notify(Box::new(new))
        };
        let out = || (0..DEALS).map(out).collect();
        let won = || to_stage(by, &deals, DealStage::ClosedWon);
        at_once(&hosts, [won(), out(), out(), won()]).await;
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
    let Some((world, hosts)) = two_hosts().await else {
        return;
    };
    let by = acme(&world).await;
    for round in 0..ROUNDS {
        let deals = deals(&world, round).await;
        world
            .commit(&to_stage(by, &deals, DealStage::Transferred))
            .await;
        let first: Vec<_> = tickets(&world).await.into_iter().take(DEALS).collect();
        let change = |status: ticket::TicketStatus| -> Vec<Write> {
            let patch = |ticket: &TicketView| {
                Write::PatchTicket(Box::new(TicketPatch {
                    workspace: world.workspace,
                    ticket: ticket.id,
                    status: Some(status),
                    owner_email: None,
                }))
            };
            first.iter().map(patch).collect()
        };
        let mut again = to_stage(by, &deals, DealStage::Transferred);
        again.splice(0..0, to_stage(by, &deals, DealStage::InService));
        let batches = [
            change(ticket::TicketStatus::Resolved),
            change(ticket::TicketStatus::Resolved),
            change(ticket::TicketStatus::Open),
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
