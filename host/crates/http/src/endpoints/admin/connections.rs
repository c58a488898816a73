use tokio::time::{Instant, timeout_at};

use super::request::{NamedKind, check_length, only};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::connections::{
    Bound, ConnectionPaused, ConnectionView, Connections, LeftDeliveriesView, PauseRequest, Senders,
};
use leadhost_domain::connection::{
    Connection, ConnectionKind, ConnectionPause, EndedChange, SourceShape,
};
use leadhost_domain::exchange::SenderCheck;
use leadhost_domain::text::storable;
use leadhost_pipeline::{fleet, proof};
use leadhost_plugin::CallBudget;
use leadhost_store::Announcement;

/// Finds the source that an operator names: by id, by name, or by `workspace/name` if several
/// workspaces use the name.
pub async fn find(store: &Store, text: &str) -> ApiResult<Connection> {
    let is_source = |one: &Connection| one.kind == ConnectionKind::Source;
    if let Ok(id) = text.parse::<ConnectionId>()
        && let Some(connection) = store.connection(&id).await?.filter(is_source)
    {
        return Ok(connection);
    }
    let workspaces = store.workspaces().await?;
    let slug = |connection: &Connection| {
        workspaces
            .iter()
            .find(|workspace| workspace.id == connection.workspace)
            .map_or("", |workspace| workspace.slug.as_str())
    };
    let all = store.connections(None).await?;
    let named = all
        .into_iter()
        .filter(is_source)
        .map(|one| (slug(&one).to_owned(), one.name.clone(), one));
    only(NamedKind::Connection, text, named)
}

/// Pauses or resumes what a source or a channel does on its own. The audit has when it was paused,
/// before and after, without the reason, which may name a person.
pub async fn set_pause(
    call: &Call<'_>,
    connection: &Connection,
    pause: Option<&ConnectionPause>,
) -> ApiResult<()> {
    let http = call.http;
    let since = |pause: Option<&ConnectionPause>| pause.map(|pause| pause.since);
    call.audit(json!({
        "connection": connection.id,
        "before": { "pausedSince": since(connection.paused.as_ref()) },
        "after": { "pausedSince": since(pause) },
    }));
    http.core
        .store
        .pause_connection(&connection.id, pause)
        .await?;
    fleet::announce(&http.pipeline, Announcement::Connections).await;
    if pause.is_none() {
        http.pipeline.wake();
    }
    Ok(())
}

pub fn requested(request: PauseRequest, now: Micros) -> ApiResult<ConnectionPause> {
    check_length("reason", &request.reason)?;
    Ok(ConnectionPause {
        since: now,
        reason: storable(request.reason),
    })
}

fn to_view(
    connection: &Connection,
    workspace: &str,
    partner: &str,
    senders: Senders,
    (shape, left_deliveries): (SourceShape, Vec<LeftDeliveriesView>),
    last_delivery_at: Option<Micros>,
) -> ConnectionView {
    ConnectionView {
        id: connection.id.clone(),
        name: connection.name.clone(),
        workspace: workspace.to_owned(),
        partner: partner.to_owned(),
        plugin: connection.plugin.clone(),
        bound: bound(connection),
        instance_id: connection.agent,
        origins: connection.settings.origins.clone(),
        retired: connection.settings.retired,
        dedupe_by_content: connection.dedupe_by_content,
        greeting: connection.settings.greeting.clone().map(Into::into),
        paused: connection.paused.clone(),
        senders,
        source_change: shape.change,
        left_deliveries,
        lead_fields: shape.fields,
        last_delivery_at,
    }
}

/// Returns whether senders have to authenticate, [`Senders::Unknown`] if the plugin does not
/// answer in time.
pub async fn senders(http: &Http, connection: &Connection, until: Instant) -> Senders {
    let asked = async {
        let plugin = http.core.plugins.active(&connection.plugin)?;
        let live = http.pipeline.connections.get(&connection.id).await.ok()??;
        let checks = proof::checks(&http.pipeline, &live, &plugin, CallBudget::Operator)
            .await
            .ok()?;
        let has = |check: &SenderCheck| live.secrets.get(&check.secret).is_some();
        Some(checks.checks.iter().any(has))
    };
    match timeout_at(until, asked).await {
        Ok(Some(true)) => Senders::Checked,
        Ok(Some(false)) => Senders::Anybody,
        Ok(None) | Err(_) => Senders::Unknown,
    }
}

/// Returns the part that sources and channels have in common, as operators see it. It has only the
/// names of the secrets.
pub fn bound(connection: &Connection) -> Bound {
    Bound {
        config: serde_json::from_str(&connection.config).unwrap_or_default(),
        config_version: connection.config_version,
        allow: connection.allow.clone(),
        checks: connection.checks.clone(),
        routes: connection.routes.clone(),
        secrets: connection.secrets.clone(),
        secrets_set_at: connection.secrets_at.clone(),
        reply_secrets: connection.settings.reply_secrets.clone(),
        region: connection.region.clone(),
        time_zone: connection.time_zone.clone(),
    }
}

/// The time that plugins may take to answer, all of them together.
const ASKING: Duration = Duration::from_secs(5);

describe!(list, |operation| operation
    .summary("Lists the connections of all workspaces")
    .describe(
        "Channels are listed with their instances. Secrets are shown by name, never by value."
    )
    .answers::<Connections>(200, "All connections."));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let store = &call.http.core.store;
    let mut connections = Vec::new();
    let mut shapes = store.source_shapes().await?;
    let mut last = store.last_deliveries().await?;
    let until = Instant::now() + ASKING;
    for workspace in store.workspaces().await? {
        let partners = store.partners(workspace.id).await?;
        for connection in store.connections(Some(workspace.id)).await? {
            // Channels are listed with their instances.
            if connection.kind == ConnectionKind::Channel {
                continue;
            }
            let partner = partners
                .iter()
                .find(|partner| Some(partner.id) == connection.partner)
                .map_or("", |partner| partner.name.as_str());
            let senders = senders(call.http, &connection, until).await;
            let shape = shapes.remove(&connection.id).unwrap_or_default();
            let left = left_deliveries(store, &connection, &shape.ended).await?;
            let at = last.remove(&connection.id);
            let (slug, shape) = (&workspace.slug, (shape, left));
            connections.push(to_view(&connection, slug, partner, senders, shape, at));
        }
    }
    reply::ok(&Connections { connections })
}

async fn left_deliveries(
    store: &Store,
    connection: &Connection,
    ended: &[EndedChange],
) -> Result<Vec<LeftDeliveriesView>, StoreError> {
    let mut left = Vec::new();
    for change in ended {
        let rows = limits::LOOKED_THROUGH;
        let found = store.deliveries_left_by(connection, change, rows).await?;
        if let Some((since, last)) = found.received {
            left.push(LeftDeliveriesView {
                since,
                until: last.plus(Duration::from_micros(1)),
                differences: change.differences.clone(),
                refused: found.refused,
                lacking: found.lacking,
            });
        }
    }
    Ok(left)
}

describe!(pause, |operation| operation
    .summary("Pauses the fetches of a connection")
    .describe("Deliveries are still accepted and wait.")
    .may_take::<PauseRequest>(&[("reason", "With a reason", json!({"reason": "maintenance"}))])
    .answers::<ConnectionPaused>(200, "It is paused.")
    .refuses(&[404, 409]));
pub async fn pause(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    let request: PauseRequest = read_json(call, body).await?;
    let connection = find(&call.http.core.store, which).await?;
    let pause = requested(request, call.http.core.clock.now())?;
    set_pause(call, &connection, Some(&pause)).await?;
    reply::ok(&ConnectionPaused {
        id: connection.id,
        paused: true,
    })
}

describe!(resume, |operation| operation
    .summary("Resumes the fetches of a connection")
    .answers::<ConnectionPaused>(200, "It runs.")
    .refuses(&[404, 409]));
pub async fn resume(call: &Call<'_>, which: &str) -> ApiResult {
    let connection = find(&call.http.core.store, which).await?;
    set_pause(call, &connection, None).await?;
    reply::ok(&ConnectionPaused {
        id: connection.id,
        paused: false,
    })
}
