use crate::cli::open_rollouts;
use crate::cli::prelude::*;
use leadhost_admin_api::keys::{KeyView, Keys};
use leadhost_admin_api::plugins::{PluginList, PluginView};
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
        let keys = match has_keys && !client.json() {
            true => client.get::<Keys>("/admin/v1/keys").await?.content.keys,
            false => Vec::new(),
        };
        client.print(&answer, |answer| show(answer, &keys, client.flags()));
        Ok(())
    }
}

/// Prints the versions. `keys` are those that may have uploaded them.
fn show(answer: &PluginList, keys: &[KeyView], flags: &ServiceFlags) {
    let plugins = &answer.plugins;
    let rows = plugins.iter().flat_map(|plugin| versions(plugin, keys));
    let rows: Vec<Vec<String>> = rows.collect();
    say(&table(
        &[
            "NAME",
            "KIND",
            "VERSION",
            "DIGEST",
            "STATE",
            "GOLDEN",
            "STORED",
            "ORIGIN",
            "PUBLISHER",
        ],
        &rows,
    ));
    let open = plugins.iter().filter_map(|plugin| {
        let rollout = plugin.rollout.as_ref()?;
        Some((plugin.name.as_str(), rollout))
    });
    open_rollouts::show(open);
    let hosts: Vec<Vec<String>> = plugins.iter().flat_map(on_hosts).collect();
    if !hosts.is_empty() {
        say("");
        say(&table(&["PLUGIN", "GENERATION", "HOST", "STATE"], &hosts));
    }
    let circuits: Vec<Vec<String>> = plugins.iter().flat_map(open_circuits).collect();
    if !circuits.is_empty() {
        say("");
        say(&table(
            &[
                "CIRCUIT OPEN",
                "DIGEST",
                "CONNECTION",
                "FUNCTION",
                "FAILURES",
                "UNTIL",
                "REASON",
            ],
            &circuits,
        ));
    }
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

fn versions(plugin: &PluginView, keys: &[KeyView]) -> Vec<Vec<String>> {
    plugin
        .versions
        .iter()
        .map(|version| {
            vec![
                plugin.name.clone(),
                optional(version.kind.map(|kind| kind.as_str())),
                version.version.clone(),
                version.digest.short().to_owned(),
                version.state.to_string(),
                version.golden.to_string(),
                seconds(version.stored_at),
                version.origin.clone(),
                publisher(&version.publisher, keys),
            ]
        })
        .collect()
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

/// Returns a row for each open circuit breaker, with the connection that it is open for.
fn open_circuits(plugin: &PluginView) -> Vec<Vec<String>> {
    plugin
        .circuits
        .iter()
        .map(|circuit| {
            let function = circuit.function;
            vec![
                plugin.name.clone(),
                circuit.digest.short().to_owned(),
                circuit.name.as_ref().unwrap_or(&circuit.connection).clone(),
                if circuit.inline_only {
                    format!("{function} inside requests")
                } else {
                    function.to_string()
                },
                circuit.failures.to_string(),
                seconds(circuit.until),
                circuit.reason.clone(),
            ]
        })
        .collect()
}

/// Returns a row for each live host of a fleet.
fn on_hosts(plugin: &PluginView) -> Vec<Vec<String>> {
    let line = |host: &str, state: String| {
        vec![
            plugin.name.clone(),
            optional(plugin.generation),
            host.to_owned(),
            state,
        ]
    };
    let serving = plugin.served_by.iter().flatten();
    let serving = serving.map(|host| line(host, "active".to_owned()));
    let behind = plugin.behind.iter().flatten();
    let behind = behind.map(|one| line(&one.host, safe(&format!("not yet: {}", one.reason))));
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
