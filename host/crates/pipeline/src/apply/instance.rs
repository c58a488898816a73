//! The instances of a workspace file. An instance with an adapter is also a channel: a
//! connection of the instance's name, through which its messages are sent and received.
//! Without an adapter, it is only a name, a number and a kind.

use super::binding::{self, AvailablePlugins, Binding};
use super::connection::DeclaredConnection;
use super::names::{LANGUAGE, NUMBER, Unique, is_language, is_number, is_slug};
use super::reader::FileTable;
use crate::prelude::*;
use leadhost_domain::connection::ConnectionSettings;
use leadhost_domain::workspace::AgentKind;
use leadhost_store::PlannedAgent;

/// The fields that only an instance with an adapter has, in addition to the fields of every binding.
const SETTINGS: [&str; 4] = ["unanswered_after", "idle_after", "keep_for", "language"];

/// The upper bound of each of an instance's times: a year, in seconds.
const LONGEST: Duration = Duration::from_hours(366 * 24);

pub(super) fn read_instances(
    file: &FileTable<'_>,
    plugins: &AvailablePlugins,
    language: &str,
) -> (Vec<PlannedAgent>, Vec<DeclaredConnection>) {
    let mut names = Unique::default();
    let mut agents = Vec::new();
    let mut channels = Vec::new();
    for table in file.tables("instances") {
        let mut agent = read_agent(&table, &mut names);
        agent.adapter = table.text("adapter");
        match &agent.adapter {
            Some(adapter) => {
                let named = agent.channel.take();
                let channel = named.unwrap_or_else(|| family(adapter).to_owned());
                channels.push(DeclaredConnection {
                    path: table.here().to_owned(),
                    kind: ConnectionKind::Channel,
                    name: agent.name.clone(),
                    partner: None,
                    agent: Some(agent.name.clone()),
                    binding: Binding::read(
                        &table,
                        "adapter",
                        adapter.clone(),
                        PluginKind::Adapter,
                        plugins,
                    ),
                    dedupe_by_content: false,
                    settings: read_settings(&table, &channel, agent.kind, language),
                });
                agent.channel = Some(channel);
            }
            None => refuse_settings(&table),
        }
        agents.push(agent);
        table.finish();
    }
    (agents, channels)
}

/// Reads a list of instances outside a workspace file: names, numbers and kinds.
pub(super) fn read_agents(file: &FileTable<'_>) -> Vec<PlannedAgent> {
    let mut names = Unique::default();
    file.tables("agents")
        .into_iter()
        .map(|table| {
            let agent = read_agent(&table, &mut names);
            if table.value("adapter").is_some() {
                table.problem("adapter", "can only be declared in the workspace file");
            }
            table.finish();
            agent
        })
        .collect()
}

fn read_agent(table: &FileTable<'_>, names: &mut Unique) -> PlannedAgent {
    let name = table.required_text("name");
    names.take(table, "name", &name);
    let kind = match table.text("kind").as_deref() {
        None | Some("ai") => AgentKind::Ai,
        Some("human") => AgentKind::Human,
        Some(other) => {
            table.problem("kind", format!("`{other}`: expected ai or human"));
            AgentKind::Ai
        }
    };
    PlannedAgent {
        name,
        number: table.matching("number", NUMBER, is_number),
        kind,
        channel: table.matching("channel", CHANNEL, is_channel),
        adapter: None,
        internal: table.flag("internal").unwrap_or(false),
    }
}

const CHANNEL: &str =
    "a channel's name in lower-case letters, digits and hyphens, and neither phone nor email";

/// The name begins the match keys of a channel's contacts, so it must differ from the
/// prefixes of phones and e-mail addresses.
fn is_channel(text: &str) -> bool {
    is_slug(text) && !matches!(text, "phone" | "email")
}

fn read_settings(
    table: &FileTable<'_>,
    channel: &str,
    kind: AgentKind,
    language: &str,
) -> ConnectionSettings {
    let defaults = ConnectionSettings::default();
    let time = |field, default| table.duration(field, LONGEST).unwrap_or(default);
    ConnectionSettings {
        unanswered_after: time("unanswered_after", defaults.unanswered_after),
        idle_after: time("idle_after", defaults.idle_after),
        kept_for: time("keep_for", defaults.kept_for),
        language: table
            .matching("language", LANGUAGE, is_language)
            .unwrap_or_else(|| language.to_owned()),
        channel: channel.to_owned(),
        agent_kind: kind,
        ..defaults
    }
}

/// Refuses fields that would have no effect, so that no operator relies on them.
fn refuse_settings(table: &FileTable<'_>) {
    for field in binding::FIELDS.into_iter().chain(SETTINGS) {
        if table.value(field).is_some() {
            table.problem(
                field,
                "has no effect without `adapter`: an instance without an adapter sends nothing",
            );
        }
    }
}

/// Returns the channel of an adapter: several adapters may lead to one channel.
fn family(adapter: &str) -> &str {
    match adapter {
        "whatsapp-cloud" => "whatsapp",
        other => other,
    }
}
