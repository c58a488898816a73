//! The connections that are not as a plan declares them: the fields that differ and the secrets
//! that the plan leaves out, by name and without any value.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use leadhost_domain::connection::{Connection, ConnectionKind};
use leadhost_domain::workspace::PartKind;
use leadhost_egress::seal::Sealer;
use leadhost_store::{Applied, Plan, PlannedConnection};

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
    pub version: i64,
    /// The version after. `None` in a dry run.
    pub new_version: Option<i64>,
    /// The values that differ, without those of secrets.
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
        let fields = differing(plan, planned, applied, known, sealer);
        if fields.is_empty() {
            continue;
        }
        let is_left_out = |name: &&String| !planned.secrets.contains(*name);
        changed.push(ChangedConnection {
            version: known.config_version,
            new_version: None,
            values: values(plan, planned, known, &fields),
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
        ("retired", now.retired != then.retired),
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

fn values(
    plan: &Plan,
    planned: &PlannedConnection,
    known: &Connection,
    fields: &[&'static str],
) -> Vec<ChangedValue> {
    let (now, then) = (&planned.settings, &known.settings);
    let region = planned.region.as_ref().unwrap_or(&plan.region);
    let time_zone = planned.time_zone.as_ref().unwrap_or(&plan.time_zone);
    let seconds =
        |before: Duration, after: Duration| (json!(before.as_secs()), json!(after.as_secs()));
    let mut values = Vec::new();
    for field in fields {
        let (before, after) = match *field {
            "plugin" | "adapter" => (json!(known.plugin), json!(planned.plugin)),
            "config" => (json!(parsed(&known.config)), json!(parsed(&planned.config))),
            "reply_secrets" => (json!(then.reply_secrets), json!(now.reply_secrets)),
            "allow" => (json!(known.allow), json!(planned.allow)),
            "checks" => (json!(known.checks), json!(planned.checks)),
            "routes" => (json!(known.routes), json!(planned.routes)),
            "region" => (json!(known.region), json!(region)),
            "time_zone" => (json!(known.time_zone), json!(time_zone)),
            "dedupe_by_content" => (
                json!(known.dedupe_by_content),
                json!(planned.dedupe_by_content),
            ),
            "origins" => (json!(then.origins), json!(now.origins)),
            "retired" => (json!(then.retired), json!(now.retired)),
            "greeting" => (json!(then.greeting), json!(now.greeting)),
            "kind" => (json!(then.agent_kind), json!(now.agent_kind)),
            "channel" => (json!(then.channel), json!(now.channel)),
            "language" => (json!(then.language), json!(now.language)),
            "unanswered_after" => seconds(then.unanswered_after, now.unanswered_after),
            "idle_after" => seconds(then.idle_after, now.idle_after),
            "keep_for" => seconds(then.kept_for, now.kept_for),
            _ => continue,
        };
        differences(field, Some(&before), Some(&after), &mut values);
    }
    values
}

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
    let now = sealer.open_secrets(&planned.name, &planned.sealed);
    let then = sealer.open_secrets(&known.name, &known.sealed);
    matches!((now, then), (Ok(now), Ok(then)) if now == then)
}
