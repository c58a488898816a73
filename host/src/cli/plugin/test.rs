//! `leadhost plugin test`: runs golden cases in the engine of this machine, whatever language the plugin
//! is written in, and writes their expectations.

use clap::ValueEnum;
use leadhost_golden::{Case, load_dir, write_expect};

use super::component_file::{self, ComponentFile, GOLDEN};
use super::local::{ConversionOutput, EngineFlags, LocalEngine};
use super::loss::losses;
use crate::cli::prelude::*;
use leadhost_plugin::{CallError, Loaded};

#[derive(Args)]
pub struct Test {
    /// The component or the core module, or the folder of a project that is built
    #[arg(default_value = ".")]
    file: PathBuf,
    /// The folder of golden cases [default: golden in the project's folder or in the current one; without it, the cases in the component]
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    /// Write the output into the cases that have no expectation
    #[arg(long)]
    write: bool,
    /// Also replace the expectations that differ, and show each difference
    #[arg(long)]
    renew: bool,
    /// Replace also those whose new output lacks a field, or is refused or a lead where it was not
    #[arg(long, value_name = "WHAT", requires = "renew")]
    accept: Option<Acceptance>,
    /// Write the output even if a source was changed after the build
    #[arg(long)]
    stale: bool,
    /// The service's configuration file, for the limits of plugins
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    service_config: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum Acceptance {
    /// The new output of a case lacks what the expected one has
    LostFields,
}

impl Test {
    pub async fn run(self) -> CommandResult {
        // What is written must be what the sources do.
        let stale = self.stale || !(self.write || self.renew);
        let component = component_file::read_current(&self.file, stale)?;
        let chosen = self.choose(&component)?;
        let engine = self.engine.start(self.service_config.as_deref())?;
        let wasm = component.without_cases()?;
        let loaded = engine.load_of(&self.file, "compiling", wasm).await?.loaded;
        self.engine.show(&engine);
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
        let command = component_file::test_command(&self.file, self.golden.as_deref());
        tally.conclude(&chosen.origin, &command)
    }

    fn choose(&self, component: &ComponentFile) -> CommandResult<ChosenCases> {
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
        let file = self.file.display();
        if self.write || self.renew {
            return Err(CommandFailure::usage(
                "there is no folder of golden cases in which to write expectations",
            )
            .hint("name it with --golden DIR"));
        }
        let carried = component.carried_cases()?;
        let cases = carried.ok_or_else(|| {
            failed!("{file} carries no golden cases")
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
                Ok(match lost.is_empty() {
                    true => CaseOutcome::Differs,
                    false => CaseOutcome::Loses,
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

enum CaseOutcome {
    Passed,
    /// Its expectation is new.
    Written,
    /// The output is not the expected one.
    Differs,
    /// It also lacks what the expected one has.
    Loses,
    /// There is no output, or no expectation.
    Failed,
    /// It ran out of time.
    Late,
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
        match lead.is_object() {
            true => {
                lead["name"].is_null() && is_empty(&lead["phones"]) && is_empty(&lead["emails"])
            }
            false => outcome["invalid"].is_object(),
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

/// The crashes of a run. Only the first of several that are alike is shown: a plugin that crashes often
/// does so with every body.
#[derive(Default)]
struct Crashes(Vec<Crash>);

struct Crash {
    name: String,
    log: Vec<String>,
    what: String,
    /// The cases with such a crash after it.
    alike: Vec<String>,
}

impl Crashes {
    fn add(&mut self, name: &str, log: Vec<String>, what: String) {
        let mut known = self.0.iter_mut();
        let known = known.find(|crash| is_alike((&crash.log, &crash.what), (&log, &what)));
        match known {
            Some(crash) => crash.alike.push(name.to_owned()),
            None => {
                show_failing(name, &log, &what);
                self.0.push(Crash {
                    name: name.to_owned(),
                    log,
                    what,
                    alike: Vec::new(),
                });
            }
        }
    }

    fn conclude(&self) {
        for Crash { name, alike, .. } in self.0.iter().filter(|crash| !crash.alike.is_empty()) {
            complain_line!("FAILED in the same way as {name}: {}", alike.join(", "));
        }
    }
}

/// Differences in full: those of more cases are often the same mistake.
const SHOWN: usize = 3;

/// The outputs of a run that are not the expected ones.
#[derive(Default)]
pub struct Differences {
    shown: usize,
    /// The names of the others.
    others: Vec<String>,
}

impl Differences {
    /// Shows a difference, if not enough are. `lost`: what the output lacks, which is always shown.
    pub fn add(&mut self, name: &str, log: &[String], difference: &str, lost: &[String]) {
        let lost: String = lost.iter().map(|lost| format!("lost: {lost}\n")).collect();
        if self.shown < SHOWN {
            self.shown += 1;
            return show_failing(name, log, &format!("{lost}{difference}"));
        }
        match lost.is_empty() {
            true => self.others.push(name.to_owned()),
            false => show_failing(name, &[], lost.trim_end()),
        }
    }

    pub fn conclude(&self) {
        if !self.others.is_empty() {
            let count = self.others.len();
            complain_line!("FAILED as well, {count}: {}", self.others.join(", "));
        }
    }
}

/// Whether two cases failed in the same way, given the log and the failure of each. Hexadecimal numbers
/// do not count: an address in memory is another one in each call.
pub fn is_alike(one: (&[String], &str), other: (&[String], &str)) -> bool {
    let is_same = |one: &str, other: &str| without_hexadecimal(one) == without_hexadecimal(other);
    let mut logs = one.0.iter().zip(other.0);
    is_same(one.1, other.1)
        && one.0.len() == other.0.len()
        && logs.all(|(one, other)| is_same(one, other))
}

/// Returns a text with `0x` in place of each hexadecimal number.
fn without_hexadecimal(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "0x";
        out += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out
}

/// Shows a failing case: first what the plugin wrote, which often says more than the rest.
pub fn show_failing(name: &str, log: &[String], what: &str) {
    let mut lines = vec![format!("FAILED {}", safe(name))];
    lines.extend(log.iter().map(|line| format!("  plugin: {}", safe(line))));
    lines.push(indented(what));
    complain(&lines.join("\n"));
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("  {}", safe(line)))
        .collect();
    lines.join("\n")
}

#[derive(Default)]
struct TestTally {
    passed: u64,
    written: u64,
    differing: u64,
    losing: u64,
    failed: u64,
    /// Those that ran out of time, and those that were not run after them.
    late: u64,
    untried: u64,
}

impl TestTally {
    fn add(&mut self, outcome: CaseOutcome) {
        match outcome {
            CaseOutcome::Passed => self.passed += 1,
            CaseOutcome::Written => self.written += 1,
            CaseOutcome::Differs => self.differing += 1,
            CaseOutcome::Loses => self.losing += 1,
            CaseOutcome::Failed => self.failed += 1,
            CaseOutcome::Late => self.late += 1,
        }
    }

    /// Says what passed. It is a failure if a case did not; `command` makes the same test again.
    fn conclude(&self, origin: &str, command: &str) -> CommandResult {
        let failing = self.differing + self.losing + self.failed + self.late;
        let all = self.passed + self.written + failing + self.untried;
        let cases = |number: u64| count(number, "golden case", "golden cases");
        if failing > 0 {
            let mut said = format!("{failing} of {} of {origin} fail", cases(all));
            if self.untried > 0 {
                said += &format!("; {} after the slow ones were not run", self.untried);
            }
            let failure = CommandFailure::new(said);
            let failure = match self.losing {
                0 => failure,
                _ => failure.hint(format!(
                    "{} fields, or a refusal instead of a lead or the other way round: rather a mistake of the plugin. If it is meant, `{command} --renew --accept lost-fields`",
                    count(self.losing, "case has lost", "cases have lost")
                )),
            };
            return Err(match self.differing {
                0 => failure,
                _ => failure.also(&format!(
                    "where the new output is right, `{command} --renew` makes it the expected one"
                )),
            });
        }
        let mut said = format!("{} of {origin} passed", cases(self.passed));
        if self.written > 0 {
            said += &format!(
                "; this output is now expected of {}: review it",
                cases(self.written)
            );
        }
        say!("{said}.");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_that_differ_only_in_addresses_are_shown_once() {
        let log = |text: &str| vec![text.to_owned()];
        let mut crashes = Crashes::default();
        let trap = || "wasm trap: unreachable".to_owned();
        crashes.add("one", log("<Form object at 0x7f0a1B>"), trap());
        crashes.add("two", log("<Form object at 0x66>"), trap());
        crashes.add("three", log("<Lead object at 0x66>"), trap());
        crashes.add("four", Vec::new(), trap());
        let shown = crashes
            .0
            .iter()
            .map(|crash| (crash.name.as_str(), crash.alike.len()));
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown, [("one", 1), ("three", 0), ("four", 0)]);
        assert_eq!(
            without_hexadecimal("a 0x1f, 0x and 0xg"),
            "a 0x, 0x and 0xg"
        );
    }

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
