//! The SDKs, by their own tests, and the projects that `leadhost plugin new` writes with them: each is made,
//! built by the commands that `new` prints, and answers its golden cases in the service's engine. A converter
//! is also made of each shared sample: its golden case has what the program itself makes of it, so all SDKs
//! read alike. Then the examples in the languages that have no template.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use xtask::cargo::LINTER;

use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{files, process, repository, run};

mod edit;
mod examples;
pub mod measure;
mod toolchain;

use toolchain::Toolchain;

/// The longest that one command may take: it may download a compiler's packages, and compile on one
/// slow core.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// What builds leave in a project and a later build uses again.
const KEPT: [&str; 3] = [".venv", "node_modules", "target"];

/// What all SDKs have to read alike, and answer alike.
const SAMPLES: &str = "sdk-guest/cases/samples";
const ADAPTER_CASES: &str = "sdk-guest/cases/adapter";

/// Converters in interpreted languages with functions that do not end. The names of those in the others are in
/// the component.
const ENDLESS: &str = "sdk-guest/cases/endless";
const ENDLESS_FUNCTIONS: [&str; 3] = ["spin", "descend", "fill"];

/// What the one in TypeScript makes of its loops and functions, which the build of the SDK counts.
const FORMS: &str = "1 3 a 12 11 9 2 ";

struct Project {
    language: &'static Language,
    kind: &'static str,
}

struct Language {
    /// As `--lang` takes it.
    name: &'static str,
    /// As in the title of its page.
    title: &'static str,
    /// The source file whose `describe` has the summary; `KIND` stands for the kind.
    source: &'static str,
    ensure: fn(Install) -> Result<Toolchain, Failure>,
    /// The folder of its SDK and the commands of its tests; the SDK in Rust has unit tests.
    sdk: Option<(&'static str, &'static [&'static str])>,
    /// The commands that check a project, as its continuous integration has them.
    checks: &'static [&'static str],
}

const fn language(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    ensure: fn(Install) -> Result<Toolchain, Failure>,
    sdk: Option<(&'static str, &'static [&'static str])>,
    checks: &'static [&'static str],
) -> Language {
    Language {
        name,
        title,
        source,
        ensure,
        sdk,
        checks,
    }
}

#[rustfmt::skip]
const LANGUAGES: [Language; 4] = [
    language("rust", "Rust", "src/lib.rs", toolchain::rust, None, &["cargo clippy --locked -- -D warnings"]),
    language(
        "typescript", "TypeScript", "src/KIND.ts", toolchain::node,
        Some(("sdk-guest/typescript", &["npm test"])), &["npm run check"],
    ),
    language(
        "python", "Python", "KIND.py", toolchain::python,
        Some(("sdk-guest/python", &["python3 -m unittest discover -t . tests"])), &[],
    ),
    language(
        "go", "Go", "KIND.go", toolchain::go,
        Some(("sdk-guest/go", &["go vet ./...", "go test ./..."])), &["go vet ./..."],
    ),
];

fn projects(kind: &'static str) -> impl Iterator<Item = Project> {
    LANGUAGES
        .iter()
        .map(move |language| Project { language, kind })
}

/// Makes, builds and tests every project and every example. Returns a sentence for each whose
/// toolchain is missing and may not be installed.
pub fn test(install: Install) -> Result<Vec<String>, Failure> {
    let program = run::build_program("dev")?;
    let mut tally = Tally::default();
    for language in &LANGUAGES {
        if let Some((folder, commands)) = language.sdk {
            let name = format!("the SDK in {}", language.title);
            tally.add(&name, (language.ensure)(install), |toolchain| {
                let folder = repository::root().join(folder);
                let mut commands = commands.iter();
                commands.try_for_each(|line| shell(&folder, line, toolchain))
            });
        }
    }
    for project in projects("converter").chain(projects("adapter")) {
        let name = format!("the {} in {}", project.kind, project.language.title);
        tally.add(&name, (project.language.ensure)(install), |toolchain| {
            let made = Made::new(&project, &program, toolchain, Former::Kept)?;
            made.build()?;
            made.test()?;
            match project.kind {
                "adapter" => made.answers_every_case(),
                _ => {
                    made.reads_every_sample()?;
                    made.names_what_does_not_end()
                }
            }
        });
    }
    for example in &examples::EXAMPLES {
        tally.add(example.folder, (example.ensure)(install), |toolchain| {
            example.test(&program, toolchain)
        });
    }
    tally.judge()
}

#[derive(Default)]
struct Tally {
    left_out: Vec<String>,
    failed: Vec<String>,
}

impl Tally {
    fn add(
        &mut self,
        name: &str,
        toolchain: Result<Toolchain, Failure>,
        test: impl FnOnce(&Toolchain) -> Result<(), Failure>,
    ) {
        let toolchain = match toolchain {
            Ok(toolchain) => toolchain,
            Err(missing) => return self.left_out.push(format!("{name}: {missing}")),
        };
        if let Err(failure) = test(&toolchain) {
            self.failed.push(format!("{name}: {failure}"));
        }
    }

    fn judge(self) -> Result<Vec<String>, Failure> {
        if self.failed.is_empty() {
            return Ok(self.left_out);
        }
        Err(Failure::new(self.failed.join("\n")).hint(
            "host/templates/plugin has the templates; the projects are in target/languages, so the commands above can be run again",
        ))
    }
}

/// What happens to the build output of the former run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Former {
    Kept,
    Removed,
}

struct Made<'a> {
    project: &'a Project,
    program: &'a Path,
    toolchain: &'a Toolchain,
    folder: PathBuf,
    /// The commands that build it, as `new` printed them.
    build: Vec<String>,
}

impl<'a> Made<'a> {
    fn new(
        project: &'a Project,
        program: &'a Path,
        toolchain: &'a Toolchain,
        former: Former,
    ) -> Result<Self, Failure> {
        let name = format!("sample-{}-{}", project.kind, project.language.name);
        let folder = self::folder().join(&name);
        let before = self::folder().join(format!(".{name}.before"));
        files::remove_folder(&before)?;
        if folder.exists() {
            fs::rename(&folder, &before).context(format!("moving {}", folder.display()))?;
        }
        fs::create_dir_all(self::folder()).context("creating target/languages")?;
        let said = process::output(
            Command::new(program)
                .current_dir(self::folder())
                .args(["plugin", "new", &name])
                .args(["--lang", project.language.name, "--kind", project.kind]),
        )?;
        for part in KEPT {
            let kept = before.join(part);
            if former == Former::Kept && kept.exists() {
                fs::rename(&kept, folder.join(part))
                    .context(format!("moving {}", kept.display()))?;
            }
        }
        files::remove_folder(&before)?;
        let build = build_commands(&said, &name);
        if build.is_empty() {
            return Err(Failure::new(format!(
                "`leadhost plugin new` printed no commands that build {name}:\n{said}"
            )));
        }
        Ok(Self {
            project,
            program,
            toolchain,
            folder,
            build,
        })
    }

    fn build(&self) -> Result<(), Failure> {
        self.build.iter().try_for_each(|line| self.shell(line))
    }

    /// Runs the golden cases of the project, with those that all adapters share.
    fn answers_every_case(&self) -> Result<(), Failure> {
        let cases = repository::root().join(ADAPTER_CASES);
        let cases = cases.to_string_lossy();
        let mut command = self.leadhost(&["plugin", "test", ".", "--golden", &cases]);
        process::run_within(&mut command, PATIENCE)
    }

    /// Puts the source and the golden cases of each sample into the project, builds it, and runs them.
    fn reads_every_sample(&self) -> Result<(), Failure> {
        let samples = repository::root().join(SAMPLES);
        let samples = fs::read_dir(&samples).context(format!("reading {SAMPLES}"))?;
        let other = folder().join(".sample");
        let source = self
            .project
            .language
            .source
            .replace("KIND", self.project.kind);
        for sample in samples {
            let sample = sample.context(format!("reading {SAMPLES}"))?.path();
            files::remove_folder(&other)?;
            let mut new = Command::new(self.program);
            new.args(["plugin", "new", &self.name(), "--raw"]);
            new.args(["--lang", self.project.language.name]);
            process::output(new.arg("--sample").arg(&sample).arg("--dir").arg(&other))?;
            files::remove_folder(self.folder.join("golden"))?;
            for part in ["golden", &source] {
                fs::rename(other.join(part), self.folder.join(part))
                    .context(format!("moving {part} of {}", sample.display()))?;
            }
            let failed =
                |failure: Failure| Failure::new(format!("{}: {failure}", sample.display()));
            self.rebuild().map_err(failed)?;
            let mut command = self.leadhost(&["plugin", "test", "."]);
            process::run_within(&mut command, PATIENCE).map_err(failed)?;
        }
        Ok(())
    }

    /// Each function that does not end is named with its file: by the log, or by the error.
    fn names_what_does_not_end(&self) -> Result<(), Failure> {
        let source = self.project.language.source.replace("KIND", "converter");
        let file = Path::new(&source).file_name().unwrap_or_default();
        let endless = repository::root().join(ENDLESS).join(file);
        if !endless.exists() {
            return Ok(());
        }
        fs::copy(&endless, self.folder.join(&source)).context(format!("copying {source}"))?;
        self.rebuild()?;
        let body = self.folder.join("body.json");
        let run = |what: &str| {
            fs::write(&body, format!("{{\"do\": \"{what}\"}}")).context("writing body.json")?;
            let mut run = self.leadhost(&["plugin", "run", ".", "body.json"]);
            run.output().context("running the plugin")
        };
        for function in ENDLESS_FUNCTIONS {
            let output = run(function)?;
            let said = String::from_utf8_lossy(&output.stderr);
            let is_named = |line: &str| line.contains(function) && line.contains(source.as_str());
            if output.status.success() || !said.lines().any(is_named) {
                return Err(Failure::new(format!("{function} is not named:\n{said}")));
            }
        }
        let ended = run("")?;
        let said = String::from_utf8_lossy(&ended.stdout);
        let is_right = said.contains(FORMS) || self.project.language.name != "typescript";
        if ended.status.success() && is_right {
            Ok(())
        } else {
            Err(Failure::new(format!(
                "{source} made something else:\n{said}"
            )))
        }
    }

    fn test(&self) -> Result<(), Failure> {
        for line in self.project.language.checks {
            self.shell(line)?;
        }
        let mut command = self.leadhost(&["plugin", "test", "."]);
        process::run_within(&mut command, PATIENCE)
    }

    fn name(&self) -> String {
        format!(
            "sample-{}-{}",
            self.project.kind, self.project.language.name
        )
    }

    /// Builds it again: what sets it up is done.
    fn rebuild(&self) -> Result<(), Failure> {
        let file = files::text(self.folder.join("leadhost.toml"))?;
        let (_, build) = file
            .split_once("\nbuild = ")
            .ok_or_else(|| Failure::new("no build"))?;
        let is_of_build = |line: &&String| build.contains(line.as_str());
        self.build
            .iter()
            .filter(is_of_build)
            .try_for_each(|line| self.shell(line))
    }

    fn shell(&self, line: &str) -> Result<(), Failure> {
        shell(&self.folder, line, self.toolchain)
    }

    fn leadhost(&self, arguments: &[&str]) -> Command {
        leadhost(self.program, &self.folder, arguments)
    }
}

/// Runs a command in a folder, with its toolchain.
fn shell(folder: &Path, line: &str, toolchain: &Toolchain) -> Result<(), Failure> {
    let mut command = Command::new("sh");
    // The command takes the shell's place, so that it is the one which is ended.
    command
        .current_dir(folder)
        .arg("-c")
        .arg(format!("exec {line}"));
    xtask::cargo::forget_own_package(&mut command);
    command.env_remove("CARGO_TARGET_DIR").env_remove(LINTER);
    command.envs(toolchain.variables());
    process::run_within(&mut command, PATIENCE)
}

/// The program in a folder; the compiled code stays in the build folder.
fn leadhost(program: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(arguments)
        .env("LEADHOST_CACHE_DIR", self::folder().join("compiled"));
    command
}

/// The commands between `cd NAME` and the `leadhost` commands.
fn build_commands(said: &str, name: &str) -> Vec<String> {
    let enter = format!("cd {name}");
    let lines = said.lines().map(str::trim);
    lines
        .skip_while(|line| **line != enter)
        .skip(1)
        .take_while(|line| !line.is_empty() && !line.starts_with("leadhost "))
        .map(str::to_owned)
        .collect()
}

fn folder() -> PathBuf {
    repository::target().join("languages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_built() {
        let templates = repository::root().join("host/templates/plugin");
        let mut folders: Vec<String> = fs::read_dir(templates)
            .expect("the templates are there")
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        folders.sort();
        let name = |project: Project| match project.kind {
            "adapter" => format!("{}-adapter", project.language.name),
            _ => project.language.name.to_owned(),
        };
        let mut built: Vec<String> = projects("converter")
            .chain(projects("adapter"))
            .map(name)
            .collect();
        built.sort();
        assert_eq!(built, folders);
    }

    #[test]
    fn the_commands_are_those_between_the_folder_and_the_program() {
        let said =
            "Wrote it. Next:\n\n  cd x\n  npm ci\n  npm run build\n  leadhost plugin test .\n";
        assert_eq!(build_commands(said, "x"), ["npm ci", "npm run build"]);
        assert!(build_commands("Wrote it.", "x").is_empty());
    }
}
