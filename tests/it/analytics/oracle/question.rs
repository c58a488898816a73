//! Questions of every kind, and the expected answers.

use std::collections::{BTreeMap, HashMap};

use chrono::{Datelike as _, Days as Span, NaiveDate};
use leadhost_domain::time;
use leadhost_tests::Random;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::super::api::measures;
use super::days::{Days, QUARTER};

/// A time range for questions.
#[derive(Debug)]
pub struct Era {
    first: (i32, u32, u32),
    /// The number of days in which questions begin.
    days: u64,
    /// Zones for which the two libraries have rules from different versions of the
    /// time zone database.
    pub differ: &'static [&'static str],
}

pub const ERAS: [Era; 2] = [
    // The time of the contacts' messages.
    Era {
        first: (2017, 1, 1),
        days: 800,
        differ: &[],
    },
    // The present time of the tests.
    Era {
        first: (2029, 12, 20),
        days: 80,
        // Canadian provinces that abolished clock changes, and the months of Ramadan
        // in Morocco, by the service's later version of the database.
        differ: &[
            "Africa/Casablanca",
            "Africa/El_Aaiun",
            "America/Edmonton",
            "America/Inuvik",
            "America/Rainy_River",
            "America/Vancouver",
            "America/Winnipeg",
            "America/Yellowknife",
            "Canada/Central",
            "Canada/Mountain",
            "Canada/Pacific",
        ],
    },
];

const LONGEST: u64 = 400;

impl Era {
    fn first(&self) -> NaiveDate {
        let (year, month, day) = self.first;
        NaiveDate::from_ymd_opt(year, month, day).expect("a date")
    }

    /// The range of all questions, in microseconds.
    pub fn instants(&self) -> (i64, i64) {
        let first = self.first();
        (
            midnight(first),
            midnight(first + Span::new(self.days + LONGEST)),
        )
    }
}

fn midnight(day: NaiveDate) -> i64 {
    let at = day.and_hms_opt(0, 0, 0).expect("midnight");
    at.and_utc().timestamp_micros()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    Conversations,
    Tickets,
}

impl Set {
    fn name(self) -> &'static str {
        match self {
            Self::Conversations => "conversations",
            Self::Tickets => "tickets",
        }
    }

    pub fn measures(self) -> &'static [&'static str] {
        measures(self.name())
    }
}

#[derive(Clone, Debug)]
pub struct Question {
    pub set: Set,
    pub granularity: &'static str,
    pub zone: String,
    /// As in the request: dates, or instants.
    from: String,
    to: String,
    group_by: Vec<&'static str>,
    agent_type: Vec<&'static str>,
    agents: Vec<i64>,
    sources: Vec<&'static str>,
}

impl Question {
    pub fn any(random: &mut Random, era: &Era, zone: &str) -> Self {
        let first = era.first() + Span::new(random.below(era.days));
        let last = first + Span::new(*random.choose(&[1, 2, 7, 30, 90, 365, LONGEST]));
        let (from, to) = if random.below(3) == 0 {
            // Instants that are not always at a quarter of an hour.
            let into = random.micros(86_400_000_000);
            let at = |day: NaiveDate| time::Micros(midnight(day) + into).text();
            (at(first), at(last))
        } else {
            (first.to_string(), last.to_string())
        };
        let mut group_by = vec!["agent_type", "agent_id", "source"];
        group_by.retain(|_| random.below(2) == 0);
        if random.below(2) == 0 {
            group_by.reverse();
        }
        let mut question = Self {
            set: *random.choose(&[Set::Conversations, Set::Conversations, Set::Tickets]),
            granularity: random.choose::<&str>(&["day", "week", "month"]),
            zone: zone.to_owned(),
            from,
            to,
            group_by,
            agent_type: vec![],
            agents: vec![],
            sources: vec![],
        };
        match random.below(6) {
            0 => question.agent_type = vec![*random.choose(&["ai", "human"])],
            1 => question.agents = vec![1, 3],
            2 => question.sources = vec!["portal", "nobody", "Fórum & cia"],
            3 => {
                question.agent_type = vec!["ai", "human"];
                question.sources = vec!["crm"];
            }
            _ => {}
        }
        question
    }

    /// Set, granularity and parameters.
    pub fn path(&self) -> String {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let set = self.set.name();
        let mut path = format!(
            "{set}/{}?tz={}&from={}&to={}",
            self.granularity,
            encoded(&self.zone),
            self.from,
            self.to
        );
        let agents: Vec<String> = self.agents.iter().map(i64::to_string).collect();
        let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        for (name, list) in [
            ("group_by", &self.group_by),
            ("agent_type", &self.agent_type),
            ("agent_id", &agents),
            ("source", &self.sources),
        ] {
            if !list.is_empty() {
                path.push_str(&format!("&{name}={}", encoded(&list.join(","))));
            }
        }
        path
    }

    fn takes(&self, fact: &Fact, internal: i64) -> bool {
        let is_among = |list: &[&str], value: &Option<String>| {
            let own = value.as_deref();
            list.is_empty() || own.is_some_and(|own| list.contains(&own))
        };
        let of_agent = |agent: i64| self.agents.contains(&agent);
        let names_agents = !self.agent_type.is_empty() || !self.agents.is_empty();
        (names_agents || fact.agent != Some(internal))
            && is_among(&self.agent_type, &fact.agent_type)
            && (self.agents.is_empty() || fact.agent.is_some_and(of_agent))
            && is_among(&self.sources, &fact.source)
    }
}

/// The relevant fields of a conversation or a ticket.
pub struct Fact {
    pub started: i64,
    pub agent: Option<i64>,
    pub agent_type: Option<String>,
    pub source: Option<String>,
    /// In the order of the measures.
    pub met: Vec<bool>,
}

pub type Facts = HashMap<Set, Vec<Fact>>;

/// The effective range and the rows.
pub struct Expected {
    pub from: i64,
    pub to: i64,
    pub rows: Vec<Value>,
}

/// `None` sorts first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    None,
    Number(i64),
    Text(String),
}

pub fn recompute(facts: &Facts, question: &Question, internal: i64) -> Expected {
    let day_of = |text: &str| -> NaiveDate { text[..10].parse().expect("a date") };
    let days = Days::around(
        &question.zone,
        midnight(day_of(&question.from) - Span::new(1)),
        midnight(day_of(&question.to) + Span::new(2)),
    );
    let bound = |text: &str| match text.len() {
        10 => days.start(day_of(text)),
        _ => time::parse(text).expect("a time").0,
    };
    let from = bound(&question.from).div_euclid(QUARTER) * QUARTER;
    let to = (bound(&question.to) + QUARTER - 1).div_euclid(QUARTER) * QUARTER;
    let measures = question.set.measures();
    let mut sums: BTreeMap<(NaiveDate, Vec<Part>), Vec<i64>> = BTreeMap::new();
    for fact in &facts[&question.set] {
        let is_within = fact.started >= from && fact.started < to;
        if !is_within || !question.takes(fact, internal) {
            continue;
        }
        let day = days.day_of(fact.started);
        let period = match question.granularity {
            "day" => day,
            "week" => day.week(chrono::Weekday::Mon).first_day(),
            _ => day.with_day(1).expect("a first"),
        };
        let group = question.group_by.iter().map(|dimension| match *dimension {
            "agent_id" => fact.agent.map_or(Part::None, Part::Number),
            "agent_type" => fact.agent_type.clone().map_or(Part::None, Part::Text),
            _ => fact.source.clone().map_or(Part::None, Part::Text),
        });
        let sum = sums
            .entry((period, group.collect()))
            .or_insert_with(|| vec![0; measures.len()]);
        for (sum, met) in sum.iter_mut().zip(&fact.met) {
            *sum += i64::from(*met);
        }
    }
    let rows = sums.into_iter().map(|((period, group), sum)| {
        let mut row = json!({"period": period.to_string()});
        for (dimension, part) in question.group_by.iter().zip(group) {
            row[dimension] = match part {
                Part::None => Value::Null,
                Part::Number(number) => number.into(),
                Part::Text(text) => text.into(),
            };
        }
        for (measure, sum) in measures.iter().zip(sum) {
            row[measure] = sum.into();
        }
        row
    });
    Expected {
        from,
        to,
        rows: rows.collect(),
    }
}
