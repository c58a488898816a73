//! `leadhost plugin doctor`: the toolchains of the languages on this machine, and how to install those that
//! are missing.

use super::language::{Language, LanguageParser};
use super::project;
use super::toolchain::{NEEDS, Need, ToolState};
use crate::cli::prelude::*;

#[derive(Args)]
pub struct Doctor {
    /// Only this language
    #[arg(long, value_name = "LANGUAGE", value_parser = LanguageParser)]
    lang: Option<Language>,
}

impl Doctor {
    pub async fn run(self) -> CommandResult {
        let own = project::read(Path::new(".")).ok();
        let own = own.and_then(|project| project.language());
        let needed = self.lang.or(own);
        let is_asked = |language: &Language| self.lang.is_none_or(|lang| lang == *language);
        let progress = ProgressLine::start("asking the toolchains for their versions");
        let mut rows = Vec::new();
        let mut missing = Vec::new();
        for need in NEEDS {
            let languages = need.languages.iter().copied().filter(is_asked);
            let languages: Vec<&str> = languages.map(Language::title).collect();
            if !languages.is_empty() {
                let finding = need.find().await;
                let is_needed = needed.is_some_and(|one| need.languages.contains(&one));
                if is_needed && matches!(finding, ToolState::Missing(_)) {
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
        let missing = missing.join(", ");
        Err(CommandFailure::new(match self.lang {
            Some(lang) => format!(
                "a project in {} cannot be built without {missing}",
                lang.title()
            ),
            None => format!("the project in this folder cannot be built without {missing}"),
        })
        .hint("the rows above say how to install it"))
    }
}

fn row(languages: &str, need: &Need, finding: ToolState) -> Vec<String> {
    let (found, debian, elsewhere) = match finding {
        ToolState::There(what) => (what, "-", "-"),
        ToolState::Missing(why) => (why, need.debian, need.elsewhere),
    };
    [languages, need.what, &found, debian, elsewhere]
        .map(str::to_owned)
        .to_vec()
}
