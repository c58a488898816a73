//! The policy of an activation: which differences refuse it.

use std::time::Duration;

use super::compare::{DifferenceGroup, GUARDED, GUARDED_OF_EVENTS, Tally};
use super::composed::{IDS, RESULT};
use super::cost::Costs;
use leadhost_config as config;
use leadhost_domain::size;

/// Returns the differences that exceed the policy, each in a sentence; none if the candidate may
/// serve.
pub fn drift(tally: &Tally, policy: &config::VerifySection) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |group: &DifferenceGroup, of: u64, allowed: u64, what: &str| {
        found.extend(exceeding(group, of, allowed, what));
    };
    check(
        &tally.newly_failing,
        tally.compared,
        policy.failing_per_mille,
        "deliveries fail only with it",
    );
    for field in GUARDED {
        if let Some(lost) = tally.lost(field) {
            let what = format!("leads {}", spelled(field));
            check(lost, tally.leads, policy.lost_per_mille, &what);
        }
    }
    for (field, what) in ALTERED {
        if let Some(altered) = tally.altered.get(field) {
            let allowed = policy.altered_per_mille;
            check(altered, tally.candidate_leads, allowed, what);
        }
    }
    for field in GUARDED_OF_EVENTS {
        if let Some(lost) = tally.lost(field) {
            let what = format!("events {}", spelled(field));
            check(lost, tally.events, policy.lost_per_mille, &what);
        }
    }
    // The response to a different request is unknown until the request is sent.
    let refetched = changed(tally);
    check(
        &refetched,
        tally.compared,
        policy.changed_fetches_per_mille,
        "deliveries fetch a lead by another request, which cannot be compared",
    );
    let allowed = policy.leads_per_mille;
    check(&tally.vanished, tally.leads, allowed, "leads vanish");
    check(
        &tally.appeared,
        tally.candidate_leads,
        allowed,
        "leads appear only with it",
    );
    let gone = &tally.vanished_events;
    check(gone, tally.events, allowed, "events vanish");
    check(
        &tally.appeared_events,
        tally.candidate_events,
        allowed,
        "events appear only with it",
    );
    found
}

/// The altered leads, by the names under which they are counted, in words that follow their number.
const ALTERED: [(&str, &str); 8] = [
    ("name", "leads change their name"),
    ("phone", "leads change a phone"),
    ("email", "leads change an e-mail address"),
    ("listing", "leads change a listing"),
    ("gained.name", "leads gain the same name as most"),
    ("gained.phone", "leads gain a phone that others gain too"),
    (
        "gained.email",
        "leads gain an e-mail address that others gain too",
    ),
    (
        "gained.externalId",
        "leads gain an external id that others gain too",
    ),
];

/// Returns the differences of sends that exceed the policy, each in a sentence; none if the
/// candidate may send.
pub fn drift_of_sends(tally: &Tally, policy: &config::VerifySection) -> Vec<String> {
    let of = tally.compared;
    let mut found = Vec::new();
    let failing = policy.failing_per_mille;
    found.extend(exceeding(
        &tally.newly_failing,
        of,
        failing,
        "sends fail only with it",
    ));
    found.extend(exceeding(
        &tally.items,
        of,
        failing,
        "sends gain or lose their request",
    ));
    if let Some(read) = tally.lost(RESULT) {
        let what = "answers to sends are read differently";
        found.extend(exceeding(read, of, policy.changed_answers_per_mille, what));
    }
    if let Some(missed) = tally.lost(IDS) {
        let what = "answers to sends lose or change an id of the provider";
        let allowed = policy.changed_answers_per_mille;
        found.extend(exceeding(missed, of, allowed, what));
    }
    found.extend(exceeding(
        &changed(tally),
        of,
        policy.changed_sends_per_mille,
        "sends have another request",
    ));
    found
}

/// Returns the number of those with another request as a difference.
fn changed(tally: &Tally) -> DifferenceGroup {
    DifferenceGroup {
        count: tally.harm.changed,
        ..DifferenceGroup::default()
    }
}

/// Conversions without which time and memory are not judged.
const MEASURED: usize = 3;

/// Returns the growth of time and memory that exceeds the policy, each in a sentence. `inline`: the time
/// of a call in a request.
pub fn drift_of_cost(
    costs: &Costs,
    inline: Duration,
    policy: &config::VerifySection,
) -> Vec<String> {
    let mut found = Vec::new();
    let Some((serving, candidate)) = costs.summaries() else {
        return found;
    };
    if costs.serving.len() < MEASURED {
        return found;
    }
    let (fitting, slower) = costs.exceeding(inline);
    if slower * 1_000 > policy.slow_per_mille * fitting {
        found.push(format!(
            "{slower} of {fitting} conversions exceed the {} ms of a request (plugins.inline_ms) only with it, so their senders get `queued`: {} ms instead of {} ms on average",
            inline.as_millis(),
            milliseconds(candidate.mean),
            milliseconds(serving.mean),
        ));
    }
    let is_larger = candidate.memory > serving.memory.saturating_mul(policy.memory_times)
        && candidate.memory >= serving.memory.saturating_add(policy.memory_mib << 20);
    if is_larger {
        found.push(format!(
            "a conversion needs {} of memory with it instead of {} on average",
            size::readable(candidate.memory),
            size::readable(serving.memory),
        ));
    }
    found
}

/// Returns a time in milliseconds with one digit behind the point.
fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

/// Returns the sender checks that the candidate adds, if they refuse more senders than the policy
/// allows to fail, in a sentence.
pub fn drift_of_checks(tally: &Tally, policy: &config::VerifySection) -> Vec<String> {
    let what = "deliveries fail only its sender checks";
    let failing = policy.failing_per_mille;
    let found = exceeding(&tally.newly_failing, tally.compared, failing, what);
    found.into_iter().collect()
}

/// Returns a sentence about differences that are more than the allowed share.
fn exceeding(group: &DifferenceGroup, of: u64, allowed: u64, what: &str) -> Option<String> {
    if group.count * 1_000 <= allowed * of {
        return None;
    }
    let example = group.examples.first();
    let example = example.map(|one| format!(", for example in {}", one.subject));
    let example = example.unwrap_or_default();
    Some(format!("{} of {of} {what}{example}", group.count))
}

/// Returns the harm to a field of leads or events for a sentence: a lead may have several values of
/// some.
fn spelled(field: &str) -> &str {
    match field {
        "name" => "lose their name",
        "phone" => "lose a phone",
        "email" => "lose an e-mail address",
        "externalId" => "lose or change their external id",
        "listing" => "lose a listing",
        "action" => "change their action",
        "event.externalId" => "lose or change their external id",
        "event.contact" => "lose or change their contact",
        "event.template" => "lose or change their template",
        "event.sender" => "lose or change their sender",
        "event.text" => "lose their text",
        "event.state" => "lose or change their state",
        "event.optOut" => "lose or change their opt-out",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::compare::Memory;
    use crate::verify::cost::ProcessorTimes;

    const STRICT: config::VerifySection = config::VerifySection::STRICT;

    fn group(count: u64) -> DifferenceGroup {
        DifferenceGroup {
            count,
            ..DifferenceGroup::default()
        }
    }

    fn tally(change: impl FnOnce(&mut Tally)) -> Tally {
        let mut tally = Tally {
            compared: 1_000,
            leads: 1_000,
            candidate_leads: 1_000,
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
        for (harmful, words) in [
            (
                tally(|one| one.newly_failing = group(1)),
                "1 of 1000 deliveries fail only with it",
            ),
            (
                tally(|one| one.vanished = group(2)),
                "2 of 1000 leads vanish",
            ),
            (
                tally(|one| one.appeared = group(3)),
                "3 of 1000 leads appear",
            ),
            (lost("phone", 412), "412 of 1000 leads lose a phone"),
            (lost("externalId", 1), "lose or change their external id"),
            (altered("name", 1), "1 of 1000 leads change their name"),
            (altered("phone", 804), "804 of 1000 leads change a phone"),
            (altered("email", 1), "leads change an e-mail address"),
            (altered("listing", 1), "leads change a listing"),
            (altered("gained.name", 1), "gain the same name as most"),
            (altered("gained.phone", 1), "gain a phone that"),
            (altered("gained.email", 1), "gain an e-mail address that"),
            (altered("gained.externalId", 1), "gain an external id that"),
            (
                tally(|one| {
                    one.events = 348;
                    one.vanished_events = group(12);
                }),
                "12 of 348 events vanish",
            ),
            (
                tally(|one| {
                    one.candidate_events = 7;
                    one.appeared_events = group(3);
                }),
                "3 of 7 events appear only with it",
            ),
            (
                Tally {
                    events: 9,
                    ..lost("event.text", 2)
                },
                "2 of 9 events lose their text",
            ),
        ] {
            let found = drift(&harmful, &STRICT);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
        for harmless in [
            Tally::default(),
            tally(|one| one.no_longer_failing = group(9)),
            tally(|one| one.items = group(9)),
        ] {
            assert_eq!(drift(&harmless, &STRICT), [""; 0]);
        }
    }

    #[test]
    fn failing_and_differently_read_sends_exceed_a_strict_policy_and_changed_requests_do_not() {
        let read = |count| {
            tally(|tally| {
                tally.lost.insert(RESULT.into(), group(count));
            })
        };
        for (harmful, words) in [
            (
                tally(|one| one.newly_failing = group(1)),
                "1 of 1000 sends fail only with it",
            ),
            (tally(|one| one.items = group(2)), "lose their request"),
            (read(3), "3 of 1000 answers to sends are read differently"),
            (
                lost(IDS, 20),
                "20 of 1000 answers to sends lose or change an id of the provider",
            ),
        ] {
            let found = drift_of_sends(&harmful, &STRICT);
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        }
        let changed = tally(|one| one.harm.changed = 12);
        assert_eq!(drift_of_sends(&changed, &STRICT), [""; 0]);
        let none = config::VerifySection {
            changed_sends_per_mille: 0,
            ..STRICT
        };
        let found = drift_of_sends(&changed, &none);
        assert_eq!(found, ["12 of 1000 sends have another request"]);
    }

    #[test]
    fn calls_that_no_longer_fit_into_a_request_and_far_more_memory_exceed_the_policy() {
        let costs = |(serving, candidate): (u64, u64), mebibytes: (u64, u64)| {
            let mut costs = Costs::default();
            for _ in 0..MEASURED {
                let processor = ProcessorTimes {
                    serving: Duration::from_millis(serving),
                    candidate: Duration::from_millis(candidate),
                };
                let memory = Memory {
                    serving: mebibytes.0 << 20,
                    candidate: mebibytes.1 << 20,
                };
                costs.add(Some(processor), Some(memory));
            }
            costs
        };
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
        let mut few = costs((1, 130), (1, 60));
        few.serving.pop();
        few.candidate.pop();
        assert_eq!(found(&few), [""; 0]);
    }

    #[test]
    fn a_policy_allows_as_many_per_mille_as_it_says() {
        let policy = config::VerifySection {
            lost_per_mille: 5,
            altered_per_mille: 10,
            ..STRICT
        };
        assert_eq!(drift(&altered("phone", 10), &policy), [""; 0]);
        assert_eq!(drift(&altered("phone", 11), &policy).len(), 1);
        assert_eq!(drift(&lost("email", 5), &policy), [""; 0]);
        assert_eq!(drift(&lost("email", 6), &policy).len(), 1);
    }
}
