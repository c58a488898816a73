//! Runs the golden cases that a component carries before it may serve. A failing case
//! refuses the version. The refusal reports the first differences to its author on one
//! line, because logs and lists of files show one line.

use std::sync::Arc;

use leadhost_golden::{Case, normalise};
use serde_json::Value;

use super::error::{CallError, LoadError};
use super::imports::Wasi;
use super::load::{Loaded, tried};
use super::schedule::in_background;
use super::trial::TRIAL_LANE;
use super::{Budget, CallAccount, Plugins};
use crate::limits;

/// Runs the golden cases in order and compares each answer with its expectation.
///
/// # Errors
///
/// [`LoadError`] if an answer differs, too many cases go unanswered, or the host cannot run
/// one.
pub(super) async fn try_cases(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    cases: &[Arc<Case>],
) -> Result<(), LoadError> {
    let total = cases.len();
    let mut failures = Failures::default();
    let mut unanswered = 0;
    for (index, case) in cases.iter().enumerate() {
        let answer = match plugins.answer_golden(loaded, Arc::clone(case)).await {
            Ok(answer) => answer,
            Err(error) if !error.is_fault() => return Err(tried("golden")(error)),
            Err(error) => {
                failures.add(line(&case.name, &error.to_string()));
                unanswered += 1;
                if unanswered >= limits::GOLDEN_UNANSWERED {
                    // The other cases would take as much work without showing more.
                    failures.untried = total - index - 1;
                    break;
                }
                continue;
            }
        };
        let case = Arc::clone(case);
        // The answer and the case are as long as the plugin made them.
        let failure = in_background(move || {
            let difference = match &case.expect {
                None => Some("the case has no expectation".to_owned()),
                Some(_) => case.difference(&normalise(answer)),
            };
            difference.map(|difference| line(&case.name, &difference))
        });
        if let Some(failure) = failure.await? {
            failures.add(failure);
        }
    }
    if failures.count == 0 {
        return Ok(());
    }
    Err(LoadError::Golden {
        failed: failures.count,
        total,
        report: failures.report(),
    })
}

/// Failed cases: the first ones in words, the others only counted.
#[derive(Default)]
struct Failures {
    told: Vec<String>,
    count: usize,
    untried: usize,
}

impl Failures {
    fn add(&mut self, failure: String) {
        self.count += 1;
        if self.told.len() < limits::GOLDEN_FAILURES_TOLD {
            self.told.push(failure);
        }
    }

    fn report(mut self) -> String {
        let more = self.count - self.told.len();
        if more > 0 {
            self.told.push(format!("and {more} more"));
        }
        if self.untried > 0 {
            let untried = self.untried;
            self.told.push(format!("not run: {untried}"));
        }
        self.told.join("; ")
    }
}

/// Formats a failure on one line for the log and the list of files. The name and the
/// difference come from the component, so they may be long and contain control characters.
fn line(name: &str, failure: &str) -> String {
    let line: String = format!("{name}: {failure}")
        .trim()
        .lines()
        .collect::<Vec<_>>()
        .join("; ")
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match line.char_indices().nth(limits::GOLDEN_FAILURE_CHARACTERS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

impl Plugins {
    async fn answer_golden(
        &self,
        loaded: &Arc<Loaded>,
        case: Arc<Case>,
    ) -> Result<Value, CallError> {
        let called = Arc::clone(loaded);
        let delivery = &case.delivery;
        let wasi = loaded
            .imports_wasi
            .then(|| Wasi::new(&delivery.id, &delivery.received_at));
        let whose = CallAccount {
            lane: TRIAL_LANE,
            digest: &loaded.digest,
            budget: Budget::Trial,
        };
        let answer = self
            .0
            .call(whose, wasi, move |store| {
                Box::pin(async move { called.guest.plugin().golden(store, &case).await })
            })
            .await?;
        Ok(answer.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(failures: impl IntoIterator<Item = String>) -> String {
        let mut all = Failures::default();
        failures.into_iter().for_each(|failure| all.add(failure));
        all.report()
    }

    #[test]
    fn failing_cases_are_reported_on_one_bounded_line() {
        let line = report([
            line(
                "lead",
                "ok.items.0: expected 1, got 2\nok.notes: expected nothing, got []",
            ),
            line("odd\u{1b}[2J", &"x\n".repeat(10_000)),
        ]);
        assert!(
            line.starts_with(
                "lead: ok.items.0: expected 1, got 2; ok.notes: expected nothing, got []; odd [2J: "
            ),
            "{line}"
        );
        assert!(!line.chars().any(char::is_control), "{line}");
        assert!(line.chars().count() < 2 * limits::GOLDEN_FAILURE_CHARACTERS + 10);
    }

    #[test]
    fn cases_that_are_not_reported_are_counted() {
        let failures = 0..limits::GOLDEN_FAILURES_TOLD + 4;
        let line = report(failures.map(|number| line(&format!("case-{number}"), "differs")));
        assert!(
            line.starts_with("case-0: differs; case-1: differs"),
            "{line}"
        );
        assert!(line.ends_with("; and 4 more"), "{line}");
    }
}
