//! Locates the counts of a range: in whole local days, in the parts of days at its two ends,
//! and, for a zone whose days are not kept, in the slots of each bucket.

use super::query::AnalyticsQuery;
use crate::endpoints::prelude::*;
use leadhost_domain::analytics::{Granularity, TimeSlot};
use leadhost_domain::zone::{self, Day, Zone};
use leadhost_store::{CellQuery, Slots};

/// A range, divided into pieces.
#[derive(Debug, PartialEq, Eq)]
pub struct SplitRange {
    /// Whole local days: the first, and the one after the last.
    days: (Day, Day),
    /// Parts of days, with their day.
    edges: Vec<(Day, Slots)>,
    /// The whole range, by the first day of each bucket.
    buckets: Vec<(Day, Slots)>,
}

impl SplitRange {
    pub fn nothing() -> Self {
        Self {
            days: (Day(0), Day(0)),
            edges: Vec::new(),
            buckets: Vec::new(),
        }
    }

    pub fn periods(&self) -> Vec<Day> {
        self.buckets.iter().map(|(period, _)| *period).collect()
    }

    /// Returns the store's query for the pieces, with the metric set and the zone of the
    /// question.
    pub fn query<'a>(&self, question: &'a AnalyticsQuery) -> CellQuery<'a> {
        CellQuery {
            set: question.set,
            zone: question.zone.name(),
            tzdata: zone::tzdata(),
            days: self.days,
            edges: self.edges.clone(),
            buckets: self.buckets.clone(),
        }
    }
}

/// Returns the part of the question's range that does not lie too far ahead, or `None` if all
/// of it does.
pub fn pieces(question: &AnalyticsQuery, now: Micros) -> Option<SplitRange> {
    let zone = &question.zone;
    let past_last = zone.day_of(now).plus(limits::ANALYTICS_DAYS_AHEAD + 1);
    let end = TimeSlot::containing(zone.start_of(past_last)).min(question.to);
    let range = Slots {
        from: question.from,
        to: end,
    };
    (range.from < range.to).then(|| SplitRange {
        buckets: buckets(zone, question.granularity, range),
        ..whole(zone, range)
    })
}

fn whole(zone: &Zone, range: Slots) -> SplitRange {
    let start = |day: Day| TimeSlot::containing(zone.start_of(day));
    let mut first = zone.day_of(range.from.start());
    let last = zone.day_of(range.to.start());
    let mut edges = Vec::new();
    if start(first) < range.from {
        let next = start(first.plus(1));
        edges.push((
            first,
            Slots {
                from: range.from,
                to: next.min(range.to),
            },
        ));
        first = first.plus(1);
    }
    // The day in which the range ends, unless its beginning is an edge already.
    if first <= last && start(last) < range.to {
        edges.push((
            last,
            Slots {
                from: start(last),
                to: range.to,
            },
        ));
    }
    SplitRange {
        days: (first, last.max(first)),
        edges,
        buckets: Vec::new(),
    }
}

/// Divides a range into buckets. If it begins in the middle of a week or a month, the first
/// bucket is the rest of that period.
fn buckets(zone: &Zone, granularity: Granularity, range: Slots) -> Vec<(Day, Slots)> {
    let mut buckets = Vec::new();
    let mut period = granularity.period(zone.day_of(range.from.start()));
    let mut from = range.from;
    while from < range.to {
        let next = granularity.after(period);
        let to = TimeSlot::containing(zone.start_of(next)).min(range.to);
        // A day that the zone skipped has no bucket.
        if from < to {
            buckets.push((period, Slots { from, to }));
        }
        (period, from) = (next, to.max(from));
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::super::query::tests::read;
    use super::*;
    use leadhost_domain::time;

    const NOW: &str = "2030-01-15T15:07:00Z";

    fn at(text: &str) -> Micros {
        time::parse(text).expect("a time")
    }

    fn formatted(
        granularity: Granularity,
        text: &str,
    ) -> Option<(String, Vec<String>, Vec<String>)> {
        let question = read(granularity, text).expect("a question");
        let pieces = pieces(&question, at(NOW))?;
        let list = |parts: &[(Day, Slots)]| {
            let written = |(day, slots): &(Day, Slots)| {
                let short = |slot: TimeSlot| slot.start().text()[5..16].to_owned();
                format!("{day}: {} {}", short(slots.from), short(slots.to))
            };
            parts.iter().map(written).collect::<Vec<_>>()
        };
        let (first, last) = pieces.days;
        Some((
            format!("{first} {last}"),
            list(&pieces.edges),
            list(&pieces.buckets),
        ))
    }

    #[track_caller]
    fn check(granularity: Granularity, text: &str, days: &str, edges: &[&str], buckets: &[&str]) {
        let (own_days, own_edges, own_buckets) = formatted(granularity, text).expect("some of it");
        assert_eq!(own_days, days, "{text}");
        assert_eq!(own_edges, edges, "{text}");
        assert_eq!(own_buckets, buckets, "{text}");
    }

    #[test]
    fn a_range_of_days_has_no_edges() {
        check(
            Granularity::Day,
            "from=2030-01-01&to=2030-01-03",
            "2030-01-01 2030-01-03",
            &[],
            &[
                "2030-01-01: 01-01T03:00 01-02T03:00",
                "2030-01-02: 01-02T03:00 01-03T03:00",
            ],
        );
    }

    #[test]
    fn partial_days_are_edges_of_the_range() {
        check(
            Granularity::Month,
            "from=2029-12-30T12:00:00-03:00&to=2030-01-02T06:00:00-03:00",
            "2029-12-31 2030-01-02",
            &[
                "2029-12-30: 12-30T15:00 12-31T03:00",
                "2030-01-02: 01-02T03:00 01-02T09:00",
            ],
            &[
                "2029-12-01: 12-30T15:00 01-01T03:00",
                "2030-01-01: 01-01T03:00 01-02T09:00",
            ],
        );
        // Within one day.
        check(
            Granularity::Week,
            "from=2030-01-02T12:00:00Z&to=2030-01-02T13:00:00Z",
            "2030-01-03 2030-01-03",
            &["2030-01-02: 01-02T12:00 01-02T13:00"],
            &["2029-12-31: 01-02T12:00 01-02T13:00"],
        );
        // From the beginning of a day to its middle, and from its middle to its end.
        check(
            Granularity::Day,
            "from=2030-01-02&to=2030-01-02T13:00:00Z",
            "2030-01-02 2030-01-02",
            &["2030-01-02: 01-02T03:00 01-02T13:00"],
            &["2030-01-02: 01-02T03:00 01-02T13:00"],
        );
        check(
            Granularity::Day,
            "from=2030-01-02T13:00:00Z&to=2030-01-03",
            "2030-01-03 2030-01-03",
            &["2030-01-02: 01-02T13:00 01-03T03:00"],
            &["2030-01-02: 01-02T13:00 01-03T03:00"],
        );
    }

    #[test]
    fn a_day_that_was_left_out_has_no_bucket() {
        check(
            Granularity::Day,
            "from=2011-12-29&to=2012-01-01&tz=Pacific/Apia",
            "2011-12-29 2012-01-01",
            &[],
            &[
                "2011-12-29: 12-29T10:00 12-30T10:00",
                "2011-12-31: 12-30T10:00 12-31T10:00",
            ],
        );
    }

    #[test]
    fn a_range_ends_soon_after_now() {
        check(
            Granularity::Day,
            "from=2030-01-17T12:00:00Z&to=2099-01-01",
            "2030-01-18 2030-01-18",
            &["2030-01-17: 01-17T12:00 01-18T03:00"],
            &["2030-01-17: 01-17T12:00 01-18T03:00"],
        );
        assert_eq!(
            formatted(Granularity::Day, "from=2030-01-18&to=2030-02-01"),
            None
        );
        assert_eq!(
            formatted(
                Granularity::Month,
                "from=9999-12-31T23:50:00Z&to=9999-12-31T23:55:00Z"
            ),
            None
        );
    }

    #[test]
    fn all_slots_of_a_range_are_in_one_piece_and_in_one_bucket() {
        for zone in [
            "America/Sao_Paulo",
            "Pacific/Apia",
            "Australia/Lord_Howe",
            "America/St_Johns",
        ] {
            for (from, to) in [
                ("2010-11-01", "2012-01-02T05:15:00Z"),
                ("2010-11-07T02:15:00Z", "2010-11-07T04:45:00Z"),
                ("2010-11-06T10:00:00Z", "2018-11-04"),
            ] {
                for granularity in Granularity::ALL {
                    let text = format!("from={from}&to={to}&tz={zone}");
                    let question = read(granularity, &text).expect("a question");
                    let pieces = pieces(&question, at(NOW)).expect("some of it");
                    let long = |slots: &Slots| slots.to.0 - slots.from.0;
                    let all = question.to.0 - question.from.0;
                    let in_buckets: i32 = pieces.buckets.iter().map(|(_, slots)| long(slots)).sum();
                    assert_eq!(in_buckets, all, "{text}");
                    let start = |day| TimeSlot::containing(question.zone.start_of(day)).0;
                    let in_days = start(pieces.days.1) - start(pieces.days.0);
                    let at_edges: i32 = pieces.edges.iter().map(|(_, slots)| long(slots)).sum();
                    assert_eq!(in_days + at_edges, all, "{text}");
                    let days = pieces.buckets.iter().map(|(day, _)| *day);
                    assert!(days.is_sorted_by(|a, b| a < b), "{text}");
                }
            }
        }
    }
}
