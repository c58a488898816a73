use super::connections::{bound, requested, set_pause};
use super::request::{NamedKind, only};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::connections::PauseRequest;
use leadhost_admin_api::instances::{
    ChannelSettings, InstancePaused, InstanceView, Instances, Templates,
};
use leadhost_domain::connection::{Connection, ConnectionKind, SourceChange, SourceShape};
use leadhost_domain::workspace::Agent;
use leadhost_pipeline::connections::webhook_path;
use leadhost_pipeline::templates;
use leadhost_store::TemplateList;

/// An instance with its workspace and channel.
pub struct InstanceRecord {
    /// The workspace's slug.
    pub workspace: String,
    pub agent: Agent,
    /// Present if the instance has an adapter.
    pub channel: Option<Connection>,
}

impl InstanceRecord {
    async fn templates(&self, store: &Store) -> Result<Option<TemplateList>, StoreError> {
        match &self.channel {
            Some(channel) => store.templates(channel).await,
            None => Ok(None),
        }
    }

    pub fn channel(&self) -> ApiResult<&Connection> {
        self.channel.as_ref().ok_or_else(|| {
            ApiError::conflict(format!(
                "Instance `{}` has no adapter: it sends nothing. Give it one in the workspace file.",
                self.agent.name
            ))
        })
    }
}

pub async fn all(store: &Store) -> Result<Vec<InstanceRecord>, StoreError> {
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
            instances.push(InstanceRecord {
                workspace: workspace.slug.clone(),
                channel: channel.cloned(),
                agent,
            });
        }
    }
    Ok(instances)
}

/// Finds the instance that an operator names: by number, by name, or by `workspace/name` if
/// several workspaces use the name.
pub async fn find(store: &Store, text: &str) -> ApiResult<InstanceRecord> {
    let mut instances = all(store).await?;
    if let Ok(id) = text.parse().map(AgentId)
        && let Some(at) = instances.iter().position(|one| one.agent.id == id)
    {
        return Ok(instances.swap_remove(at));
    }
    let named = instances
        .into_iter()
        .map(|one| (one.workspace.clone(), one.agent.name.clone(), one));
    only(NamedKind::Instance, text, named)
}

/// The known facts about the webhooks of each channel.
struct Webhooks {
    last: HashMap<ConnectionId, Micros>,
    shapes: HashMap<ConnectionId, SourceShape>,
}

impl Webhooks {
    async fn read(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            last: store.last_deliveries().await?,
            shapes: store.source_shapes().await?,
        })
    }

    fn change(&self, channel: &ConnectionId) -> Option<SourceChange> {
        self.shapes.get(channel)?.change.clone()
    }
}

fn to_view(
    instance: InstanceRecord,
    templates: Option<Templates>,
    webhooks: &Webhooks,
) -> InstanceView {
    let InstanceRecord {
        workspace,
        agent,
        channel,
    } = instance;
    let adapter = channel.as_ref().map(|channel| channel.plugin.clone());
    let webhook = channel.as_ref();
    view! { InstanceView from agent: id, name, number, kind, channel, internal;
        webhook: webhook.map(|channel| webhook_path(agent.id, &channel.id)),
        workspace,
        plugin: adapter.clone(),
        adapter,
        paused: channel.as_ref().and_then(|channel| channel.paused.clone()),
        settings: channel.map(|channel| ChannelSettings {
            bound: bound(&channel),
            unanswered_after_seconds: channel.settings.unanswered_after.as_secs(),
            idle_after_seconds: channel.settings.idle_after.as_secs(),
            keep_for_seconds: channel.settings.kept_for.as_secs(),
            language: channel.settings.language,
            last_delivery_at: webhooks.last.get(&channel.id).copied(),
            source_change: webhooks.change(&channel.id),
            templates,
        })
    }
}

fn summary(list: &TemplateList) -> Templates {
    let approved = list.templates.iter().filter(|one| one.is_approved());
    Templates {
        count: list.templates.len(),
        approved: approved.count(),
        synced_at: list.synced_at,
        error: list.error.clone(),
        unlisted: list.is_unlisted,
        list: None,
    }
}

describe!(list, |operation| operation
    .summary("Lists the instances of all workspaces")
    .answers::<Instances>(
        200,
        "All instances, by workspace and number."
    ));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let store = &call.http.core.store;
    let webhooks = Webhooks::read(store).await?;
    let mut instances = Vec::new();
    for instance in all(store).await? {
        let templates = instance.templates(store).await?;
        let templates = templates.map(|list| summary(&list));
        instances.push(to_view(instance, templates, &webhooks));
    }
    reply::ok(&Instances { instances })
}

describe!(show, |operation| operation
    .summary("Shows an instance with its templates")
    .answers::<InstanceView>(200, "The instance.")
    .refuses(&[404, 409]));
pub async fn show(call: &Call<'_>, which: &str) -> ApiResult {
    let store = &call.http.core.store;
    let instance = find(store, which).await?;
    let templates = instance.templates(store).await?;
    let templates = templates.map(|list| {
        let summary = summary(&list);
        Templates {
            list: Some(list.templates),
            ..summary
        }
    });
    let webhooks = Webhooks::read(store).await?;
    let view = to_view(instance, templates, &webhooks);
    reply::ok(&view)
}

describe!(pause, |operation| operation
    .summary("Stops the sending of an instance")
    .describe("Messages from partners are still accepted and wait. Webhooks are still accepted.")
    .may_take::<PauseRequest>(&[("reason", "With a reason", json!({"reason": "maintenance"}))])
    .answers::<InstancePaused>(200, "It is paused.")
    .refuses(&[404, 409]));
pub async fn pause(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    let request: PauseRequest = read_json(call, body).await?;
    let instance = find(&call.http.core.store, which).await?;
    let pause = requested(request, call.http.core.clock.now())?;
    set_pause(call, instance.channel()?, Some(&pause)).await?;
    reply::ok(&InstancePaused {
        id: instance.agent.id,
        paused: true,
    })
}

describe!(resume, |operation| operation
    .summary("Continues the sending of an instance")
    .answers::<InstancePaused>(200, "It sends.")
    .refuses(&[404, 409]));
pub async fn resume(call: &Call<'_>, which: &str) -> ApiResult {
    let instance = find(&call.http.core.store, which).await?;
    set_pause(call, instance.channel()?, None).await?;
    reply::ok(&InstancePaused {
        id: instance.agent.id,
        paused: false,
    })
}

describe!(sync_templates, |operation| operation
    .summary("Reads the templates of an instance from its provider now")
    .answers::<Templates>(200, "The state of the list.")
    .refuses(&[404, 409, 422]));
pub async fn sync_templates(call: &Call<'_>, which: &str) -> ApiResult {
    let instance = find(&call.http.core.store, which).await?;
    let channel = instance.channel()?;
    let live = call.http.pipeline.connections.get(&channel.id).await;
    let live = live.map_err(ApiError::internal)?.ok_or_else(|| {
        ApiError::NotFound(format!("Instance `{}` no longer exists.", channel.name))
    })?;
    let asked = call.to_end(|http| async move { templates::sync(&http.pipeline, &live).await });
    let list = asked.await??;
    if let Some(error) = &list.error {
        return Err(ApiError::unprocessable(format!(
            "The templates of `{}` cannot be listed: {error}",
            channel.name
        )));
    }
    reply::ok(&summary(&list))
}
