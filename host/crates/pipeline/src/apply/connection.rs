//! The connections of a workspace file, sources and channels, and how sources are read. A
//! channel is read with its instance.

use super::binding::{AvailablePlugins, Binding};
use super::greeting;
use super::names::{Unique, known, known_instance};
use super::reader::FileTable;
use leadhost_domain::connection::{ANY_ORIGIN, ConnectionKind, ConnectionSettings};
use leadhost_domain::exchange::UrlScheme;
use leadhost_domain::plugin::PluginKind;
use leadhost_domain::workspace::Agent;
use leadhost_store::PlannedAgent;

#[derive(Debug)]
pub struct DeclaredConnection {
    /// The path in the file: `connections[0]`.
    pub path: String,
    pub kind: ConnectionKind,
    pub name: String,
    /// Sources only.
    pub partner: Option<String>,
    pub agent: Option<String>,
    pub binding: Binding,
    pub dedupe_by_content: bool,
    pub settings: ConnectionSettings,
}

/// Reads the sources of the file. Problems are added to `file`; a wrong field is read as a
/// placeholder. `stored` are the instances that the workspace has already.
pub(super) fn read_sources(
    file: &FileTable<'_>,
    plugins: &AvailablePlugins,
    partners: &[String],
    agents: &[PlannedAgent],
    stored: &[Agent],
) -> Vec<DeclaredConnection> {
    let mut names = Unique::default();
    file.tables("connections")
        .into_iter()
        .map(|table| {
            let name = table.required_text("name");
            names.take(&table, "name", &name);
            let partner = table.required_text("partner");
            if !partner.is_empty() {
                known(&table, "partner", &partner, "partner", partners);
            }
            let agent = table.text("instance");
            if let Some(agent) = &agent {
                known_instance(&table, agent, agents, stored);
            }
            let plugin = table.required_text("plugin");
            let connection = DeclaredConnection {
                path: table.here().to_owned(),
                kind: ConnectionKind::Source,
                name,
                partner: Some(partner),
                agent,
                binding: Binding::read(&table, "plugin", plugin, PluginKind::Converter, plugins),
                dedupe_by_content: table.flag("dedupe_by_content").unwrap_or(true),
                settings: ConnectionSettings {
                    greeting: greeting::read(&table, agents, stored),
                    origins: read_origins(&table),
                    retired: table.flag("retired").unwrap_or(false),
                    ..ConnectionSettings::default()
                },
            };
            table.finish();
            connection
        })
        .collect()
}

/// Reads origins in the form that browsers use: no path, and the port only if it is not the
/// default.
fn read_origins(table: &FileTable<'_>) -> Vec<String> {
    let mut origins = Vec::new();
    for (path, entry) in table.list("origins") {
        match entry.as_str() {
            Some(text) if text == ANY_ORIGIN || is_origin(text) => origins.push(text.to_owned()),
            _ => table.problems().add(
                path,
                "expected an origin such as \"https://www.example.com\", or \"*\" for all"
                    .to_owned(),
            ),
        }
    }
    origins
}

fn is_origin(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| {
        url.scheme().parse::<UrlScheme>().is_ok() && url.origin().ascii_serialization() == text
    })
}
