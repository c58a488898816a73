//! The events in the workspace: first contacts who write at any time, then
//! notifications in sequence, and their outcomes.

use leadhost_domain::time;
use leadhost_tests::{Random, sized};

use super::asker::Asker;
use crate::store::deals::{acme, lead_of, patch_write, to_stage};
use crate::store::desk::status_write;
use crate::store::messages::{
    accepted, event, inbound_from, line, notification, other_line, sent, state_of, store,
};
use crate::store::world::*;

fn strangers() -> usize {
    sized(600, 2_000)
}
const NOTIFIED: usize = 120;
/// One in this many of the strangers is a lead already; every second of those is a
/// test lead.
const LEADS: usize = 20;

impl Asker<'_> {
    fn lines(&self) -> [Channel; 3] {
        let eva = Channel {
            agent: self.internal,
            ..line(&self.world)
        };
        [line(&self.world), other_line(&self.world), eva]
    }

    pub async fn seed(&mut self) {
        let mut random = Random::new(0xacc0);
        let lines = self.lines();
        for some in (0..strangers()).collect::<Vec<_>>().chunks(200) {
            let mut writes = Vec::new();
            for person in some {
                if person % LEADS == 0 {
                    let deal = self.lead(*person, Action::Create, person % (2 * LEADS) == 0);
                    self.deals.push(deal.await);
                }
                let id = format!("first-{person}");
                let mut first = inbound_from(&self.world, &id, &phone(*person));
                first.at = instant(&mut random);
                let line = random.choose(&lines).clone();
                let item = event(line, Event::Inbound(Box::new(first)));
                writes.push(self.world.accept(vec![item]));
            }
            self.world.commit(&writes).await;
        }
        for turn in 0..NOTIFIED {
            self.notify(turn, &mut random).await;
        }
        self.elapse().await;
    }

    async fn lead(&self, person: usize, action: Action, is_test: bool) -> DealId {
        let mut new = lead_of(&self.world, &format!("L{person}"), &phone(person));
        new.action = action;
        if is_test {
            new.deal_props = object(json!({"test": true}));
        }
        self.world.bring(new).await.deal_id.expect("a deal")
    }

    /// Sends a notification that is accepted and perhaps answered; time passes.
    async fn notify(&self, turn: usize, random: &mut Random) {
        let world = &self.world;
        let phone = phone(strangers() + turn);
        let mut new = notification(world, &phone);
        new.channel = random.choose(&self.lines()).clone();
        let source = *random.choose(&["crm", "portal", "Fórum & cia", "crm,portal"]);
        new.details.source = Some(source.to_owned());
        new.details.transfer = random.below(2) == 0;
        new.lease_until = Some(world.now().plus(Duration::from_mins(1)));
        let channel = new.channel.clone();
        let message = store(world, new).await.message;
        let external_id = format!("out-{turn}");
        let outcome = accepted(world, &external_id);
        let settled = world
            .write(sent(channel.clone(), message, 0, outcome))
            .await;
        assert_eq!(state_of(&settled), MessageState::Accepted);
        self.host.advance(random.micros(40_000)).await;
        if random.below(2) == 0 {
            let mut answer = inbound_from(world, &format!("answer-{turn}"), &phone);
            answer.reply_to = Some(external_id);
            let item = event(channel, Event::Inbound(Box::new(answer)));
            world.item(item).await;
        }
    }

    /// Runs the work that is due.
    async fn elapse(&self) {
        for _ in 0..10 {
            let due = self.world.store.conversations_due(self.world.now(), 1_000);
            let due = due.await.expect("it lists");
            let writes: Vec<Write> = due.into_iter().map(Write::Elapse).collect();
            if writes.is_empty() {
                return;
            }
            for some in writes.chunks(200) {
                self.world.commit(some).await;
            }
        }
        panic!("time comes for something again and again");
    }

    /// More of everything: appointments, resolved tickets, a lead that turns out to
    /// be a test, erased people.
    pub async fn change(&self, round: usize) {
        let mut random = Random::new(round as u64 + 1);
        for turn in 0..10 {
            self.notify(10_000 + round * 100 + turn, &mut random).await;
        }
        self.host.advance(2 * 86_400).await;
        self.elapse().await;
        let by = acme(&self.world).await;
        for deal in self.deals.iter().skip(round).step_by(7) {
            let stage = *random.choose(&[DealStage::VisitScheduled, DealStage::Transferred]);
            let patch = patch_write(to_stage(by, *deal, stage));
            self.world.write(patch).await;
        }
        let mut tickets = self.tickets().await;
        tickets.sort_by_key(|ticket| ticket["person"]["phoneNumber"].to_string());
        for ticket in tickets.iter().skip(round).step_by(3) {
            let status = *random.choose(&[TicketStatus::Answered, TicketStatus::Resolved]);
            let id = ticket["id"].text().parse().expect("an id");
            let patch = status_write(&self.world, id, status);
            self.world.write(patch).await;
        }
        let person = (4 * round + 1) * LEADS;
        self.lead(person, Action::Update, true).await;
        for person in [
            round,
            11 * LEADS + 2 * LEADS * round,
            strangers() + 3 * round,
        ] {
            self.erase(person).await;
        }
    }

    async fn erase(&self, person: usize) {
        let order = json!({
            "workspace": "demo",
            "phone": phone(person),
            "dryRun": false,
        });
        let key = self.host.admin_key().await;
        let ask = self.host.admin("POST", "/admin/v1/contacts/erase");
        let receipt = ask.bearer(&key).json(&order).send().await;
        let receipt = receipt.expect(200).json();
        assert!(receipt["erased"]["conversations"] != 0, "{receipt}");
    }
}

fn phone(person: usize) -> String {
    format!("+5511981{person:06}")
}

/// Anywhere in three years, or near a day with a clock change in some zone.
fn instant(random: &mut Random) -> Micros {
    const ODD: [&str; 8] = [
        "2018-11-04T03:00:00Z",
        "2018-02-18T02:00:00Z",
        "2018-03-25T01:00:00Z",
        "2018-10-28T01:00:00Z",
        "2018-04-07T15:00:00Z",
        "2018-10-06T15:30:00Z",
        "2018-01-01T00:00:00Z",
        "2018-03-24T00:00:00Z",
    ];
    const DAY: u64 = 24 * 3_600 * 1_000_000;
    let (from, within) = if random.below(2) == 0 {
        let near = time::parse(random.choose::<&str>(&ODD)).expect("a time");
        (near.minus(Duration::from_hours(24)), 2 * DAY)
    } else {
        let first = time::parse("2017-01-01").expect("a time");
        (first, 3 * 365 * DAY)
    };
    from.plus(Duration::from_micros(random.below(within)))
}
