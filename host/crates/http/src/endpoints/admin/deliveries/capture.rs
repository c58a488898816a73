//! `POST /admin/v1/deliveries/captures {deliveries, plugin}`: stored deliveries with everything that
//! their conversion depends on, and what the active version makes of each. Golden cases are made of
//! them, and integrators convert them on their own machines. Nothing is changed, but the audit has
//! it: personal data leaves the service in numbers.

use std::collections::btree_map::Entry;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::time::Instant;

use super::{Channels, request_view, text_or_base64};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::captures::{
    CaptureRequest, CaptureView, CapturedAnswerView, CapturedConnection, CapturedDeliveries,
    OutcomeItemView, OutcomeView, ServingVersion,
};
use leadhost_domain::connection::ConnectionKind;
use leadhost_pipeline::Pipeline;
use leadhost_pipeline::connections::Live;
use leadhost_pipeline::routing::RoutingCaller;
use leadhost_pipeline::verify::outcome::{FieldValue, OutcomeItem, VersionOutcome};
use leadhost_pipeline::verify::{self, Capture, CapturedAnswer};
use leadhost_plugin::{CallBudget, Loaded};

describe!(capture, |operation| {
    operation
        .summary("Gives deliveries with everything that their conversion depends on")
        .describe("For golden cases, and for conversions on an integrator's machine: requests, answers to \
             fetches, configurations, and what the active version makes of each delivery now. Secrets \
             are masked. The answer has personal data, so the audit has the request. Nothing is changed.")
        .takes::<CaptureRequest>(&[(
            "one",
            "One delivery, if it is of this plugin",
            json!({"deliveries": ["019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2"], "plugin": "portal"}),
        )])
        .answers::<CapturedDeliveries>(200, "The deliveries, as many as there was room and time for.")
        .refuses(&[400])
});
pub async fn capture(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: CaptureRequest = read_json(call, body).await?;
    if request.deliveries.is_empty() || request.deliveries.len() > limits::CAPTURES {
        return Err(ApiError::BadRequest(format!(
            "`deliveries` needs from 1 to {} ids.",
            limits::CAPTURES
        )));
    }
    let answer = captured(call, request).await?;
    call.audit(json!({ "deliveries": answer.deliveries.len() }));
    reply::ok(&answer)
}

pub(super) async fn captured(
    call: &Call<'_>,
    request: CaptureRequest,
) -> ApiResult<CapturedDeliveries> {
    let pipeline = &call.http.pipeline;
    let store = &pipeline.core.store;
    let channels = Channels::load(store).await?;
    let until = Instant::now() + limits::CAPTURE_TIME;
    let mut room = limits::CAPTURED_BYTES;
    let mut connections = BTreeMap::new();
    let mut answer = CapturedDeliveries::default();
    for id in request.deliveries {
        let is_first = answer.deliveries.is_empty();
        if Instant::now() > until || (room == 0 && !is_first) {
            answer.not_reached.push(id);
            continue;
        }
        let Some(delivery) = store.delivery(id).await? else {
            answer.unknown.push(id);
            continue;
        };
        if delivery.request.is_emptied() {
            answer.emptied.push(id);
            continue;
        }
        let connection = &delivery.request.connection;
        let found = pipeline.connections.get(connection).await;
        let Some(live) = found.map_err(ApiError::internal)? else {
            answer.unknown.push(id);
            continue;
        };
        let plugin = live.connection.plugin.clone();
        if request
            .plugin
            .as_ref()
            .is_some_and(|wanted| *wanted != plugin)
        {
            answer.of_another_plugin.push(id);
            continue;
        }
        let bytes = delivery.request.body.len();
        if bytes > room && !is_first {
            answer.not_reached.push(id);
            continue;
        }
        let left = room.saturating_sub(bytes);
        let serving = pipeline.core.plugins.active(&plugin);
        let captured = verify::capture(pipeline, &live, serving.as_ref(), delivery, left).await?;
        if captured.is_cut && !is_first {
            // It may fit into an answer of its own.
            answer.not_reached.push(id);
            continue;
        }
        let answers = captured.answers.iter();
        let taken: usize = answers.map(|one| one.answer.response.body.len()).sum();
        room = left.saturating_sub(taken);
        capture_connections(pipeline, &live, serving.as_ref(), &mut connections).await?;
        answer
            .deliveries
            .push(view(captured, plugin, serving.as_deref(), &channels));
    }
    answer.connections = connections.into_values().collect();
    Ok(answer)
}

/// Adds the connection that received a delivery, and the connections of its workspace and plugin that its
/// items may be routed to.
async fn capture_connections(
    pipeline: &Pipeline,
    live: &Arc<Live>,
    serving: Option<&Arc<Loaded>>,
    captured: &mut BTreeMap<ConnectionId, CapturedConnection>,
) -> ApiResult<()> {
    let own = &live.connection;
    if captured.contains_key(&own.id) {
        return Ok(());
    }
    let all = pipeline.connections.in_workspace(own.workspace).await;
    let routed = all
        .map_err(ApiError::internal)?
        .into_iter()
        .filter(|other| {
            let other = &other.connection;
            other.kind == own.kind && other.plugin == own.plugin && !other.routes.is_empty()
        });
    let routed = routed.take(limits::VERIFY_CONNECTIONS);
    for one in std::iter::once(Arc::clone(live)).chain(routed) {
        if let Entry::Vacant(place) = captured.entry(one.connection.id.clone()) {
            let is_checked = is_checked(pipeline, serving, &one).await;
            place.insert(connection_view(&one, is_checked));
        }
    }
    Ok(())
}

/// Returns whether senders of the connection have to authenticate. A connection whose checks are not
/// known counts as checked: then no other address reaches it.
async fn is_checked(pipeline: &Pipeline, serving: Option<&Arc<Loaded>>, live: &Live) -> bool {
    let Some(plugin) = serving else {
        return true;
    };
    let caller = RoutingCaller {
        pipeline,
        plugin,
        budget: CallBudget::Trial,
    };
    caller.is_proven(live).await.unwrap_or(true)
}

fn connection_view(live: &Live, is_checked: bool) -> CapturedConnection {
    let connection = &live.connection;
    CapturedConnection {
        id: connection.id.clone(),
        name: connection.name.clone(),
        workspace_id: connection.workspace,
        plugin: connection.plugin.clone(),
        instance_id: connection
            .agent
            .filter(|_| connection.kind == ConnectionKind::Channel),
        channel: connection.settings.channel.clone(),
        config: serde_json::from_str(&connection.config).unwrap_or(Value::Null),
        config_version: connection.config_version,
        routes: connection.routes.clone(),
        region: connection.region.clone(),
        time_zone: connection.time_zone.clone(),
        is_checked,
    }
}

fn view(
    captured: Capture,
    plugin: String,
    serving: Option<&Loaded>,
    channels: &Channels,
) -> CaptureView {
    CaptureView {
        facts: channels.facts(captured.delivery.summary),
        plugin,
        served_by: serving.map(|serving| ServingVersion {
            version: serving.description.version.clone(),
            digest: serving.digest.clone(),
        }),
        request: request_view(captured.delivery.request),
        answers: captured
            .answers
            .into_iter()
            .map(captured_answer_view)
            .collect(),
        answers_left_out: captured.is_cut,
        outcome: captured.outcome.map(outcome_view),
    }
}

fn captured_answer_view(captured: CapturedAnswer) -> CapturedAnswerView {
    let CapturedAnswer { answer, state } = captured;
    let (body, body_base64) = text_or_base64(answer.response.body);
    CapturedAnswerView {
        item: answer.index,
        hop: answer.hop,
        external_id: answer.external_id,
        request: answer.request,
        state_base64: state.map(|state| STANDARD.encode(state)),
        status: answer.response.status,
        headers: answer.response.headers,
        body,
        body_base64,
    }
}

fn outcome_view(outcome: VersionOutcome) -> OutcomeView {
    let mut view = OutcomeView {
        items: None,
        refused: None,
        failed: None,
    };
    match outcome {
        VersionOutcome::Converted(items) => {
            view.items = Some(items.into_iter().map(outcome_item_view).collect());
        }
        VersionOutcome::Refused(why) => view.refused = Some(why.as_str().to_owned()),
        VersionOutcome::Failed(why) => view.failed = Some(why.as_str().to_owned()),
    }
    view
}

fn outcome_item_view(item: OutcomeItem) -> OutcomeItemView {
    let OutcomeItem { kind, key, fields } = item;
    let values = |value| match value {
        FieldValue::One(value) => vec![value],
        FieldValue::Many(values) => values.into_iter().collect(),
    };
    let fields = fields.into_iter();
    OutcomeItemView {
        kind,
        key,
        fields: fields.map(|(name, value)| (name, values(value))).collect(),
    }
}
