use serde::Deserializer;
use serde::de::Error as _;
use serde_json::Map;

use super::connections::{Bound, change_in_words};
use crate::prelude::*;
use leadhost_domain::channel::Template;
use leadhost_domain::connection::{ConnectionPause, SourceChange};
use leadhost_domain::workspace::AgentKind;

/// The instances of all workspaces, by workspace and number.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Instances {
    pub instances: Vec<InstanceView>,
}

/// An instance as its operator sees it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceView {
    pub id: AgentId,
    pub name: String,
    /// The workspace's slug.
    pub workspace: String,
    pub number: Option<String>,
    pub kind: AgentKind,
    /// The channel's name in exports, such as `whatsapp`.
    pub channel: Option<String>,
    /// The name of its adapter. Null if it sends nothing.
    pub adapter: Option<String>,
    /// The same as `adapter`.
    pub plugin: Option<String>,
    /// Whether analytics leave it out unless it is requested.
    pub internal: bool,
    /// Since when, and why, its sending is paused.
    pub paused: Option<ConnectionPause>,
    /// The path that its provider posts to.
    pub webhook: Option<String>,
    /// Present if it has an adapter.
    #[serde(flatten, deserialize_with = "present")]
    pub settings: Option<ChannelSettings>,
}

/// Reads the settings. `None` if they are absent; settings that cannot be read are an error.
fn present<'de, D>(deserializer: D) -> Result<Option<ChannelSettings>, D::Error>
where
    D: Deserializer<'de>,
{
    let rest = Map::<String, Value>::deserialize(deserializer)?;
    if !rest.contains_key("unansweredAfterSeconds") {
        return Ok(None);
    }
    let settings = ChannelSettings::deserialize(Value::Object(rest));
    settings.map(Some).map_err(D::Error::custom)
}

/// The settings of an instance with an adapter.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSettings {
    #[serde(flatten)]
    pub bound: Bound,
    /// Seconds after which a conversation without an answer becomes `no_response`.
    pub unanswered_after_seconds: u64,
    /// Seconds without a message after which a conversation closes.
    pub idle_after_seconds: u64,
    /// Seconds after which a message that could not be sent is given up.
    pub keep_for_seconds: u64,
    /// The language of a template that exists in several, if the request names none.
    pub language: String,
    /// When its provider last posted to its webhook. Null if it never did.
    pub last_delivery_at: Option<Micros>,
    /// Reports that its webhooks keep failing, and whether that is new in a version. Null while they do not.
    pub source_change: Option<SourceChange>,
    /// The state of its list of templates. Null if it was never read.
    pub templates: Option<Templates>,
}

/// The templates that a provider lists for an instance.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Templates {
    pub count: usize,
    pub approved: usize,
    /// When the list was last read.
    pub synced_at: Option<Micros>,
    /// Why the last attempt to read the list failed.
    pub error: Option<String>,
    /// Whether the provider does not list its templates.
    pub unlisted: bool,
    /// The templates themselves, if one instance is shown. Null in a list of instances.
    #[serde(default)]
    pub list: Option<Vec<Template>>,
}

impl InstanceView {
    fn of_settings<T>(&self, value: impl FnOnce(&ChannelSettings) -> Option<T>) -> Option<T> {
        value(self.settings.as_ref()?)
    }

    pub fn templates(&self) -> Option<&Templates> {
        self.settings.as_ref()?.templates.as_ref()
    }
}

/// Returns a length of time in the largest unit that leaves no rest.
fn span(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let whole = units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or(&(1, "s"));
    format!("{} {name}", seconds / unit)
}

impl Templates {
    pub fn in_words(&self) -> Option<String> {
        if self.unlisted {
            return Some("not listed".to_owned());
        }
        self.synced_at?;
        let stale = if self.error.is_some() { " (stale)" } else { "" };
        Some(format!("{} of {}{stale}", self.approved, self.count))
    }

    pub fn listed(&self) -> &[Template] {
        self.list.as_deref().unwrap_or_default()
    }
}

/// Whether an instance's sending is paused now.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InstancePaused {
    pub id: AgentId,
    pub paused: bool,
}

columns! {
    InstanceView as instance {
        "Id" => Cell::id(instance.id),
        "Name" => &instance.name,
        "Workspace" => &instance.workspace,
        "Number" => &instance.number,
        "Kind" facts => instance.kind.as_str(),
        "Channel" facts => &instance.channel,
        "Adapter" => &instance.adapter,
        "Webhooks" => &instance.webhook,
        "Routes" facts => instance.of_settings(|one| one.bound.routes_in_words()),
        "Secrets" facts => instance.of_settings(|one| one.bound.secrets_in_words()),
        "Unanswered" facts => instance.of_settings(|one| Some(span(one.unanswered_after_seconds))),
        "Closes after" facts => instance.of_settings(|one| Some(span(one.idle_after_seconds))),
        "Keeps for" facts => instance.of_settings(|one| Some(span(one.keep_for_seconds))),
        "Language" facts => instance.of_settings(|one| Some(one.language.clone())),
        "Templates" => instance.templates().and_then(Templates::in_words),
        "Synced at" facts => instance.templates()
            .filter(|templates| templates.error.is_none())
            .and_then(|templates| templates.synced_at),
        // The time of the last attempt, even if it failed.
        "Tried at" facts => instance.templates()
            .filter(|templates| templates.error.is_some())
            .and_then(|templates| templates.synced_at),
        "List error" facts => instance.templates().and_then(|templates| templates.error.clone()),
        "Sending" => match (&instance.adapter, &instance.paused) {
            (None, _) => Cell::default(),
            (_, None) => Cell::from("running"),
            (_, Some(pause)) => format!("paused: {}", pause.reason).into(),
        },
        "Changed" => instance
            .of_settings(|one| one.source_change.as_ref().map(change_in_words)),
    }

    Template as template {
        "Template" => Cell::id(&template.name),
        "Language" => &template.language,
        "Status" => Cell::from(&template.status)
            .tag(if template.is_approved() { "good" } else { "warn" }),
        "Placeholders" number => template.placeholders.len(),
        "Text" => &template.text,
        "Reason" => &template.reason,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn instance() -> Value {
        json!({
            "id": 1,
            "name": "bot",
            "workspace": "acme",
            "number": null,
            "kind": "ai",
            "channel": "whatsapp",
            "adapter": "whatsapp",
            "plugin": "whatsapp",
            "internal": false,
            "paused": null,
            "webhook": null,
            "config": {},
            "configVersion": 1,
            "allow": [],
            "checks": [],
            "routes": {},
            "secrets": [],
            "secretsSetAt": {},
            "replySecrets": [],
            "region": "BR",
            "timeZone": "America/Sao_Paulo",
            "unansweredAfterSeconds": 60,
            "idleAfterSeconds": 3600,
            "keepForSeconds": 60,
            "language": "pt_BR",
            "lastDeliveryAt": null,
            "sourceChange": null,
            "templates": null,
        })
    }

    #[test]
    fn settings_are_read_or_absent_and_an_unknown_word_in_them_is_an_error() {
        let read = InstanceView::deserialize(instance()).expect("an instance");
        let settings = read.settings.expect("its settings");
        assert_eq!(settings.bound.region, "BR");
        assert_eq!(settings.keep_for_seconds, 60);

        let mut without = instance();
        let members = without.as_object_mut().expect("an object");
        members.retain(|name, _| !name.ends_with("Seconds"));
        let read = InstanceView::deserialize(without).expect("an instance");
        assert!(read.settings.is_none());

        let mut later = instance();
        later["checks"] = json!([{
            "scheme": "hmac-sha9",
            "secret": "key",
            "proof": {"place": "header", "name": "x-signature"},
            "encoding": "hex",
            "prefix": "",
            "signed": [],
            "timestampHeader": "",
            "toleranceSeconds": 0,
        }]);
        let error = InstanceView::deserialize(later).expect_err("an unknown word");
        assert!(error.to_string().contains("hmac-sha9"), "{error}");
    }
}
