//! The days of zones by the rules of another library.
//!
//! A day begins with the first quarter of an hour that reaches its date; after that no
//! quarter belongs to an earlier day.

use chrono::{DateTime, NaiveDate, Offset as _, TimeZone as _};
use chrono_tz::Tz;
use leadhost_domain::zone::{self, Day, Zone};

use super::question::{ERAS, Era};

/// In microseconds.
pub const QUARTER: i64 = 15 * 60 * 1_000_000;
const OF_DAY: i64 = 96;

/// The days of a time range, each with its first quarter.
pub struct Days(Vec<(i64, NaiveDate)>);

impl Days {
    /// Returns the days around these instants, in microseconds.
    pub fn around(zone: &str, from: i64, to: i64) -> Self {
        let zone: Tz = zone.parse().expect("a zone of both libraries");
        // Two days earlier, so that the first day is known.
        let mut quarter = from.div_euclid(QUARTER) - 2 * OF_DAY;
        let last = to.div_euclid(QUARTER) + 2 * OF_DAY;
        let mut offset = offset_at(zone, quarter);
        let mut reached = date_at(quarter, offset);
        let mut days = vec![(quarter, reached)];
        while quarter < last {
            let next = quarter + OF_DAY;
            let after = offset_at(zone, next);
            // Around a clock change every quarter may begin a day.
            let is_shifted = after != offset;
            for at in quarter + 1..=next {
                if is_shifted {
                    offset = offset_at(zone, at);
                } else if (at + offset).rem_euclid(OF_DAY) != 0 {
                    continue;
                }
                let date = date_at(at, offset);
                if date > reached {
                    reached = date;
                    days.push((at, date));
                }
            }
            quarter = next;
        }
        Self(days)
    }

    pub fn day_of(&self, micros: i64) -> NaiveDate {
        let quarter = micros.div_euclid(QUARTER);
        let place = self.0.partition_point(|(start, _)| *start <= quarter);
        self.0[place - 1].1
    }

    /// Returns the beginning of a day, in microseconds.
    pub fn start(&self, day: NaiveDate) -> i64 {
        let place = self.0.partition_point(|(_, reached)| *reached < day);
        self.0[place].0 * QUARTER
    }
}

/// In quarters of an hour.
#[track_caller]
fn offset_at(zone: Tz, quarter: i64) -> i64 {
    let at = DateTime::from_timestamp_micros(quarter * QUARTER).expect("a time");
    let seconds = zone.offset_from_utc_datetime(&at.naive_utc()).fix();
    let seconds = seconds.local_minus_utc();
    assert_eq!(seconds % 900, 0, "{zone} at {at}");
    i64::from(seconds / 900)
}

fn date_at(quarter: i64, offset: i64) -> NaiveDate {
    let days = (quarter + offset).div_euclid(OF_DAY);
    let date = DateTime::from_timestamp(days * 86_400, 0).expect("a time");
    date.date_naive()
}

/// The zones for which both libraries have the same rules in this era.
pub fn zones(era: &Era) -> Vec<String> {
    let mut names = zone::names();
    names.retain(|name| !UNKNOWN.contains(&name.as_str()) && !era.differ.contains(&name.as_str()));
    names
}

/// Names that only the service knows: the time zone database's placeholder for an
/// unset zone.
const UNKNOWN: [&str; 1] = ["Factory"];

#[test]
fn the_rules_of_two_libraries_differ_only_in_the_known_zones() {
    let names = zone::names();
    let (known, unknown): (Vec<_>, Vec<_>) =
        names.iter().partition(|name| name.parse::<Tz>().is_ok());
    assert_eq!(unknown, UNKNOWN);
    let differ = ERAS.map(|era| {
        let differ = known.iter().filter(|name| differs(name, &era));
        differ.map(|name| name.as_str()).collect::<Vec<_>>()
    });
    assert_eq!(differ, ERAS.map(|era| era.differ.to_vec()));
}

/// Compares days that do not have 24 hours, their neighbours, and some others.
fn differs(name: &str, era: &Era) -> bool {
    let own = Zone::named(name).expect("a zone");
    let (from, to) = era.instants();
    let Days(days) = Days::around(name, from, to);
    let lasts = |place: usize| days[place + 1].0 - days[place].0;
    (1..days.len() - 1).any(|place| {
        let is_plain = lasts(place - 1) == OF_DAY && lasts(place) == OF_DAY;
        let (start, date) = days[place];
        let day = || Day::parse(&date.to_string()).expect("a day");
        (place % 14 == 0 || !is_plain) && own.start_of(day()).0 != start * QUARTER
    })
}
