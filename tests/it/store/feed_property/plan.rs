//! The actions of a writer, and the resulting rows. They follow from the seed
//! and the writer's number alone, so every store is checked against the same
//! rows: a step that was cut off or refused is repeated until it is
//! acknowledged, and steps are idempotent.

use std::collections::HashMap;
use std::ops::Range;

use leadhost_domain::deal::DealStatus;
use leadhost_domain::row::Entity;
use leadhost_tests::Random;
use serde::Deserialize;

use super::feed::Row;

/// The rows of one batch that changes many.
const BULK: usize = 5_000;
const LARGE: usize = 500;
const SMALL: usize = 60;

/// One transaction.
#[derive(Debug)]
pub struct Step {
    /// Leads that are sent for the first time, by number.
    pub new: Range<usize>,
    /// Leads whose title the source changes.
    pub changed: Vec<(usize, u64)>,
    /// Deals that a partner changes.
    pub patched: Vec<(usize, DealStatus)>,
    pub fate: Fate,
    /// The jump of the wall clock before it, in microseconds ahead.
    pub clock: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Commits,
    /// Its last write is invalid: it leaves nothing.
    RollsBack,
    /// Its writer ends in the middle, and another one repeats it.
    IsCutOff,
}

/// The expected state of a deal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExpectedLead {
    title: Option<u64>,
    status: DealStatus,
}

pub struct WriterPlan {
    writer: usize,
    random: Random,
    leads: Vec<ExpectedLead>,
    /// The number of rows that the steps so far change.
    pub changes: usize,
}

impl WriterPlan {
    pub fn new(seed: u64, writer: usize) -> Self {
        Self {
            writer,
            random: Random::from_seed(seed, writer),
            leads: Vec::new(),
            changes: 0,
        }
    }

    /// The external id of a lead.
    pub fn name(&self, number: usize) -> String {
        name(self.writer, number)
    }

    pub fn next(&mut self) -> Step {
        let random = &mut self.random;
        let known = self.leads.len();
        let (new, changed) = match random.below(40) {
            0 if known > 0 => (0, 1 + random.count(BULK)),
            0..=4 => (1 + random.count(LARGE), random.count(LARGE / 10)),
            _ => (1 + random.count(SMALL), random.count(SMALL / 4)),
        };
        let patched = match known {
            0 => 0,
            _ if random.one_in(4) => 1 + random.count(8),
            _ => 0,
        };
        let changed = match known {
            0 => 0,
            _ => changed,
        };
        let step = Step {
            new: known..known + new,
            changed: (0..changed)
                .map(|_| (random.count(known), random.below(1_000_000)))
                .collect(),
            patched: (0..patched)
                .map(|_| (random.count(known), DealStatus::ALL[random.count(4)]))
                .collect(),
            fate: match random.below(20) {
                0 => Fate::RollsBack,
                1 => Fate::IsCutOff,
                _ => Fate::Commits,
            },
            clock: random
                .one_in(10)
                .then(|| [-2_000_000, 0, 2_000_000][random.count(3)]),
        };
        if step.fate != Fate::RollsBack {
            self.apply(&step);
        }
        step
    }

    fn apply(&mut self, step: &Step) {
        let new = ExpectedLead {
            title: None,
            status: DealStatus::Open,
        };
        self.leads.resize(step.new.end, new);
        for (number, title) in &step.changed {
            self.leads[*number].title = Some(*title);
        }
        for (number, status) in &step.patched {
            self.leads[*number].status = *status;
        }
        // A new lead is a contact and a deal.
        self.changes += 2 * step.new.len() + step.changed.len() + step.patched.len();
    }
}

fn name(writer: usize, number: usize) -> String {
    format!("{writer}-{number}")
}

pub fn title(number: u64) -> String {
    format!("title {number}")
}

#[derive(Deserialize)]
struct Deal {
    external_id: String,
    title: Option<String>,
    status: String,
}

#[derive(Deserialize)]
struct Contact {
    name: String,
}

/// Checks that the rows equal the plans: each once, in its latest form.
pub fn assert_is(rows: &[Row], entity: Entity, plans: &[&WriterPlan], seed: u64) {
    let mut expect: HashMap<String, Option<&ExpectedLead>> = HashMap::new();
    for plan in plans {
        for (number, lead) in plan.leads.iter().enumerate() {
            let lead = (entity == Entity::Deals).then_some(lead);
            expect.insert(name(plan.writer, number), lead);
        }
    }
    assert_eq!(rows.len(), expect.len(), "{entity:?} with seed {seed}");
    for row in rows {
        let name = match entity {
            Entity::Deals => read::<Deal>(row).external_id,
            _ => read::<Contact>(row).name,
        };
        let lead = expect.remove(&name);
        let lead = lead.unwrap_or_else(|| panic!("{name} is duplicated with seed {seed}"));
        if let Some(lead) = lead {
            let deal = read::<Deal>(row);
            assert_eq!(deal.title, lead.title.map(title), "{name}, seed {seed}");
            assert_eq!(deal.status, lead.status.as_str(), "{name}, seed {seed}");
        }
    }
}

fn read<'a, T: Deserialize<'a>>(row: &'a Row) -> T {
    serde_json::from_str(&row.text).unwrap_or_else(|error| panic!("{error} in {}", row.text))
}
