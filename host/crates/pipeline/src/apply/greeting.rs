//! `[connections.greeting]`: the template message for a new lead of a source, and the
//! instance that sends it. Its parameters may contain words that stand for values of the
//! lead.

use super::declaration::Declaration;

use super::names::{LANGUAGE, is_language, known_instance};
use super::reader::{FileTable, kind};
use crate::greeting::unknown_word;
use crate::prelude::*;
use crate::templates;
use crate::templates::requested::{PlaceholderValues, TemplateUse};
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

/// Checks the templates of greetings against the lists of their instances, which are asked for again before a
/// template is missed. Returns the problems of new greetings, and the warnings: a template that has since gone
/// holds back no other change, and without a list nothing is known.
pub(super) async fn check(
    pipeline: &Arc<Pipeline>,
    declaration: &Declaration,
    before: &[Connection],
) -> Result<(Vec<InputProblem>, Vec<InputProblem>), StoreError> {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    for connection in &declaration.connections {
        let Some(greeting) = &connection.settings.greeting else {
            continue;
        };
        let of = |kind, name: &str| {
            let mut before = before.iter();
            before.find(|one| one.kind == kind && one.name == name)
        };
        let path = format!("{}.greeting.template", connection.path);
        let (template, instance) = (&greeting.template, &greeting.instance);
        let unknown = InputProblem {
            path: path.clone(),
            message: format!(
                "the templates of `{instance}` are not known yet, so nothing says whether `{template}` exists: apply the file again after `instance sync-templates`"
            ),
        };
        let channel = of(ConnectionKind::Channel, instance).filter(|channel| {
            // With another configuration, the adapter may list other templates.
            let parsed = |config: &str| serde_json::from_str::<Value>(config).ok();
            let mut declared = declaration.connections.iter();
            declared.all(|one| {
                let is_it = one.kind == ConnectionKind::Channel && one.name == *instance;
                !is_it || parsed(&one.binding.config) == parsed(&channel.config)
            })
        });
        let live = match channel {
            Some(channel) => pipeline.connections.get(&channel.id).await,
            None => Ok(None),
        };
        // An instance whose secrets cannot be read has a problem of its own.
        let Ok(Some(live)) = live else {
            warnings.push(unknown);
            continue;
        };
        let wanted = TemplateUse {
            name: template.clone(),
            language: greeting.language.clone(),
            parts: PlaceholderValues::Body(greeting.parameters.clone()),
        };
        let known = of(connection.kind, &connection.name);
        let is_new = known.and_then(|known| known.settings.greeting.as_ref()) != Some(greeting);
        match templates::prepare(pipeline, &live, &wanted).await? {
            Err(error) => {
                let message = format!("`{instance}` cannot send it: {error}");
                let to = if is_new { &mut problems } else { &mut warnings };
                to.push(InputProblem { path, message });
            }
            Ok(_) if !templates::are_known(pipeline, &live).await? => warnings.push(unknown),
            Ok(_) => {}
        }
    }
    Ok((problems, warnings))
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
