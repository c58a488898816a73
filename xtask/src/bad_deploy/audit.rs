//! The steps of the stories in the audit.

use serde_json::Value;

use super::Scenario;
use crate::failure::{Context, Failure};

impl Scenario {
    /// Every step is in the audit, also of so many stories of wrong values.
    pub(super) fn audited(&self, repeated: usize) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("Everything is in the audit");
        let export = terminal.saves("audit --export", "audit.ndjson")?;
        terminal.claim(export.succeeded, "no row was changed or removed")?;
        let rows = export.out.lines().map(serde_json::from_str::<Value>);
        let rows = rows
            .collect::<Result<Vec<_>, _>>()
            .context("reading audit.ndjson")?;
        terminal.runs("audit --limit 100")?;
        let acts = acts(&rows);
        let mut left = acts.iter();
        let again = std::iter::repeat_n(&REPEATED, repeated).flatten();
        let mut steps = STEPS.iter().chain(again);
        let is_there =
            |step: &(&str, &str)| left.any(|(act, outcome)| (act.as_str(), *outcome) == *step);
        terminal.claim(steps.all(is_there), "it has every step, in order")
    }
}

/// The acts of the story of the lost phones, and their outcomes.
#[rustfmt::skip]
const STEPS: [(&str, &str); 11] = [
    ("activate-plugin", "done"), ("apply", "done"), ("activate-plugin", "refused"), ("upload-plugin", "done"),
    ("start-rollout", "refused"), ("start-rollout", "done"), ("roll-back-rollout", "done"),
    ("start-rollout", "done"), ("change-rollout", "done"), ("roll-back-plugin", "done"), ("start-repair", "done"),
];

/// Those of each story of wrong values.
#[rustfmt::skip]
const REPEATED: [(&str, &str); 9] = [
    ("activate-plugin", "refused"), ("start-rollout", "refused"), ("start-rollout", "done"),
    ("roll-back-rollout", "done"), ("activate-plugin", "done"), ("roll-back-plugin", "done"),
    ("start-repair", "done"), ("undo-repair", "done"), ("start-repair", "done"),
];

/// Returns the acts of the audit in the order in which they began, with their outcomes.
fn acts(rows: &[Value]) -> Vec<(String, &str)> {
    let begins = rows.iter().filter(|row| row["begun"].is_null());
    let ended = |begin: &Value| rows.iter().find(|row| row["begun"] == begin["number"]);
    begins
        .map(|begin| {
            let act = begin["act"].as_str().unwrap_or_default().to_owned();
            // An act of the service itself is one row.
            let end = ended(begin).unwrap_or(begin);
            (act, end["outcome"].as_str().unwrap_or_default())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_act_has_the_place_of_its_beginning_and_the_outcome_of_its_end() {
        let row = |number: u64, act: &str, outcome: &str, begun: Option<u64>| json!({"number": number, "act": act, "outcome": outcome, "begun": begun});
        let rows = [
            row(1, "start-rollout", "begun", None),
            row(2, "roll-back-rollout", "done", None),
            row(3, "start-rollout", "done", Some(1)),
        ];
        let expect = [("start-rollout", "done"), ("roll-back-rollout", "done")];
        let expect = expect.map(|(act, outcome)| (act.to_owned(), outcome));
        assert_eq!(acts(&rows), expect);
    }
}
