//! Instances: messaging bots, and the channels of those that have an adapter.

pub mod list;
pub mod pause;
pub mod resume;
pub mod show;
pub mod sync_templates;

use serde_json::{Value, json};

use super::connections::bound;
use super::only;
use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::id::AgentId;
use crate::domain::workspace::Agent;
use crate::http::error::ApiError;
use crate::pipeline::connections::webhook_path;
use crate::store::{Store, StoreError, TemplateList};

/// An instance with what belongs to it.
pub struct Instance {
    /// The slug.
    pub workspace: String,
    pub agent: Agent,
    /// Of one with an adapter.
    pub channel: Option<Connection>,
}

impl Instance {
    /// Its provider's list, as it was last heard.
    async fn templates(&self, store: &dyn Store) -> Result<Option<TemplateList>, StoreError> {
        match &self.channel {
            Some(channel) => store.templates(channel).await,
            None => Ok(None),
        }
    }
}

/// All of them, by workspace and number.
pub async fn all(store: &dyn Store) -> Result<Vec<Instance>, StoreError> {
    let mut instances = Vec::new();
    for workspace in store.workspaces().await? {
        let channels: Vec<_> = store
            .connections(Some(workspace.id))
            .await?
            .into_iter()
            .filter(|one| one.kind == ConnectionKind::Channel)
            .collect();
        for agent in store.agents(workspace.id).await? {
            let channel = channels.iter().find(|one| one.agent == Some(agent.id));
            instances.push(Instance {
                workspace: workspace.slug.clone(),
                channel: channel.cloned(),
                agent,
            });
        }
    }
    Ok(instances)
}

/// The instance that an operator means: by its number, by name, or by
/// `workspace/name` where a name is in several workspaces.
pub async fn find(store: &dyn Store, text: &str) -> Result<Instance, ApiError> {
    let mut instances = all(store).await?;
    if let Ok(id) = text.parse().map(AgentId)
        && let Some(at) = instances.iter().position(|one| one.agent.id == id)
    {
        return Ok(instances.swap_remove(at));
    }
    let named = instances
        .into_iter()
        .map(|one| (one.workspace.clone(), one.agent.name.clone(), one));
    only("instance", text, named)
}

/// The channel of the instance that an operator means.
pub async fn channel(store: &dyn Store, text: &str) -> Result<Connection, ApiError> {
    let instance = find(store, text).await?;
    instance.channel.ok_or_else(|| {
        ApiError::conflict(format!(
            "Instance `{}` has no adapter: it sends nothing. Give it one in its workspace's file.",
            instance.agent.name
        ))
    })
}

/// An instance as operators see it, and how its list of templates stands.
fn shown(instance: &Instance, templates: Option<&TemplateList>) -> Value {
    let agent = &instance.agent;
    let mut shown = match &instance.channel {
        Some(channel) => {
            let settings = &channel.settings;
            let mut shown = bound(channel);
            shown["webhook"] = json!(webhook_path(agent.id, &channel.id));
            shown["unansweredAfterSeconds"] = json!(settings.unanswered_seconds);
            shown["idleAfterSeconds"] = json!(settings.idle_seconds);
            shown["keepForSeconds"] = json!(settings.kept_seconds);
            shown["language"] = json!(settings.language);
            shown["templates"] = json!(templates.map(summary));
            shown
        }
        None => json!({ "plugin": null, "webhook": null, "paused": null }),
    };
    shown["id"] = json!(agent.id);
    shown["name"] = json!(agent.name);
    shown["workspace"] = json!(instance.workspace);
    shown["number"] = json!(agent.number);
    shown["kind"] = json!(agent.kind);
    shown["channel"] = json!(agent.channel);
    // A file that leaves the adapter out leaves the channel as it is.
    shown["adapter"] = json!(instance.channel.as_ref().map(|channel| &channel.plugin));
    shown["internal"] = json!(agent.internal);
    shown
}

fn summary(list: &TemplateList) -> Value {
    let approved = list.templates.iter().filter(|one| one.is_approved());
    json!({
        "count": list.templates.len(),
        "approved": approved.count(),
        "syncedAt": list.synced_at,
        "error": list.error,
        "unlisted": list.is_unlisted,
    })
}
