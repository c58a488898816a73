//! The policy: which differences refuse an activation, and which kinds of harm the guards of a rollout
//! count.

use std::time::Duration;

use super::compare::{GAINED, GUARDED, OnChange, Tally};
use super::composed::{IDS, RESULT};
use super::cost::Costs;
use leadhost_config as config;
use leadhost_domain::difference::{ComparisonCounts, DifferenceGroup, ItemKind, milliseconds};
use leadhost_domain::size;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Deliveries,
    /// The sends of an adapter: requests, and the reading of answers.
    Sends,
    /// Whether the sender of a delivery passes the sender checks.
    Checks,
}

impl Part {
    pub const ALL: [Self; 3] = [Self::Deliveries, Self::Sends, Self::Checks];
}

pub struct Harm {
    pub count: u64,
    pub allowed_per_mille: u64,
    /// What it is, in words that follow the number.
    pub what: &'static str,
}

#[rustfmt::skip]
pub fn harms(
    part: Part,
    counts: &ComparisonCounts,
    policy: &config::VerifySection,
) -> [Harm; 5] {
    let (failing, leads) = (policy.failing_per_mille, policy.leads_per_mille);
    let answers = policy.changed_answers_per_mille;
    let no_other = (0, 1_000, "");
    let kinds = match part {
        Part::Deliveries => [
            (counts.failing, failing, "deliveries fail only with it"),
            (counts.lost, policy.lost_per_mille, "deliveries lose or change what is guarded"),
            (counts.altered, policy.altered_per_mille, "deliveries change what identifies a lead"),
            (counts.vanished, leads, "deliveries lose a lead or an event"),
            (counts.appeared, leads, "deliveries gain a lead or an event"),
        ],
        Part::Sends => [
            (counts.failing, failing, "sends fail only with it"),
            (counts.vanished, failing, "sends lose their request"),
            (counts.lost, answers, "answers to sends are read differently"),
            (counts.changed, policy.changed_sends_per_mille, "sends have another request"),
            no_other,
        ],
        Part::Checks => [
            (counts.failing, failing, "deliveries fail only its sender checks"),
            no_other, no_other, no_other, no_other,
        ],
    };
    kinds.map(|(count, allowed_per_mille, what)| Harm {
        count,
        allowed_per_mille,
        what,
    })
}

/// Returns the differences of a part that exceed the policy, each in a sentence; none if the candidate may
/// serve.
#[rustfmt::skip]
pub fn drift(part: Part, tally: &Tally, policy: &config::VerifySection) -> Vec<String> {
    let all = &tally.differences;
    let (compared, failing, leads) = (all.compared, policy.failing_per_mille, policy.leads_per_mille);
    // The response to a different request is unknown until the request is sent.
    let changed = DifferenceGroup {
        count: tally.harm.changed,
        ..DifferenceGroup::default()
    };
    let mut kinds: Vec<(Option<&DifferenceGroup>, u64, u64, &str)> = Vec::new();
    match part {
        Part::Deliveries => {
            kinds.push((Some(&all.newly_failing), compared, failing, "deliveries fail only with it"));
            let altered = |counted, what| {
                (tally.altered.get(counted), all.candidate_leads, policy.altered_per_mille, what)
            };
            for field in &GUARDED {
                let of = if field.of == ItemKind::Lead { all.leads } else { tally.events };
                kinds.push((tally.lost.get(field.counted), of, policy.lost_per_mille, field.lost));
                if let OnChange::Alters(what) = field.change {
                    kinds.push(altered(field.counted, what));
                }
            }
            kinds.extend(GAINED.map(|(_, counted, what)| altered(counted, what)));
            let fetches = "deliveries fetch a lead by another request, which cannot be compared";
            kinds.extend([
                (Some(&changed), compared, policy.changed_fetches_per_mille, fetches),
                (Some(&all.vanished), all.leads, leads, "leads vanish"),
                (Some(&all.appeared), all.candidate_leads, leads, "leads appear only with it"),
                (Some(&tally.vanished_events), tally.events, leads, "events vanish"),
                (Some(&tally.appeared_events), tally.candidate_events, leads, "events appear only with it"),
            ]);
        }
        Part::Sends => {
            let answers = policy.changed_answers_per_mille;
            let ids = "answers to sends lose or change an id of the provider";
            kinds.extend([
                (Some(&all.newly_failing), compared, failing, "sends fail only with it"),
                (Some(&all.items), compared, failing, "sends gain or lose their request"),
                (tally.lost.get(RESULT), compared, answers, "answers to sends are read differently"),
                (tally.lost.get(IDS), compared, answers, ids),
                (Some(&changed), compared, policy.changed_sends_per_mille, "sends have another request"),
            ]);
        }
        Part::Checks => {
            kinds.push((Some(&all.newly_failing), compared, failing, "deliveries fail only its sender checks"));
        }
    }
    let exceeding = kinds.into_iter().filter_map(|(group, of, allowed, what)| {
        let group = group.filter(|group| group.count * 1_000 > allowed * of)?;
        let example = group.examples.first();
        let example = example.map(|one| format!(", for example in {one}")).unwrap_or_default();
        Some(format!("{} of {of} {what}{example}", group.count))
    });
    exceeding.collect()
}

/// Conversions without which time and memory are not judged.
const MEASURED: u64 = 3;

/// Returns the growth of time and memory that exceeds the policy, each in a sentence. `inline`: the time
/// of a call in a request.
pub fn drift_of_cost(
    costs: &Costs,
    inline: Duration,
    policy: &config::VerifySection,
) -> Vec<String> {
    let mut found = Vec::new();
    let Some(needed) = costs.summaries() else {
        return found;
    };
    if costs.conversions() < MEASURED {
        return found;
    }
    let (stable, candidate) = (needed.stable, needed.candidate);
    let (fitting, slower) = costs.exceeding(inline);
    if slower * 1_000 > policy.slow_per_mille * fitting {
        found.push(format!(
            "{slower} of {fitting} conversions exceed the {} ms of a request (plugins.inline_ms) only with it, so their senders get `queued`: {} ms instead of {} ms on average",
            inline.as_millis(),
            milliseconds(candidate.mean_us),
            milliseconds(stable.mean_us),
        ));
    }
    if is_larger(stable.memory_bytes, candidate.memory_bytes, policy) {
        found.push(format!(
            "a conversion needs {} of memory with it instead of {} on average",
            size::readable(candidate.memory_bytes),
            size::readable(stable.memory_bytes),
        ));
    }
    found
}

/// Returns whether the candidate needs far more memory: by a factor and by a difference, because a small
/// instance doubles easily.
pub fn is_larger(stable: u64, candidate: u64, policy: &config::VerifySection) -> bool {
    candidate > stable.saturating_mul(policy.memory_times)
        && candidate >= stable.saturating_add(policy.memory_mib << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::cost::{Cost, OfBoth};
    use leadhost_domain::difference::Differences;

    const STRICT: config::VerifySection = config::VerifySection::STRICT;

    fn group(count: u64) -> DifferenceGroup {
        DifferenceGroup {
            count,
            ..DifferenceGroup::default()
        }
    }

    fn tally(change: impl FnOnce(&mut Tally)) -> Tally {
        let mut tally = Tally {
            differences: Differences {
                compared: 1_000,
                leads: 1_000,
                candidate_leads: 1_000,
                ..Differences::default()
            },
            ..Tally::default()
        };
        change(&mut tally);
        tally
    }

    fn lost(name: &'static str, count: u64) -> Tally {
        tally(|tally| {
            tally.lost.insert(name.into(), group(count));
        })
    }

    fn altered(name: &'static str, count: u64) -> Tally {
        tally(|tally| {
            tally.altered.insert(name.into(), group(count));
        })
    }

    #[test]
    fn only_harm_to_a_lead_exceeds_a_strict_policy() {
        #[rustfmt::skip]
        let cases = [
            (tally(|one| one.differences.newly_failing = group(1)), "1 of 1000 deliveries fail only with it"),
            (tally(|one| one.differences.vanished = group(2)), "2 of 1000 leads vanish"),
            (tally(|one| one.differences.appeared = group(3)), "3 of 1000 leads appear"),
            (lost("phone", 412), "412 of 1000 leads lose a phone"),
            (lost("externalId", 1), "lose or change their external id"),
            (lost("name", 1), "lose their name"),
            (lost("email", 1), "lose an e-mail address"),
            (lost("listing", 1), "lose a listing"),
            (altered("name", 1), "1 of 1000 leads change their name"),
            (altered("phone", 804), "804 of 1000 leads change a phone"),
            (altered("email", 1), "leads change an e-mail address"),
            (altered("listing", 1), "leads change a listing"),
            (altered("gained.name", 1), "gain the same name as most"),
            (altered("gained.phone", 1), "gain a phone that"),
            (altered("gained.email", 1), "gain an e-mail address that"),
            (altered("gained.externalId", 1), "gain an external id that"),
            (tally(|one| { one.events = 348; one.vanished_events = group(12); }), "12 of 348 events vanish"),
            (tally(|one| { one.candidate_events = 7; one.appeared_events = group(3); }), "3 of 7 events appear only with it"),
            (Tally { events: 9, ..lost("event.text", 2) }, "2 of 9 events lose their text"),
        ];
        for (harmful, words) in cases {
            let found = drift(Part::Deliveries, &harmful, &STRICT);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
        for harmless in [
            Tally::default(),
            tally(|one| one.differences.no_longer_failing = group(9)),
            tally(|one| one.differences.items = group(9)),
        ] {
            assert_eq!(drift(Part::Deliveries, &harmless, &STRICT), [""; 0]);
        }
    }

    #[test]
    fn failing_and_differently_read_sends_exceed_a_strict_policy_and_changed_requests_do_not() {
        let read = |count| {
            tally(|tally| {
                tally.lost.insert(RESULT.into(), group(count));
            })
        };
        #[rustfmt::skip]
        let cases = [
            (tally(|one| one.differences.newly_failing = group(1)), "1 of 1000 sends fail only with it"),
            (tally(|one| one.differences.items = group(2)), "lose their request"),
            (read(3), "3 of 1000 answers to sends are read differently"),
            (lost(IDS, 20), "20 of 1000 answers to sends lose or change an id of the provider"),
        ];
        for (harmful, words) in cases {
            let found = drift(Part::Sends, &harmful, &STRICT);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
        let changed = tally(|one| one.harm.changed = 12);
        assert_eq!(drift(Part::Sends, &changed, &STRICT), [""; 0]);
        let none = config::VerifySection {
            changed_sends_per_mille: 0,
            ..STRICT
        };
        let found = drift(Part::Sends, &changed, &none);
        assert_eq!(found, ["12 of 1000 sends have another request"]);
    }

    #[test]
    fn calls_that_no_longer_fit_into_a_request_and_far_more_memory_exceed_the_policy() {
        let costs_of = |many, (stable, candidate): (u64, u64), mebibytes: (u64, u64)| {
            let mut costs = Costs::default();
            for _ in 0..many {
                costs.add(Cost {
                    took: None,
                    processor: Some(OfBoth {
                        stable: Duration::from_millis(stable),
                        candidate: Duration::from_millis(candidate),
                    }),
                    memory: Some(OfBoth {
                        stable: mebibytes.0 << 20,
                        candidate: mebibytes.1 << 20,
                    }),
                });
            }
            costs
        };
        let costs = |times, mebibytes| costs_of(MEASURED, times, mebibytes);
        let found = |costs: &Costs| drift_of_cost(costs, Duration::from_millis(50), &STRICT);
        assert_eq!(found(&costs((1, 49), (1, 16))), [""; 0]);
        // Slow with both.
        assert_eq!(found(&costs((60, 130), (1, 1))), [""; 0]);
        let slow = found(&costs((1, 130), (1, 1)));
        assert!(
            slow.len() == 1 && slow[0].starts_with("3 of 3 conversions exceed the 50 ms"),
            "{slow:?}"
        );
        let large = found(&costs((1, 1), (1, 60)));
        assert!(large.len() == 1 && large[0].contains("60 MiB"), "{large:?}");
        let few = costs_of(MEASURED - 1, (1, 130), (1, 60));
        assert_eq!(found(&few), [""; 0]);
    }

    #[test]
    fn memory_is_far_more_only_past_a_factor_and_a_difference() {
        let check = |stable: u64, candidate: u64, expect: bool| {
            let found = is_larger(stable << 20, candidate << 20, &STRICT);
            assert_eq!(found, expect, "{stable} {candidate}");
        };
        check(1, 1, false);
        check(1, 16, false);
        check(1, 17, true);
        check(10, 40, false);
        check(10, 41, true);
    }

    #[test]
    fn a_policy_allows_as_many_per_mille_as_it_says() {
        let policy = config::VerifySection {
            lost_per_mille: 5,
            altered_per_mille: 10,
            ..STRICT
        };
        assert_eq!(
            drift(Part::Deliveries, &altered("phone", 10), &policy),
            [""; 0]
        );
        assert_eq!(
            drift(Part::Deliveries, &altered("phone", 11), &policy).len(),
            1
        );
        assert_eq!(drift(Part::Deliveries, &lost("email", 5), &policy), [""; 0]);
        assert_eq!(drift(Part::Deliveries, &lost("email", 6), &policy).len(), 1);
    }
}
