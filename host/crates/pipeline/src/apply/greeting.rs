//! `[connections.greeting]`: the template message for a new lead of a source, and the
//! instance that sends it. Its parameters may contain words that stand for values of the
//! lead.

use serde_json::Value;

use super::names::{LANGUAGE, is_language, known_instance};
use super::reader::{FileTable, kind};
use crate::greeting::unknown_word;
use leadhost_domain::connection::Greeting;
use leadhost_domain::text;
use leadhost_domain::workspace::Agent;
use leadhost_store::PlannedAgent;

/// Reads the greeting of a connection. Returns `None` if it is absent, or, with a problem, if
/// it is not a table.
pub(super) fn read(
    table: &FileTable<'_>,
    agents: &[PlannedAgent],
    stored: &[Agent],
) -> Option<Greeting> {
    let table = table.table("greeting")?;
    let instance = table.required_text("instance");
    if !instance.is_empty() {
        known_instance(&table, &instance, agents, stored);
        let declared = agents.iter().find(|agent| agent.name == instance);
        let stored = stored.iter().find(|agent| agent.name == instance);
        let adapter = match declared {
            Some(declared) => Some(&declared.adapter),
            None => stored.map(|stored| &stored.adapter),
        };
        if adapter.is_some_and(Option::is_none) {
            table.problem(
                "instance",
                format!("`{instance}` has no `adapter`: it cannot send a greeting"),
            );
        }
    }
    let greeting = Greeting {
        instance,
        template: table.required_text("template"),
        language: table.matching("language", LANGUAGE, is_language),
        parameters: read_parameters(&table),
        transfer: table.flag("transfer").unwrap_or(true),
    };
    table.finish();
    Some(greeting)
}

fn read_parameters(table: &FileTable<'_>) -> Vec<String> {
    table
        .list("parameters")
        .into_iter()
        .filter_map(|(path, entry)| match entry {
            Value::String(text) => {
                let problem = match unknown_word(text) {
                    Some(word) => Some(format!(
                        "`{{{word}}}` is not a known word; the words are {}",
                        crate::greeting::WORDS
                            .map(|word| format!("{{{word}}}"))
                            .join(", ")
                    )),
                    None if text::seen(text).is_empty() => Some(
                        "expected a text with more than white space, which channels refuse"
                            .to_owned(),
                    ),
                    None => None,
                };
                if let Some(problem) = problem {
                    table.problems().add(path, problem);
                }
                Some(text.clone())
            }
            other => {
                let found = kind(other);
                table
                    .problems()
                    .add(path, format!("expected a text, found {found}"));
                None
            }
        })
        .collect()
}
