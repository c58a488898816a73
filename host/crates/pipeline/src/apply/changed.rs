//! The connections that are not as a plan declares them: the fields that differ and the secrets
//! that the plan leaves out, by name and without any value.

use crate::prelude::*;
use leadhost_domain::workspace::PartKind;
use leadhost_egress::seal::Sealer;
use leadhost_store::{Applied, Plan, PlannedConnection};

#[derive(Debug, PartialEq, Eq)]
pub struct ChangedConnection {
    /// A connection, or the channel of an instance.
    pub kind: PartKind,
    pub name: String,
    /// The keys of the workspace file whose values differ.
    pub fields: Vec<&'static str>,
    pub removed_secrets: Vec<String>,
    pub version: i64,
    /// The version after. `None` in a dry run.
    pub new_version: Option<i64>,
    pub values: Vec<ChangedValue>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ChangedValue {
    /// The key of the workspace file, with the place in its value: `config.fields.phone`.
    pub path: String,
    /// `None` if there was none. An object or a list only beside a single value.
    pub before: Option<Value>,
    pub after: Option<Value>,
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
        let (fields, values) = differing(plan, planned, applied, known, sealer);
        if fields.is_empty() {
            continue;
        }
        let is_left_out = |name: &&String| !planned.secrets.contains(*name);
        changed.push(ChangedConnection {
            version: known.config_version,
            new_version: None,
            values,
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

pub(super) fn note_versions(changed: &mut [ChangedConnection], after: &[Connection]) {
    for one in changed {
        let kind = match one.kind {
            PartKind::Channel => ConnectionKind::Channel,
            _ => ConnectionKind::Source,
        };
        let found = after
            .iter()
            .find(|known| known.kind == kind && known.name == one.name);
        one.new_version = found.map(|known| known.config_version);
    }
}

fn differing(
    plan: &Plan,
    planned: &PlannedConnection,
    applied: &Applied,
    known: &Connection,
    sealer: &Sealer,
) -> (Vec<&'static str>, Vec<ChangedValue>) {
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
    let has_same_secrets = has_same_secrets(planned, known, sealer);
    let config = |config| json!(parsed(config));
    let seconds = |time: Duration| json!(time.as_secs());
    let dedupes = (known.dedupe_by_content, planned.dedupe_by_content);
    let fields = [
        ("partner", json!(known.partner), json!(partner)),
        ("instance", json!(known.agent), json!(agent)),
        (plugin, json!(known.plugin), json!(planned.plugin)),
        ("config", config(&known.config), config(&planned.config)),
        ("secrets", json!(true), json!(has_same_secrets)),
        (
            "reply_secrets",
            json!(then.reply_secrets),
            json!(now.reply_secrets),
        ),
        ("allow", json!(known.allow), json!(planned.allow)),
        ("checks", json!(known.checks), json!(planned.checks)),
        ("routes", json!(known.routes), json!(planned.routes)),
        ("region", json!(known.region), json!(region)),
        ("time_zone", json!(known.time_zone), json!(time_zone)),
        ("dedupe_by_content", json!(dedupes.0), json!(dedupes.1)),
        ("origins", json!(then.origins), json!(now.origins)),
        ("retired", json!(then.retired), json!(now.retired)),
        ("greeting", json!(then.greeting), json!(now.greeting)),
        ("kind", json!(then.agent_kind), json!(now.agent_kind)),
        ("channel", json!(then.channel), json!(now.channel)),
        ("language", json!(then.language), json!(now.language)),
        (
            "unanswered_after",
            seconds(then.unanswered_after),
            seconds(now.unanswered_after),
        ),
        (
            "idle_after",
            seconds(then.idle_after),
            seconds(now.idle_after),
        ),
        ("keep_for", seconds(then.kept_for), seconds(now.kept_for)),
    ];
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (field, before, after) in fields.iter().filter(|(_, before, after)| before != after) {
        names.push(*field);
        if !NAMES_ONLY.contains(field) {
            differences(field, Some(before), Some(after), &mut values);
        }
    }
    (names, values)
}

/// Fields whose values are ids of the store, or secrets.
const NAMES_ONLY: [&str; 3] = ["partner", "instance", "secrets"];

fn differences(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<ChangedValue>,
) {
    if before == after {
        return;
    }
    let (Some(then), Some(now)) = (members(before), members(after)) else {
        return found.push(ChangedValue {
            path: path.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        });
    };
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    for name in names {
        let (then, now) = (then.get(name).copied(), now.get(name).copied());
        differences(&format!("{path}.{name}"), then, now, found);
    }
}

/// Returns the members of an object by name, or of a list by place. A missing value has no members.
/// `None` if it is a single value.
fn members(value: Option<&Value>) -> Option<BTreeMap<String, &Value>> {
    match value {
        None | Some(Value::Null) => Some(BTreeMap::new()),
        Some(Value::Object(fields)) => {
            let fields = fields.iter();
            Some(fields.map(|(name, value)| (name.clone(), value)).collect())
        }
        Some(Value::Array(items)) => {
            let items = items.iter().enumerate();
            Some(items.map(|(at, value)| (at.to_string(), value)).collect())
        }
        Some(_) => None,
    }
}

/// Returns a configuration without its layout, which a database may change.
fn parsed(config: &str) -> Option<Value> {
    serde_json::from_str(config).ok()
}

/// Secrets that cannot be decrypted are sealed again, and so count as changed.
fn has_same_secrets(planned: &PlannedConnection, known: &Connection, sealer: &Sealer) -> bool {
    let open = |sealed| sealer.open_secrets(known.workspace, &known.name, sealed);
    let (now, then) = (open(&planned.sealed), open(&known.sealed));
    matches!((now, then), (Ok(now), Ok(then)) if now == then)
}
