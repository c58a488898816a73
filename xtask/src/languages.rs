//! The projects that `leadhost plugin new` writes: each is made, built by the commands that `new` prints,
//! and tested, by its own unit tests and by its golden cases in the service's engine. Then the examples
//! in the languages that have no template.

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
const KEPT: [&str; 2] = [".leadhost-tools", "target"];

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
    /// The commands of its unit tests, as its README has them.
    tests: &'static [&'static str],
}

const fn language(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    ensure: fn(Install) -> Result<Toolchain, Failure>,
    tests: &'static [&'static str],
) -> Language {
    Language {
        name,
        title,
        source,
        ensure,
        tests,
    }
}

#[rustfmt::skip]
const LANGUAGES: [Language; 5] = [
    language("rust", "Rust", "src/lib.rs", toolchain::rust, &["cargo test --locked --quiet"]),
    language("typescript", "TypeScript", "src/KIND.ts", toolchain::node, &["npm run check", "npm test"]),
    language("javascript", "JavaScript", "src/KIND.js", toolchain::node, &["npm test"]),
    language("python", "Python", "KIND.py", toolchain::python, &["python3 -m unittest discover -t . tests"]),
    language("go", "Go", "KIND.go", toolchain::go, &["go vet . ./leadhost", "go test . ./leadhost"]),
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
    for project in projects("converter").chain(projects("adapter")) {
        let name = format!("the {} in {}", project.kind, project.language.title);
        tally.add(&name, (project.language.ensure)(install), |toolchain| {
            let made = Made::new(&project, &program, toolchain, Former::Kept)?;
            made.build()?;
            made.test()
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
        let folder = folder().join(&name);
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

    fn test(&self) -> Result<(), Failure> {
        for line in self.project.language.tests {
            self.shell(line)?;
        }
        let mut command = self.leadhost(&["plugin", "test", "."]);
        process::run_within(&mut command, PATIENCE)
    }

    /// Runs a line of the shell in the project, with its toolchain.
    fn shell(&self, line: &str) -> Result<(), Failure> {
        let mut command = Command::new("sh");
        // The command takes the shell's place, so that it is the one which is ended.
        command
            .current_dir(&self.folder)
            .arg("-c")
            .arg(format!("exec {line}"));
        xtask::cargo::forget_own_package(&mut command);
        command.env_remove("CARGO_TARGET_DIR").env_remove(LINTER);
        command.envs(self.toolchain.variables());
        process::run_within(&mut command, PATIENCE)
    }

    fn leadhost(&self, arguments: &[&str]) -> Command {
        leadhost(self.program, &self.folder, arguments)
    }
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

/// The commands between `cd NAME` and those of `leadhost`.
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
