//! Runs the golden cases that a component carries before it may serve. A failing case
//! refuses the version. The refusal reports the first differences to its author on one
//! line, because logs and lists of files show one line. The tools of integrators run single
//! cases and show all of the answer.

use crate::prelude::*;
use leadhost_golden::{SectionError, normalise, read_section, unpack};

use super::abi::of_either;
use super::caller::TRIAL_LANE;
use super::schedule::in_background;
use super::usage::CallUsage;
use super::{
    CallBudget,
    runtime::{CallAccount, CallStart},
};

/// Runs the golden cases in order and compares each answer with its expectation.
pub(super) async fn try_cases(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    cases: &[Arc<Case>],
) -> Result<(), LoadError> {
    let total = cases.len();
    let mut failures = CaseFailures::default();
    let mut unanswered = 0;
    for (index, case) in cases.iter().enumerate() {
        let answer = match plugins.answer_golden(loaded, Arc::clone(case)).await {
            Ok(answer) => answer,
            Err(error) if !error.is_fault() => return Err(LoadError::tried("golden")(error)),
            Err(error) => {
                failures.add(line(&case.name, &error.with_log(error.log())));
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

/// Runs the golden cases in instances that answered `first` before. Returns why instances that
/// did may not serve, or `None` if they may: they do not read the time before a call, and answer
/// as a fresh instance does.
pub(super) async fn try_warm(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    first: &Arc<Case>,
    cases: &[Arc<Case>],
) -> Option<String> {
    for case in cases {
        let answer = plugins
            .answer_with(Arc::default(), loaded, Some(first), Arc::clone(case))
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Some(line(&case.name, &error.to_string())),
        };
        let (case, name) = (Arc::clone(case), case.name.clone());
        let differs = in_background(move || case.difference(&normalise(answer)).is_some()).await;
        if !matches!(differs, Ok(false)) {
            return Some(line(
                &name,
                "a second call of an instance gives another answer",
            ));
        }
    }
    None
}

pub async fn carried_cases(wasm: Vec<u8>) -> Result<Vec<Case>, LoadError> {
    in_background(move || golden_cases(&wasm)).await?
}

pub(super) fn golden_cases(wasm: &[u8]) -> Result<Vec<Case>, LoadError> {
    match read_section(wasm) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(packed)) => {
            unpack(&packed).map_err(|error| LoadError::GoldenSection(shortened(error.to_string())))
        }
        Err(SectionError::NotAComponent) => Err(LoadError::NotWasm),
        Err(error @ SectionError::Malformed { .. }) => Err(LoadError::Invalid(error.to_string())),
        Err(error @ SectionError::Repeated) => Err(LoadError::GoldenSection(error.to_string())),
    }
}

/// Failed cases: the first ones in words, the others only counted.
#[derive(Default)]
struct CaseFailures {
    reported: Vec<String>,
    count: usize,
    untried: usize,
}

impl CaseFailures {
    fn add(&mut self, failure: String) {
        self.count += 1;
        if self.reported.len() < limits::GOLDEN_FAILURES_SHOWN {
            self.reported.push(failure);
        }
    }

    fn report(mut self) -> String {
        let more = self.count - self.reported.len();
        if more > 0 {
            self.reported.push(format!("and {more} more"));
        }
        if self.untried > 0 {
            let untried = self.untried;
            self.reported.push(format!("not run: {untried}"));
        }
        self.reported.join("; ")
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

#[derive(Debug)]
pub struct CaseAnswer {
    /// The answer in the form of an expectation, or why there is none.
    pub output: Result<Value, CallError>,
    pub usage: CallUsage,
}

#[leadhost_boxed::boxed]
impl Plugins {
    /// Runs one golden case as a trial does, and compares nothing.
    pub async fn answer_case(&self, loaded: &Arc<Loaded>, case: Arc<Case>) -> CaseAnswer {
        let handle = Arc::new(CallHandle::measured());
        let answer = self
            .answer_with(Arc::clone(&handle), loaded, None, case)
            .await;
        CaseAnswer {
            output: answer.map(normalise),
            usage: handle.usage(),
        }
    }

    async fn answer_golden(
        &self,
        loaded: &Arc<Loaded>,
        case: Arc<Case>,
    ) -> Result<Value, CallError> {
        self.answer_with(Arc::default(), loaded, None, case).await
    }

    async fn answer_with(
        &self,
        handle: Arc<CallHandle>,
        loaded: &Arc<Loaded>,
        first: Option<&Arc<Case>>,
        case: Arc<Case>,
    ) -> Result<Value, CallError> {
        let called = Arc::clone(loaded);
        let first = first.cloned();
        let delivery = &case.delivery;
        let environment = loaded
            .imports_wasi
            .then(|| CallEnvironment::new(&delivery.id, &delivery.received_at));
        let (environment, begun_with) = match first {
            Some(_) => (
                environment
                    .as_ref()
                    .map(|_| CallEnvironment::before_a_call()),
                environment,
            ),
            None => (environment, None),
        };
        let start = CallStart {
            environment,
            warm: None,
        };
        let whose = CallAccount {
            lane: TRIAL_LANE,
            digest: &loaded.digest,
            budget: CallBudget::Trial,
        };
        let answer = self
            .0
            .call_with(handle, whose, start, move |store| {
                Box::pin(async move {
                    let guest = &called.guest;
                    if let Some(first) = first {
                        of_either!(guest, warm_up(store, &first))?;
                        if store.data().time_was_read() {
                            let what = "it reads the time when it starts";
                            return Err(Fault::Rule(what.to_owned()));
                        }
                        if let (Some(wasi), Some(begun)) = (&mut store.data_mut().wasi, &begun_with)
                        {
                            wasi.begin(begun);
                        }
                    }
                    of_either!(guest, golden(store, &case))
                })
            })
            .await?;
        Ok(answer.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(failures: impl IntoIterator<Item = String>) -> String {
        let mut all = CaseFailures::default();
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
        let failures = 0..limits::GOLDEN_FAILURES_SHOWN + 4;
        let line = report(failures.map(|number| line(&format!("case-{number}"), "differs")));
        assert!(
            line.starts_with("case-0: differs; case-1: differs"),
            "{line}"
        );
        assert!(line.ends_with("; and 4 more"), "{line}");
    }
}
