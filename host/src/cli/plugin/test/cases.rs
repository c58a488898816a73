//! The golden cases of a plugin, in the engine of this machine, whatever language it is written in; and
//! their expectations.

use clap::ValueEnum;
use leadhost_golden::{Case, load_dir, write_expect};

use super::super::component_file::{self, ComponentFile, GOLDEN};
use super::super::local::{ConversionOutput, EngineFlags, LocalEngine};
use super::super::loss::losses;
use super::tally::{CaseOutcome, Crashes, Differences, TestTally, indented, show_failing};
use crate::cli::prelude::*;
use leadhost_plugin::{CallError, Loaded};

#[derive(Args)]
pub struct CaseFlags {
    /// The folder of golden cases [default: golden in the project's folder or in the current one; without it, the cases in the component]
    #[arg(long, value_name = "DIR")]
    pub golden: Option<PathBuf>,
    /// Write the output into the cases that have no expectation
    #[arg(long, conflicts_with = "on")]
    write: bool,
    /// Also replace the expectations that differ, and show each difference
    #[arg(long, conflicts_with = "on")]
    renew: bool,
    /// Replace also those whose new output lacks a field, or is refused or a lead where it was not
    #[arg(long, value_name = "WHAT", requires = "renew")]
    accept: Option<Acceptance>,
    /// Write the output even if a source was changed after the build
    #[arg(long)]
    stale: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Acceptance {
    /// The new output of a case lacks what the expected one has
    LostFields,
}

/// A plugin whose golden cases pass.
pub struct PassedTest {
    pub component: ComponentFile,
    pub loaded: Arc<Loaded>,
    pub golden: u64,
    /// The fingerprint of the engine.
    pub engine: String,
    pub said: String,
}

impl CaseFlags {
    /// Makes the trial of an activation, and runs the golden cases one by one: it shows each that fails.
    pub async fn run(
        &self,
        file: &Path,
        flags: &EngineFlags,
        service_config: Option<&Path>,
    ) -> CommandResult<PassedTest> {
        // What is written must be what the sources do.
        let stale = self.stale || !(self.write || self.renew);
        let component = component_file::read_current(file, stale)?;
        let engine = flags.start(service_config)?;
        // The build of a project is signed when it is published.
        if !file.is_dir() {
            engine
                .check_trust(component.component())
                .map_err(|failure| failure.about(file))?;
        }
        let wasm = component.without_cases()?;
        let loaded = engine.load_of(file, "compiling", wasm).await?.loaded;
        flags.show(&engine);
        let chosen = self.choose(file, &component)?;
        let mut tally = TestTally::default();
        let mut crashes = Crashes::default();
        let mut differences = Differences::default();
        let mut cases = chosen.cases.into_iter();
        // The others would take as long without showing more.
        while tally.late < limits::GOLDEN_UNANSWERED as u64
            && let Some(case) = cases.next()
        {
            let outcome = self
                .try_case(
                    &engine,
                    &loaded,
                    case,
                    chosen.folder.as_deref(),
                    &mut crashes,
                    &mut differences,
                )
                .await?;
            tally.add(outcome);
        }
        tally.untried = cases.len() as u64;
        crashes.conclude();
        differences.conclude();
        let command = component_file::test_command(file, self.golden.as_deref());
        let said = tally.conclude(&chosen.origin, &command)?;
        Ok(PassedTest {
            golden: tally.passed + tally.written,
            component,
            loaded,
            engine: engine.fingerprint().to_owned(),
            said,
        })
    }

    fn choose(&self, file: &Path, component: &ComponentFile) -> CommandResult<ChosenCases> {
        let here = || Some(PathBuf::from(GOLDEN)).filter(|folder| folder.is_dir());
        let named = self.golden.clone();
        let folder = named.or_else(|| component.golden.clone()).or_else(here);
        if let Some(folder) = folder {
            let cases =
                load_dir(&folder).map_err(|error| CommandFailure::new(error.to_string()))?;
            return Ok(ChosenCases {
                cases,
                origin: folder.display().to_string(),
                folder: Some(folder),
            });
        }
        let file = file.display();
        if self.write || self.renew {
            return Err(CommandFailure::usage(
                "there is no folder of golden cases in which to write expectations",
            )
            .hint("name it with --golden DIR"));
        }
        let carried = component.carried_cases()?;
        let cases = carried.ok_or_else(|| {
            failed!("the trial of {file} passed, but it carries no golden cases")
                .hint("name the folder of its cases with --golden DIR")
        })?;
        Ok(ChosenCases {
            cases,
            origin: file.to_string(),
            folder: None,
        })
    }

    async fn try_case(
        &self,
        engine: &LocalEngine,
        loaded: &Arc<Loaded>,
        case: Case,
        folder: Option<&Path>,
        crashes: &mut Crashes,
        differences: &mut Differences,
    ) -> CommandResult<CaseOutcome> {
        let case = Arc::new(case);
        let answer = engine.plugins.answer_case(loaded, Arc::clone(&case)).await;
        let output = match answer.output {
            Ok(output) => output,
            // On a busy machine a loop is given up before it has used its processor time.
            Err(error) if error.is_fault() || matches!(error, CallError::Busy) => {
                crashes.add(&case.name, answer.usage.log, error.to_string());
                return Ok(match error {
                    CallError::OutOfTime { .. } | CallError::Busy => CaseOutcome::Late,
                    _ => CaseOutcome::Failed,
                });
            }
            Err(error) => {
                return Err(failed!("the case {} could not be run: {error}", case.name));
            }
        };
        let difference = match &case.expect {
            None => None,
            Some(_) => match case.difference(&output) {
                None => return Ok(CaseOutcome::Passed),
                different => different,
            },
        };
        let expected = case.expect.as_ref();
        let lost = expected.map_or_else(Vec::new, |expected| losses(expected, &output));
        let renews = self.renew && (lost.is_empty() || self.accept.is_some());
        let target = folder.filter(|_| renews || (self.write && difference.is_none()));
        match (target, difference) {
            (Some(folder), difference) => {
                let written = write_output(folder, &case.name, &output, difference.as_deref())?;
                for lost in &lost {
                    say_line!("  accepted as lost: {lost}");
                }
                if difference.is_none() && has_no_person(&output) {
                    complain(&no_person(&case.name));
                }
                Ok(written)
            }
            (None, Some(difference)) => {
                differences.add(&case.name, &answer.usage.log, &difference, &lost);
                Ok(if lost.is_empty() {
                    CaseOutcome::Differs
                } else {
                    CaseOutcome::Loses
                })
            }
            (None, None) => {
                let what = "it has no expectation yet; --write writes the output into it";
                show_failing(&case.name, &answer.usage.log, what);
                Ok(CaseOutcome::Failed)
            }
        }
    }
}

/// Writes the output into the golden cases of a project that have no expectation yet, and says which. Cases
/// of a component without a project have one.
pub async fn write_missing(
    engine: &LocalEngine,
    component: &ComponentFile,
    file: &Path,
) -> CommandResult {
    let Some(folder) = &component.golden else {
        return Ok(());
    };
    let cases = load_dir(folder).map_err(|error| CommandFailure::new(error.to_string()))?;
    let missing: Vec<Case> = cases
        .into_iter()
        .filter(|case| case.expect.is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let wasm = component.without_cases()?;
    let loaded = engine.load_of(file, "compiling", wasm).await?.loaded;
    for case in missing {
        let case = Arc::new(case);
        let name = &case.name;
        let answer = engine.plugins.answer_case(&loaded, Arc::clone(&case)).await;
        let output = answer.output.map_err(|error| {
            show_failing(name, &answer.usage.log, &error.to_string());
            failed!("the golden case {} fails", safe(name))
        })?;
        if has_no_person(&output) {
            return Err(CommandFailure::new(no_person(name)));
        }
        write_expect(folder, name, &output)
            .map_err(|error| CommandFailure::new(error.to_string()))?;
        complain!(
            "The golden case {} had no expectation: it has this output now. Review {}.",
            safe(name),
            folder.join(name).join("case.json").display()
        );
    }
    Ok(())
}

/// Returns how many golden cases of a project pass, and how many there are.
pub async fn passing(
    engine: &LocalEngine,
    component: &ComponentFile,
    file: &Path,
) -> CommandResult<(usize, usize)> {
    let Some(folder) = &component.golden else {
        return Ok((0, 0));
    };
    let cases = load_dir(folder).map_err(|error| CommandFailure::new(error.to_string()))?;
    let loaded = engine
        .load_of(file, "compiling", component.without_cases()?)
        .await?
        .loaded;
    let (mut passed, all) = (0, cases.len());
    for case in cases.into_iter().filter(|case| case.expect.is_some()) {
        let case = Arc::new(case);
        let answer = engine.plugins.answer_case(&loaded, Arc::clone(&case)).await;
        let is_same = answer
            .output
            .is_ok_and(|output| case.difference(&output).is_none());
        passed += usize::from(is_same);
    }
    Ok((passed, all))
}

struct ChosenCases {
    cases: Vec<Case>,
    /// The folder or the component, for messages.
    origin: String,
    /// The folder, if expectations may be written.
    folder: Option<PathBuf>,
}

fn write_output(
    folder: &Path,
    name: &str,
    output: &Value,
    difference: Option<&str>,
) -> CommandResult<CaseOutcome> {
    write_expect(folder, name, output).map_err(|error| CommandFailure::new(error.to_string()))?;
    match difference {
        Some(difference) => say!("renewed {}\n{}", safe(name), indented(difference)),
        None => say!("wrote {}", safe(name)),
    }
    Ok(CaseOutcome::Written)
}

/// Whether a conversion has items, and none of them has a lead with a name, a phone or an e-mail
/// address, asks for a fetch, or says that nothing is to be done.
fn has_no_person(output: &Value) -> bool {
    let Some(ConversionOutput { items, .. }) = ConversionOutput::from_output(output) else {
        return false;
    };
    let is_without = |item: &Value| {
        let outcome = &item["outcome"];
        let is_empty = |field: &Value| field.as_array().is_none_or(Vec::is_empty);
        let lead = &outcome["lead"];
        if lead.is_object() {
            lead["name"].is_null() && is_empty(&lead["phones"]) && is_empty(&lead["emails"])
        } else {
            outcome["invalid"].is_object()
        }
    };
    !items.is_empty() && items.iter().all(is_without)
}

fn no_person(name: &str) -> String {
    let name = safe(name);
    format!(
        "the golden case {name} yields no lead: it has no name, no phone and no e-mail address. If it should have one, name their places in the converter, by paths such as `deal.ref` or `answers[?question=Nome].answer`, and `leadhost plugin test --renew` writes the output again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_without_a_person_is_recognised() {
        let output = |outcome: Value| json!({ "ok": { "items": [{ "outcome": outcome }] } });
        let lead = |name: Value, phones: Value, emails: Value| {
            output(json!({ "lead": { "name": name, "phones": phones, "emails": emails } }))
        };
        let invalid = output(json!({ "invalid": { "message": "no phone", "path": "" } }));
        for without in [lead(Value::Null, json!([]), json!([])), invalid] {
            assert!(has_no_person(&without), "{without}");
        }
        for other in [
            lead(json!("Ana"), json!([]), json!([])),
            lead(Value::Null, json!(["11900000001"]), json!([])),
            lead(Value::Null, json!([]), json!(["ana@example.com"])),
            output(json!({ "ignored": "a test" })),
            json!({ "ok": { "items": [] } }),
            json!({ "err": { "message": "the body is not valid JSON", "path": "" } }),
        ] {
            assert!(!has_no_person(&other), "{other}");
        }
    }
}
