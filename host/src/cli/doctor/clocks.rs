//! Clocks: the system's synchronisation, and the differences to other clocks.

use std::process::Stdio;

use tokio::process::Command;
use tokio::time::timeout;

use super::finding::Findings;
use crate::cli::prelude::*;

const ABOUT: &str = "clock";

/// Checks whether the system synchronises its clock. Finds nothing without `timedatectl`.
pub async fn check_system(findings: &mut Findings) {
    let asked = Command::new("timedatectl")
        .args(["show", "--property=NTPSynchronized", "--value"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let Ok(Ok(output)) = timeout(limits::DOCTOR_DEADLINE, asked).await else {
        return;
    };
    let answer = String::from_utf8_lossy(&output.stdout);
    judge_system(answer.trim(), findings);
}

fn judge_system(answer: &str, findings: &mut Findings) {
    match answer {
        "yes" => findings.ok(ABOUT, "The system synchronises its clock."),
        "no" => findings.warning(
            ABOUT,
            "The system does not synchronise its clock.",
            "Run NTP (timedatectl set-ntp true), unless the clock is the clock of a host that does.",
        ),
        // The system has a clock, but no service that reports whether it is synchronised.
        _ => {}
    }
}

pub fn compare(whose: &str, now: Micros, before: Micros, after: Micros, findings: &mut Findings) {
    // The difference that the duration of the request cannot explain.
    let apart = if now < before {
        before.since(now)
    } else {
        now.since(after)
    };
    let shown = match apart {
        Duration::ZERO => "agrees with this machine's".to_owned(),
        apart => format!(
            "differs from this machine's by {:.1} s",
            apart.as_secs_f64()
        ),
    };
    let what = format!("The clock of {whose} {shown}.");
    let todo = "Run NTP on both machines.";
    if apart >= limits::DOCTOR_CLOCK_PROBLEM {
        findings.problem(ABOUT, what, todo);
    } else if apart >= limits::DOCTOR_CLOCK_WARNING {
        findings.warning(ABOUT, what, todo);
    } else {
        findings.ok(ABOUT, what);
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    #[test]
    fn only_a_difference_that_the_request_cannot_explain_counts() {
        let check = |now: i64, expect: FindingState| {
            let mut findings = Findings::default();
            let [now, before, after] = [now, 100_000_000, 103_000_000].map(Micros);
            compare("it", now, before, after, &mut findings);
            assert_eq!(findings.all()[0].state, expect, "{now:?}");
        };
        check(100_000_000, FindingState::Ok);
        check(103_900_000, FindingState::Ok);
        check(104_000_000, FindingState::Warning);
        check(99_000_000, FindingState::Warning);
        check(133_000_000, FindingState::Problem);
        check(70_000_000, FindingState::Problem);
    }

    #[test]
    fn a_system_that_says_nothing_is_no_finding() {
        for (answer, number) in [("yes", 1), ("no", 1), ("", 0)] {
            let mut findings = Findings::default();
            judge_system(answer, &mut findings);
            assert_eq!(findings.all().len(), number, "{answer}");
        }
    }
}
