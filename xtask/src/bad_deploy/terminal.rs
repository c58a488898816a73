//! The operator's terminal: each command is shown as it is typed, with what it really prints, and
//! each claim is shown when it was checked.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{Context, Failure};
use crate::files;
use crate::service::without_settings;

/// How many characters of the last output a failure repeats.
const SHOWN: usize = 4_000;

pub struct Terminal {
    program: PathBuf,
    folder: PathBuf,
    data: PathBuf,
    claims: Cell<u32>,
    /// The last command with its output, which a claim that does not hold is about.
    last: RefCell<String>,
}

pub struct CommandOutput {
    pub succeeded: bool,
    pub out: String,
    pub err: String,
}

impl Terminal {
    /// Returns a terminal in `folder`, whose commands call the host with the data folder
    /// `data`.
    pub fn new(program: &Path, folder: &Path, data: &Path) -> Self {
        Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            data: data.to_owned(),
            claims: Cell::new(0),
            last: RefCell::default(),
        }
    }

    pub fn chapter(&self, title: &str) {
        println!("\n\n## {title}");
    }

    /// Shows a command line that this task carries out by itself.
    pub fn typed(&self, line: &str) {
        println!("\n$ {line}");
    }

    pub fn shows(&self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            println!("{text}");
        }
    }

    pub fn tries(&self, words: &str) -> Result<CommandOutput, Failure> {
        self.typed(&format!("leadhost {words}"));
        let said = self.call(&words.split(' ').collect::<Vec<_>>())?;
        self.shows(&said.out);
        self.shows(&said.err);
        Ok(said)
    }

    /// Like [`Self::tries`], for a command that has to succeed. Returns its standard output.
    pub fn runs(&self, words: &str) -> Result<String, Failure> {
        let said = self.tries(words)?;
        if said.succeeded {
            Ok(said.out)
        } else {
            Err(Failure::new(format!("`leadhost {words}` failed")))
        }
    }

    /// Runs `leadhost` with these words and its standard output in a file, and shows the rest.
    pub fn saves(&self, words: &str, file: &str) -> Result<CommandOutput, Failure> {
        self.typed(&format!("leadhost {words} > {file}"));
        let said = self.call(&words.split(' ').collect::<Vec<_>>())?;
        let path = self.folder.join(file);
        files::write(&path, &said.out)?;
        self.shows(&said.err);
        Ok(said)
    }

    /// Returns what `leadhost` answers as JSON. Nothing is shown.
    pub fn reads(&self, words: &str) -> Result<Value, Failure> {
        let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
        let said = self.call(&words)?;
        if !said.succeeded {
            let line = words.join(" ");
            let why = said.err.trim_end();
            return Err(Failure::new(format!("`leadhost {line}` failed: {why}")));
        }
        serde_json::from_str(&said.out).context(format!("reading `leadhost {}`", words.join(" ")))
    }

    /// Shows a claim that holds. One that does not hold is the failure of the task.
    pub fn claim(&self, holds: bool, what: &str) -> Result<(), Failure> {
        if !holds {
            let last = self.last.borrow();
            return Err(Failure::new(format!("this does not hold: {what}\n{last}")));
        }
        self.claims.set(self.claims.get() + 1);
        println!("[holds] {what}");
        Ok(())
    }

    pub fn claims(&self) -> u32 {
        self.claims.get()
    }

    fn call(&self, words: &[&str]) -> Result<CommandOutput, Failure> {
        let mut command = Command::new(&self.program);
        without_settings(&mut command);
        let output = command
            .args(words)
            .current_dir(&self.folder)
            .env("LEADHOST_DATA_DIR", &self.data)
            .stdin(Stdio::null())
            .output()
            .context(format!("starting {}", self.program.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let shown: String = out.chars().chain(err.chars()).take(SHOWN).collect();
        *self.last.borrow_mut() = format!("after `leadhost {}`:\n{shown}", words.join(" "));
        Ok(CommandOutput {
            succeeded: output.status.success(),
            out,
            err,
        })
    }
}
