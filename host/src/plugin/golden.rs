//! The golden cases that a component carries, run before it may serve. One that
//! fails refuses the version, and its author is told the first differences, on
//! one line: that is what a log and a list of files can show.

use std::sync::Arc;

use leadhost_golden::{Case, normalise};
use serde_json::Value;

use super::abi::Fault;
use super::error::{CallError, LoadError};
use super::load::{Loaded, TRIAL, tried};
use super::{Budget, Plugins};
use crate::limits;

pub(super) async fn try_cases(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    cases: &[Case],
) -> Result<(), LoadError> {
    let mut failures = Vec::new();
    for case in cases {
        let answer = match plugins.answer_golden(loaded, TRIAL, case.clone()).await {
            Ok(answer) => normalise(answer),
            Err(error) if !error.is_fault() => return Err(tried("golden")(error)),
            Err(error) => {
                failures.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        if case.expect.is_none() {
            failures.push(format!("{}: the case expects nothing", case.name));
        } else if let Some(difference) = case.difference(&answer) {
            failures.push(format!("{}: {difference}", case.name));
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(LoadError::Golden {
        failed: failures.len(),
        total: cases.len(),
        report: one_line(&failures),
    })
}

/// The first failures on one line, as the log and the list of files show it.
/// The names come out of the component, so they are not trusted to be short or
/// free of control characters.
fn one_line(failures: &[String]) -> String {
    let mut told: Vec<String> = failures
        .iter()
        .take(limits::GOLDEN_FAILURES_TOLD)
        .map(|failure| {
            let line: String = failure
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
        })
        .collect();
    if failures.len() > told.len() {
        told.push(format!("and {} more cases", failures.len() - told.len()));
    }
    told.join("; ")
}

impl Plugins {
    async fn answer_golden(
        &self,
        loaded: &Arc<Loaded>,
        lane: &str,
        case: Case,
    ) -> Result<Value, CallError> {
        let called = Arc::clone(loaded);
        let seed = (case.delivery.id.clone(), case.delivery.received_at.clone());
        let answer = self
            .0
            .call(
                lane,
                Budget::Worker,
                loaded.imports_wasi,
                seed,
                move |store| -> Result<Value, Fault> { called.guest.golden(store, &case) },
            )
            .await?;
        Ok(answer.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_cases_are_told_on_one_bounded_line() {
        let failures = [
            "lead: ok.items.0: expected 1, came 2\nok.notes: expected nothing, came []".to_owned(),
            format!("odd\u{1b}[2J: {}", "x\n".repeat(10_000)),
        ];
        let line = one_line(&failures);
        assert!(
            line.starts_with(
                "lead: ok.items.0: expected 1, came 2; ok.notes: expected nothing, came []; odd [2J: "
            ),
            "{line}"
        );
        assert!(!line.chars().any(char::is_control), "{line}");
        assert!(line.chars().count() < 2 * limits::GOLDEN_FAILURE_CHARACTERS + 10);
    }

    #[test]
    fn cases_that_are_not_told_are_counted() {
        let failures: Vec<String> = (0..limits::GOLDEN_FAILURES_TOLD + 4)
            .map(|number| format!("case-{number}: differs"))
            .collect();
        let line = one_line(&failures);
        assert!(
            line.starts_with("case-0: differs; case-1: differs"),
            "{line}"
        );
        assert!(line.ends_with("; and 4 more cases"), "{line}");
    }
}
