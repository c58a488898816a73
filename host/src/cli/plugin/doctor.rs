//! `leadhost plugin doctor`: the toolchains of the languages on this machine, and how to install those that
//! are missing.

use std::path::Path;

use clap::Args;

use super::language::Language;
use super::project;
use super::toolchain::{Finding, NEEDS, Need};
use crate::cli::failure::CommandFailure;
use crate::cli::output::say;
use crate::cli::progress::ProgressLine;
use crate::cli::table::table;

#[derive(Args)]
pub struct Doctor {
    /// Only this language
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<Language>,
}

impl Doctor {
    /// Prints a row for each thing that the template of a language needs.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if something is missing that the project in the current folder needs.
    /// Anything else that is missing is no failure: a person needs few of the languages.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let own = project::read(Path::new(".")).ok();
        let own = own.and_then(|project| project.language());
        let is_asked = |language: &Language| self.lang.is_none_or(|lang| lang == *language);
        let progress = ProgressLine::start("asking the toolchains for their versions");
        let mut rows = Vec::new();
        let mut missing = Vec::new();
        for need in &NEEDS {
            let languages = need.languages.iter().copied().filter(is_asked);
            let languages: Vec<&str> = languages.map(Language::title).collect();
            if !languages.is_empty() {
                let finding = need.find().await;
                let is_own = own.is_some_and(|own| need.languages.contains(&own));
                if is_own && matches!(finding, Finding::Missing(_)) {
                    missing.push(need.what);
                }
                rows.push(row(&languages.join(", "), need, finding));
            }
        }
        drop(progress);
        say(&table(
            &["LANGUAGE", "NEEDS", "FOUND", "ON DEBIAN", "ELSEWHERE"],
            &rows,
        ));
        if missing.is_empty() {
            return Ok(());
        }
        Err(CommandFailure::new(format!(
            "the project in this folder cannot be built without {}",
            missing.join(", ")
        ))
        .hint("the rows above say how to install it"))
    }
}

fn row(languages: &str, need: &Need, finding: Finding) -> Vec<String> {
    let (found, debian, elsewhere) = match finding {
        Finding::There(what) => (what, "-", "-"),
        Finding::Missing(why) => (why, need.debian, need.elsewhere),
    };
    [languages, need.what, &found, debian, elsewhere]
        .map(str::to_owned)
        .to_vec()
}
