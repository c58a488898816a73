//! The guards of a rollout: when a candidate harms more deliveries than chance explains.
//!
//! Both versions convert the same deliveries, so each comparison is harmful or not, and what the
//! source changes harms neither. A sequential probability ratio test adds up the evidence: that
//! the share of harmful deliveries is ten times the allowed one (H1) against the allowed one (H0,
//! at least one per thousand). It may be looked at after each comparison and needs no fixed sample:
//! by Ville's inequality the chance that a candidate within the allowed share ever trips a guard,
//! counted from one beginning, is at most [`FALSE_ALARMS`]. Three harmful deliveries among the
//! first 79 trip; a share of two per cent trips after some 170, one of one per cent after some 440.
//! Counts from later beginnings need more evidence, because each beginning is a chance of its own.

use crate::verify::policy::{Part, harms};
use leadhost_config as config;
use leadhost_domain::difference::ComparisonCounts;

/// The greatest chance that a good candidate trips a guard, counted from the start.
const FALSE_ALARMS: f64 = 0.002;

/// The same, counted from one of the last looks.
const FALSE_ALARMS_RECENTLY: f64 = 0.000_01;

/// The least share that is allowed: without it a single harmful delivery would prove anything.
const LEAST_SHARE: f64 = 0.001;

/// The multiple of the allowed share that a candidate is tested for.
const TIMES: f64 = 10.0;

const GREATEST_SHARE: f64 = 0.9;

pub fn trips(part: Part, counts: &ComparisonCounts, policy: &config::VerifySection) -> bool {
    exceeds(part, counts, policy, FALSE_ALARMS)
}

/// Returns whether a guard trips on the comparisons since one of the last evaluations, so that a
/// good beginning does not hide harm that began later.
pub fn trips_recently(
    part: Part,
    counts: &ComparisonCounts,
    policy: &config::VerifySection,
) -> bool {
    exceeds(part, counts, policy, FALSE_ALARMS_RECENTLY)
}

fn exceeds(
    part: Part,
    counts: &ComparisonCounts,
    policy: &config::VerifySection,
    false_alarms: f64,
) -> bool {
    harms(part, counts, policy).iter().any(|harm| {
        let allowed = share(harm.allowed_per_mille, 1_000).max(LEAST_SHARE);
        let tested = (allowed * TIMES).min(GREATEST_SHARE);
        evidence(harm.count, counts.compared, allowed, tested) >= -false_alarms.ln()
    })
}

fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn share(count: u64, of: u64) -> f64 {
    number(count) / number(of.max(1))
}

/// Returns the logarithm of the likelihood ratio of H1, the tested share, to H0, the allowed one.
fn evidence(harmful: u64, of: u64, allowed: f64, tested: f64) -> f64 {
    let (harmful, of) = (number(harmful), number(of.max(harmful)));
    if tested <= allowed {
        return 0.0;
    }
    harmful * (tested / allowed).ln() + (of - harmful) * ((1.0 - tested) / (1.0 - allowed)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: config::VerifySection = config::VerifySection::STRICT;

    fn trips(counts: &ComparisonCounts, policy: &config::VerifySection) -> bool {
        super::trips(Part::Deliveries, counts, policy)
    }

    fn trips_recently(counts: &ComparisonCounts, policy: &config::VerifySection) -> bool {
        super::trips_recently(Part::Deliveries, counts, policy)
    }

    fn lost(lost: u64, compared: u64) -> ComparisonCounts {
        ComparisonCounts {
            compared,
            lost,
            ..ComparisonCounts::default()
        }
    }

    #[test]
    fn a_few_harmful_comparisons_among_the_first_trip_and_one_does_not() {
        assert!(trips(&lost(3, 3), &STRICT));
        assert!(trips(&lost(3, 79), &STRICT));
        assert!(!trips_recently(&lost(4, 4), &STRICT));
        assert!(trips_recently(&lost(6, 60), &STRICT));
        assert!(!trips(&lost(1, 1), &STRICT));
        assert!(!trips(&lost(2, 10), &STRICT));
        assert!(!trips(&lost(3, 200), &STRICT));
        assert!(!trips(&ComparisonCounts::default(), &STRICT));
    }

    #[test]
    fn a_harmful_share_of_one_or_two_per_cent_trips_after_a_few_hundred_comparisons() {
        assert!(trips(&lost(4, 170), &STRICT));
        assert!(trips(&lost(5, 450), &STRICT));
        assert!(!trips(&lost(1, 10_000), &STRICT));
    }

    type Kind = fn(&mut ComparisonCounts) -> &mut u64;

    fn counts(kind: Kind, count: u64, compared: u64) -> ComparisonCounts {
        let mut counts = lost(0, compared);
        *kind(&mut counts) = count;
        counts
    }

    #[test]
    fn each_kind_of_harm_trips_and_an_allowed_share_does_not() {
        let kinds: [Kind; 5] = [
            |one| &mut one.failing,
            |one| &mut one.lost,
            |one| &mut one.altered,
            |one| &mut one.vanished,
            |one| &mut one.appeared,
        ];
        for kind in kinds {
            let harmful = counts(kind, 20, 100);
            assert!(trips(&harmful, &STRICT), "{harmful:?}");
        }
        let lenient = config::VerifySection {
            lost_per_mille: 50,
            ..STRICT
        };
        assert!(!trips(&lost(5, 100), &lenient));
        assert!(trips(&lost(40, 100), &lenient));
    }

    #[test]
    fn altered_leads_trip_above_the_share_that_the_policy_allows() {
        let policy = config::VerifySection {
            altered_per_mille: 10,
            ..STRICT
        };
        let altered = |altered, compared| counts(|one| &mut one.altered, altered, compared);
        assert!(trips(&altered(3, 10), &policy));
        assert!(!trips(&altered(3, 11), &policy));
        assert!(!trips(&altered(10, 1_000), &policy));
        assert!(trips(&altered(804, 1_000), &policy));
    }

    #[test]
    fn failing_and_differently_read_sends_trip_and_changed_requests_only_if_the_policy_says_so() {
        let trips =
            |kind, count, policy: &_| super::trips(Part::Sends, &counts(kind, count, 100), policy);
        let kinds: [Kind; 3] = [
            |one| &mut one.failing,
            |one| &mut one.vanished,
            |one| &mut one.lost,
        ];
        for kind in kinds {
            assert!(trips(kind, 20, &STRICT));
        }
        let changed: Kind = |one| &mut one.changed;
        assert!(!trips(changed, 100, &STRICT));
        let strictest = config::VerifySection {
            changed_sends_per_mille: 0,
            ..STRICT
        };
        assert!(trips(changed, 100, &strictest));
    }

    #[test]
    fn a_policy_that_allows_everything_never_trips() {
        let all = config::VerifySection {
            lost_per_mille: 1_000,
            ..STRICT
        };
        assert!(!trips(&lost(100, 100), &all));
    }
}
