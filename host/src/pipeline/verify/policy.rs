//! The policy of an activation: which differences refuse it.

use super::compare::{GUARDED, Group, Tally};
use crate::config;

/// Returns the differences that exceed the policy, each in a sentence; none if the candidate may
/// serve.
pub fn drift(tally: &Tally, policy: &config::Verify) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |group: &Group, of: u64, allowed: u64, what: &str| {
        if group.count * 1_000 > allowed * of {
            let example = group.examples.first();
            let example = example.map(|one| format!(", for example in delivery {}", one.delivery));
            let example = example.unwrap_or_default();
            found.push(format!("{} of {of} {what}{example}", group.count));
        }
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
    let allowed = policy.leads_per_mille;
    check(&tally.vanished, tally.leads, allowed, "leads vanish");
    check(
        &tally.appeared,
        tally.candidate_leads,
        allowed,
        "leads appear only with it",
    );
    found
}

/// Returns the harm to a field for a sentence: a lead may have several values of some.
fn spelled(field: &str) -> &str {
    match field {
        "name" => "lose their name",
        "phone" => "lose a phone",
        "email" => "lose an e-mail address",
        "externalId" => "lose or change their external id",
        "listing" => "lose a listing",
        "action" => "change their action",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: config::Verify = config::Verify {
        deliveries: 1_000,
        seconds: 30,
        failing_per_mille: 0,
        lost_per_mille: 0,
        leads_per_mille: 0,
    };

    fn group(count: u64) -> Group {
        Group {
            count,
            ..Group::default()
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

    #[test]
    fn what_harms_a_lead_exceeds_a_strict_policy_and_nothing_else_does() {
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
    fn a_policy_allows_as_many_per_mille_as_it_says() {
        let policy = config::Verify {
            lost_per_mille: 5,
            ..STRICT
        };
        assert_eq!(drift(&lost("email", 5), &policy), [""; 0]);
        assert_eq!(drift(&lost("email", 6), &policy).len(), 1);
    }
}
