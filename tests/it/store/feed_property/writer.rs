//! Carries out a plan, step by step, despite all faults.

use std::time::Duration;

use leadhost_domain::clock::Clock as _;
use leadhost_domain::id::{DealId, DeliveryId};
use leadhost_domain::lead::Action;
use leadhost_store::*;
use leadhost_tests::{On, Random};

use super::hosts::RunningHosts;
use super::plan::{self, Fate, Step, WriterPlan};
use crate::store::deals;
use crate::store::world;

/// How often a step may be refused for lack of time.
const REFUSALS: usize = 500;

/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(20);

/// A writer is cut off within this time, in microseconds: at any point of a commit.
const LONGEST_CUT: u64 = 40_000;

pub struct PlanWriter {
    number: usize,
    plan: WriterPlan,
    /// By the number of the lead.
    deals: Vec<Option<DealId>>,
    /// When it is cut off; this does not affect the rows.
    moment: Random,
    /// It was killed in the middle of this step.
    left: Option<Step>,
}

impl PlanWriter {
    pub fn new(seed: u64, number: usize) -> Self {
        Self {
            number,
            plan: WriterPlan::new(seed, number),
            deals: Vec::new(),
            moment: Random::from_seed(seed, 1_000 + number),
            left: None,
        }
    }

    pub fn plan(&self) -> &WriterPlan {
        &self.plan
    }

    /// Writes until its plan has changed this many rows.
    pub async fn write(&mut self, hosts: &RunningHosts, changes: usize) {
        while let Some(step) = self.next(changes) {
            if let Some(shift) = step.clock {
                hosts.step_clock(shift).await;
            }
            match step.fate {
                Fate::Commits => self.carry_out(hosts, &step).await,
                Fate::RollsBack => self.fail(hosts, &step).await,
                Fate::IsCutOff => {
                    self.cut_off(hosts, &step).await;
                    self.carry_out(hosts, &step).await;
                }
            }
        }
    }

    fn next(&mut self, changes: usize) -> Option<Step> {
        let left = self.left.take();
        left.or_else(|| (self.plan.changes < changes).then(|| self.plan.next()))
    }

    /// Kills its host while it commits.
    pub async fn is_killed(&mut self, hosts: &RunningHosts) {
        let step = self.plan.next();
        let moment = self.moment_of_end();
        if step.fate != Fate::RollsBack {
            let commit = self.commit(hosts, &step);
            let _ = tokio::time::timeout(moment, commit).await;
        }
        self.left = Some(step);
    }

    /// Retries until it is acknowledged, as a sender would.
    async fn carry_out(&mut self, hosts: &RunningHosts, step: &Step) {
        let mut refused = 0;
        let outcome = loop {
            match self.commit(hosts, step).await {
                Ok(outcome) => break outcome,
                // Not acknowledged: the machine was too busy for a batch's
                // deadline, or the connection was cut.
                Err(StoreError::Unavailable(_) | StoreError::Contended) if refused < REFUSALS => {
                    refused += 1;
                    // A host that has lost its database first reconnects.
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => panic!("it commits: {error}"),
            }
        };
        self.deals.resize(self.deals.len().max(step.new.end), None);
        for item in &outcome.items[..step.new.len()] {
            let number = step.new.start + usize::try_from(item.index).unwrap();
            self.deals[number] = Some(item.deal_id.expect("a deal"));
        }
    }

    /// The batch fails at its last write and leaves nothing.
    async fn fail(&self, hosts: &RunningHosts, step: &Step) {
        let mut writes = self.writes(hosts, step);
        let Write::Accept(first) = &writes[0] else {
            panic!("a step begins with a delivery");
        };
        // The same delivery twice is invalid.
        writes.push(hosts.world.accept_as(first.delivery.clone(), Vec::new()));
        assert!(self.store(hosts).commit(&writes).await.is_err());
    }

    /// Ends somewhere in a commit: its process, or its connection.
    async fn cut_off(&mut self, hosts: &RunningHosts, step: &Step) {
        let moment = self.moment_of_end();
        let by_connection = self.moment.one_in(2);
        let commit = self.commit(hosts, step);
        match &hosts.on {
            On::Postgres(_) if by_connection => {
                let cut = async {
                    tokio::time::sleep(moment).await;
                    hosts.cut_connections().await;
                };
                let _ = tokio::join!(commit, cut);
            }
            _ => {
                let _ = tokio::time::timeout(moment, commit).await;
            }
        }
    }

    fn moment_of_end(&mut self) -> Duration {
        Duration::from_micros(self.moment.below(LONGEST_CUT))
    }

    async fn commit(
        &self,
        hosts: &RunningHosts,
        step: &Step,
    ) -> Result<DeliveryOutcome, StoreError> {
        let mut written = self.store(hosts).commit(&self.writes(hosts, step)).await?;
        for patched in written.drain(1..) {
            assert!(matches!(deals::patched(&patched), DealPatched::Done { .. }));
        }
        Ok(world::done(written.remove(0)))
    }

    fn writes(&self, hosts: &RunningHosts, step: &Step) -> Vec<Write> {
        let world = &hosts.world;
        let new = step.new.clone().map(|number| {
            let name = self.plan.name(number);
            let mut lead = world.known_as(&name);
            lead.name = Some(name);
            lead
        });
        let changed = step.changed.iter().map(|(number, title)| {
            let mut lead = world.known_as(&self.plan.name(*number));
            lead.action = Action::Update;
            lead.title = Some(plan::title(*title));
            lead
        });
        let items = new.chain(changed).map(world::lead).collect();
        let now = hosts.clock.now();
        let delivery = NewDelivery {
            id: DeliveryId::new(now),
            received_at: now,
            body: Default::default(),
            ..world.delivery()
        };
        let patched = step.patched.iter().map(|(number, status)| {
            let deal = self.deals[*number].expect("it was acknowledged");
            Write::PatchDeal(Box::new(DealPatch {
                status: Some(*status),
                ..deals::wish(hosts.partner, deal)
            }))
        });
        let mut writes = vec![world.accept_as(delivery, items)];
        writes.extend(patched);
        writes
    }

    fn store<'l>(&self, hosts: &'l RunningHosts) -> &'l Store {
        hosts.store(self.number)
    }
}
