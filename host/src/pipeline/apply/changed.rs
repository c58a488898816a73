//! The connections that are not as a plan declares them: the fields that differ and the secrets
//! that the plan leaves out, by name and without any value.

use serde_json::Value;

use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::workspace::PartKind;
use crate::seal::Sealer;
use crate::store::{Applied, Plan, PlannedConnection};

/// A connection that existed before and was not as declared.
#[derive(Debug, PartialEq, Eq)]
pub struct ChangedConnection {
    /// A connection, or the channel of an instance.
    pub kind: PartKind,
    pub name: String,
    /// The keys of the workspace file whose values differ.
    pub fields: Vec<&'static str>,
    /// The secrets that it had and the plan leaves out.
    pub removed_secrets: Vec<String>,
}

/// Compares the connections of a plan with those `before`. New connections are left out.
/// `applied` has the ids of the partners and instances that the plan names.
pub(super) fn changed_connections(
    plan: &Plan,
    applied: &Applied,
    before: &[Connection],
    sealer: &Sealer,
) -> Vec<ChangedConnection> {
    let mut changed = Vec::new();
    for planned in &plan.connections {
        let known = before
            .iter()
            .find(|one| one.kind == planned.kind && one.name == planned.name);
        let Some(known) = known else {
            continue;
        };
        let fields = differing(plan, planned, applied, known, sealer);
        if fields.is_empty() {
            continue;
        }
        let is_left_out = |name: &&String| !planned.secrets.contains(*name);
        changed.push(ChangedConnection {
            kind: match planned.kind {
                ConnectionKind::Source => PartKind::Connection,
                ConnectionKind::Channel => PartKind::Channel,
            },
            name: planned.name.clone(),
            fields,
            removed_secrets: known.secrets.iter().filter(is_left_out).cloned().collect(),
        });
    }
    changed
}

/// Returns the keys of the workspace file whose values differ from those of `known`.
fn differing(
    plan: &Plan,
    planned: &PlannedConnection,
    applied: &Applied,
    known: &Connection,
    sealer: &Sealer,
) -> Vec<&'static str> {
    let plugin = match planned.kind {
        ConnectionKind::Source => "plugin",
        ConnectionKind::Channel => "adapter",
    };
    let partner = planned.partner.as_ref();
    let partner = partner.and_then(|name| applied.partners.get(name));
    let agent = planned.agent.as_ref();
    let agent = agent.and_then(|name| applied.instances.get(name));
    let region = planned.region.as_ref().unwrap_or(&plan.region);
    let time_zone = planned.time_zone.as_ref().unwrap_or(&plan.time_zone);
    let (now, then) = (&planned.settings, &known.settings);
    let fields = [
        ("partner", partner != known.partner.as_ref()),
        ("instance", agent != known.agent.as_ref()),
        (plugin, planned.plugin != known.plugin),
        ("config", parsed(&planned.config) != parsed(&known.config)),
        ("secrets", !has_same_secrets(planned, known, sealer)),
        ("reply_secrets", now.reply_secrets != then.reply_secrets),
        ("allow", planned.allow != known.allow),
        ("checks", planned.checks != known.checks),
        ("routes", planned.routes != known.routes),
        ("region", *region != known.region),
        ("time_zone", *time_zone != known.time_zone),
        (
            "dedupe_by_content",
            planned.dedupe_by_content != known.dedupe_by_content,
        ),
        ("origins", now.origins != then.origins),
        ("greeting", now.greeting != then.greeting),
        ("kind", now.agent_kind != then.agent_kind),
        ("channel", now.channel != then.channel),
        ("language", now.language != then.language),
        (
            "unanswered_after",
            now.unanswered_after != then.unanswered_after,
        ),
        ("idle_after", now.idle_after != then.idle_after),
        ("keep_for", now.kept_for != then.kept_for),
    ];
    let differing = fields.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(field, _)| field).collect()
}

/// Returns a configuration without its layout, which a database may change.
fn parsed(config: &str) -> Option<Value> {
    serde_json::from_str(config).ok()
}

/// Secrets that cannot be decrypted are sealed again, and so count as changed.
fn has_same_secrets(planned: &PlannedConnection, known: &Connection, sealer: &Sealer) -> bool {
    let now = sealer.open_secrets(&planned.name, &planned.sealed);
    let then = sealer.open_secrets(&known.name, &known.sealed);
    matches!((now, then), (Ok(now), Ok(then)) if now == then)
}
