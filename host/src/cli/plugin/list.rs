use crate::cli::open_rollouts;
use crate::cli::prelude::*;
use leadhost_admin_api::columns;
use leadhost_admin_api::keys::{KeyView, Keys};
use leadhost_admin_api::plugins::{CircuitView, PluginList, PluginVersion, PluginView};
use leadhost_domain::publisher::Publisher;

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    service: ServiceAddress,
}

impl List {
    pub async fn run(self) -> CommandResult {
        let client = self.service.client()?;
        let answer = client.get::<PluginList>("/admin/v1/plugins").await?;
        let mut versions = answer.plugins.iter().flat_map(|plugin| &plugin.versions);
        let has_keys = versions.any(|one| matches!(one.publisher, Publisher::AdminKey(_)));
        let keys = if has_keys && !client.json() {
            client.get::<Keys>("/admin/v1/keys").await?.content.keys
        } else {
            Vec::new()
        };
        client.print(&answer, |answer| show(answer, &keys, client.flags()));
        Ok(())
    }
}

/// A stored version of a plugin. `keys` are those that may have uploaded it.
struct ListedVersion<'a> {
    plugin: &'a PluginView,
    version: &'a PluginVersion,
    keys: &'a [KeyView],
}

/// A live host of a fleet, and whether it serves the active version.
struct ListedHost<'a> {
    plugin: &'a PluginView,
    host: &'a str,
    state: String,
}

struct ListedCircuit<'a> {
    plugin: &'a PluginView,
    circuit: &'a CircuitView,
}

columns! {
    ListedVersion<'_> as row {
        "Name" => &row.plugin.name,
        "Kind" => row.version.kind.map(|kind| kind.as_str()),
        "Version" => &row.version.version,
        "Digest" => row.version.digest.short(),
        "State" => row.version.state.to_string(),
        "Golden" => row.version.golden,
        "Stored" => row.version.stored_at,
        "Origin" => &row.version.origin,
        "Publisher" => publisher(&row.version.publisher, row.keys),
    }

    ListedHost<'_> as row {
        "Plugin" => &row.plugin.name,
        "Generation" => row.plugin.generation,
        "Host" => row.host,
        "State" => &row.state,
    }

    ListedCircuit<'_> as row {
        "Circuit open" => &row.plugin.name,
        "Digest" => row.circuit.digest.short(),
        "Connection" => row.circuit.name.as_ref().unwrap_or(&row.circuit.connection),
        "Function" => match row.circuit.inline_only {
            true => format!("{} inside requests", row.circuit.function),
            false => row.circuit.function.to_string(),
        },
        "Failures" => row.circuit.failures,
        "Until" => row.circuit.until,
        "Reason" => &row.circuit.reason,
    }
}

fn show(answer: &PluginList, keys: &[KeyView], flags: &ServiceFlags) {
    let plugins = &answer.plugins;
    let versions = plugins.iter().flat_map(|plugin| {
        let versions = plugin.versions.iter();
        versions.map(move |version| ListedVersion {
            plugin,
            version,
            keys,
        })
    });
    say_rows(&versions.collect::<Vec<_>>());
    let open = plugins.iter().filter_map(|plugin| {
        let rollout = plugin.rollout.as_ref()?;
        Some((plugin.name.as_str(), rollout))
    });
    open_rollouts::show(open);
    say_more_rows(&plugins.iter().flat_map(on_hosts).collect::<Vec<_>>());
    let circuits = plugins.iter().flat_map(|plugin| {
        let circuits = plugin.circuits.iter();
        circuits.map(move |circuit| ListedCircuit { plugin, circuit })
    });
    say_more_rows(&circuits.collect::<Vec<_>>());
    for warning in plugins.iter().flat_map(shared_numbers) {
        say(&safe(&warning));
    }
    for refusal in answer.refusals.iter().take(10) {
        say_line!(
            "refused {} {}: {}",
            seconds(refusal.at),
            refusal.origin,
            flags.complete(&refusal.reason)
        );
    }
}

/// Returns a warning for each version number that several contents have.
fn shared_numbers(plugin: &PluginView) -> Vec<String> {
    let mut digests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &plugin.versions {
        let same = digests.entry(&one.version).or_default();
        same.push(one.digest.short());
    }
    let shared = digests.into_iter().filter(|(_, digests)| digests.len() > 1);
    let warning = |(version, digests): (&str, Vec<&str>)| {
        format!(
            "warning: {} different files are {} {version} ({}); give each content its own number",
            digests.len(),
            plugin.name,
            digests.join(", ")
        )
    };
    shared.map(warning).collect()
}

/// Returns the publisher: a signing key shortened to twelve characters, an admin key by its label.
fn publisher(publisher: &Publisher, keys: &[KeyView]) -> String {
    if let Publisher::AdminKey(id) = publisher {
        let key = keys.iter().find(|key| key.id == *id);
        if let Some(key) = key.filter(|key| !key.label.is_empty()) {
            return format!("admin key {}", key.label);
        }
    }
    let text = publisher.text();
    match text.strip_prefix("ed25519:") {
        Some(key) => {
            let start: String = key.chars().take(12).collect();
            format!("ed25519:{start}")
        }
        None => text,
    }
}

fn on_hosts(plugin: &PluginView) -> Vec<ListedHost<'_>> {
    let row = |host, state| ListedHost {
        plugin,
        host,
        state,
    };
    let serving = plugin.served_by.iter().flatten();
    let serving = serving.map(|host| row(host.as_str(), "active".to_owned()));
    let behind = plugin.behind.iter().flatten();
    let behind = behind.map(|one| row(&one.host, format!("not yet: {}", one.reason)));
    serving.chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_several_contents_have_is_warned_of() {
        let digests = [b"1", b"2", b"3"].map(|bytes| Digest::compute(bytes));
        let version = |(number, digest): (&str, &Digest)| {
            json!({
                "version": number, "digest": digest, "state": "stored", "summary": "", "kind": "converter",
                "contract": "", "bytes": 1, "golden": 0, "origin": "upload", "publisher": "inbox",
                "storedAt": Micros(0), "secrets": [], "hosts": [],
            })
        };
        let versions = ["1.0.0", "1.0.0", "1.1.0"].into_iter().zip(&digests);
        let plugin: PluginView = serde_json::from_value(json!({
            "name": "form", "versions": versions.map(version).collect::<Vec<_>>(), "circuits": [],
        }))
        .expect("a plugin");
        let warnings = shared_numbers(&plugin);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in ["form 1.0.0", digests[0].short(), digests[1].short()] {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
    }
}
