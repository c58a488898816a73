//! One conversion, from a stored or fresh request to what the store accepts:
//! leads of a source, events of a channel. Intake, worker and replay decide what
//! to do about the result; how it comes about is the same for all of them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::check::{self, CheckError, Presented};
use super::connections::{ConnectionError, Live};
use super::routing::Routing;
use super::{events, greeting, mask, normalise, props, spawn, templates};
use crate::app::App;
use crate::domain::connection::ConnectionKind;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::exchange::{Pairs, Problem, Reply, SenderChecks};
use crate::domain::json;
use crate::domain::plugin::{PluginDelivery, RanWith};
use crate::domain::time::Micros;
use crate::limits;
use crate::plugin::{Budget, CallError, Loaded};
use crate::store::{ConversionResult, NewDelivery, NewItem};

/// A conversion that came to an end.
pub struct Converted {
    pub result: ConversionResult,
    pub reply: Option<Reply>,
    /// The converter refused the body as a whole.
    pub problem: Option<Problem>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The plugin could not be called, or failed.
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The plugin cannot say how this connection's senders prove themselves.
    #[error("the plugin refuses the configuration: {}", .0.message)]
    Configuration(Problem),
}

/// How this connection's senders prove themselves, under this version.
pub async fn checks(
    app: &App,
    live: &Live,
    plugin: &Arc<Loaded>,
    budget: Budget,
) -> Result<Arc<SenderChecks>, ConvertError> {
    if let Some(checks) = live.checks_of(&plugin.digest) {
        return Ok(checks);
    }
    let known = &app.pipeline.connections.declared;
    if let Some(declared) = known.get(&live.connection, &plugin.digest) {
        return Ok(live.with_own(&plugin.digest, &declared));
    }
    let lane = live.connection.id.as_str();
    let ask = app
        .plugins
        .sender_checks(plugin, lane, &live.connection.config, budget);
    let declared = app
        .metrics
        .calling(plugin, ask)
        .await?
        .map_err(ConvertError::Configuration)?;
    let declared = known.keep(&live.connection, &plugin.digest, declared);
    Ok(live.with_own(&plugin.digest, &declared))
}

/// What the sender presented, in full: sealed beside a delivery that could not
/// be checked, so that it can be later.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Evidence {
    pub public_url: String,
    pub query: Pairs,
    pub headers: Pairs,
    /// In base64, when something in it is masked where it is kept: a signature
    /// is over the body as it came.
    #[serde(default)]
    pub body: Option<String>,
    /// The bytes that came, when they were compressed.
    #[serde(default, with = "in_base64")]
    pub sent: Option<Vec<u8>>,
}

impl Evidence {
    /// The delivery as it is kept until its sender is proven, and beside it,
    /// sealed, what proves it.
    pub fn put_away(
        mut self,
        app: &App,
        delivery: &NewDelivery,
        checks: &SenderChecks,
        live: &Live,
    ) -> (NewDelivery, Vec<u8>) {
        let kept = redacted(delivery, checks, live);
        self.body = (kept.body != delivery.body).then(|| STANDARD.encode(&delivery.body));
        let plain = serde_json::to_vec(&self).expect("texts are always JSON");
        let sealed = app.sealer.seal(&plain, context(delivery).as_bytes());
        (kept, sealed)
    }

    pub fn open(app: &App, delivery: &NewDelivery, sealed: &[u8]) -> Option<Self> {
        let plain = app.sealer.open(sealed, context(delivery).as_bytes()).ok()?;
        serde_json::from_slice(&plain).ok()
    }

    pub fn verify(
        &self,
        checks: &SenderChecks,
        live: &Live,
        delivery: &NewDelivery,
    ) -> Result<(), CheckError> {
        let own = self
            .body
            .as_deref()
            .and_then(|body| STANDARD.decode(body).ok());
        let body = own.as_deref().unwrap_or(&delivery.body);
        let sent = Presented {
            method: &delivery.method,
            public_url: &self.public_url,
            query: &self.query,
            headers: &self.headers,
            body,
            sent: self.sent.as_deref().unwrap_or(body),
        };
        // The time of signing was right when it was received, or never.
        check::verify(&checks.checks, &live.secrets, sent, delivery.received_at)
    }
}

/// Bytes as a text of JSON, which they become when they are sealed and not before.
mod in_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        let text = bytes.as_ref().map(|bytes| STANDARD.encode(bytes));
        text.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text).map_err(de::Error::custom))
            .transpose()
    }
}

fn context(delivery: &NewDelivery) -> String {
    format!("presented:{}", delivery.id)
}

/// The delivery as it is kept: credentials masked.
pub fn redacted(delivery: &NewDelivery, carried: &SenderChecks, live: &Live) -> NewDelivery {
    let carried = &carried.carried_secrets;
    NewDelivery {
        path: mask::text(&delivery.path, &live.secrets).into_owned(),
        query: mask::pairs("query", &delivery.query, carried, &live.secrets),
        headers: mask::pairs("header", &delivery.headers, carried, &live.secrets),
        body: mask::body(delivery.body.clone(), carried, &live.secrets),
        ..delivery.clone()
    }
}

/// Converts a delivery whose sender was checked.
pub async fn convert(
    app: &Arc<App>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Result<Converted, ConvertError> {
    let ran = plugin.ran_with(live.connection.config_version);
    if json::too_deep(&delivery.body, limits::JSON_DEPTH) {
        let problem = Problem {
            message: format!(
                "the body is nested deeper than {} levels",
                limits::JSON_DEPTH
            ),
            path: String::new(),
        };
        return Ok(refused(ran, problem));
    }
    let read = match live.connection.kind {
        ConnectionKind::Source => leads(app, live, plugin, delivery, budget).await?,
        ConnectionKind::Channel => events(app, live, plugin, delivery, budget).await?,
    };
    let read = match read {
        Ok(read) => read,
        Err(problem) => return Ok(refused(ran, problem)),
    };
    // What an operator looks at again was counted when it came.
    if budget != Budget::Operator {
        live.content(&app.metrics).conversion(&read.items);
    }
    Ok(Converted {
        result: ConversionResult {
            status: None,
            items: read.items,
            ran: Some(ran),
            error: None,
            notes: read.notes,
            attempts: 0,
            next_attempt_at: None,
            presented: None,
        },
        reply: read.reply,
        problem: None,
    })
}

/// What a plugin made of a delivery, as the store accepts it.
struct Read {
    items: Vec<NewItem>,
    reply: Option<Reply>,
    notes: Vec<String>,
}

/// A source's delivery, by its converter.
async fn leads(
    app: &Arc<App>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Result<Result<Read, Problem>, ConvertError> {
    let lane = live.connection.id.as_str();
    let convert = app
        .plugins
        .convert(plugin, lane, input(live, delivery), budget);
    let conversion = match app.metrics.calling(plugin, convert).await? {
        Ok(conversion) => conversion,
        Err(problem) => return Ok(Err(problem)),
    };
    let routing = Routing {
        app,
        plugin,
        received_by: live,
    };
    let mut items = normalise::items(
        &routing,
        conversion.items,
        app.clock.now(),
        fetch_until(app, delivery.received_at),
    )
    .await?;
    let mut notes = conversion.notes;
    let results = items.iter_mut().map(|item| &mut item.result);
    greeting::add(app, results, &mut notes).await?;
    props::note_left_out(items.iter().map(|item| &item.result), &mut notes);
    Ok(Ok(Read {
        items,
        reply: conversion.reply,
        notes,
    }))
}

/// A channel's webhook, by its adapter.
async fn events(
    app: &Arc<App>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Result<Result<Read, Problem>, ConvertError> {
    let lane = live.connection.id.as_str();
    let ask = app
        .plugins
        .read_webhook(plugin, lane, input(live, delivery), budget);
    let webhook = match app.metrics.calling(plugin, ask).await? {
        Ok(webhook) => webhook,
        Err(problem) => return Ok(Err(problem)),
    };
    let routing = Routing {
        app,
        plugin,
        received_by: live,
    };
    let read = events::read(&routing, webhook.events, delivery.received_at).await?;
    for channel in read.stale_templates {
        let task_app = Arc::clone(app);
        // What is asked for meanwhile waits for nobody.
        spawn(app, async move {
            if let Err(error) = templates::sync(&task_app, &channel).await {
                tracing::warn!(instance = %channel.connection.name, %error, "the list of templates cannot be kept");
            }
        });
    }
    Ok(Ok(Read {
        items: read.items,
        reply: webhook.reply,
        notes: webhook.notes,
    }))
}

/// A kept delivery as its converter gets it.
pub fn input(live: &Live, delivery: &NewDelivery) -> PluginDelivery {
    PluginDelivery {
        id: delivery.id.to_string(),
        received_at: delivery.received_at.text(),
        method: delivery.method.clone(),
        path: delivery.path.clone(),
        query: delivery.query.clone(),
        headers: delivery.headers.clone(),
        body: delivery.body.clone(),
        config: live.connection.config.clone(),
        context: live.context(),
    }
}

/// Past this a fetch of this delivery is given up.
pub fn fetch_until(app: &App, received_at: Micros) -> Micros {
    received_at.plus(app.config.worker.fetch_days * Micros::DAY)
}

fn refused(ran: RanWith, problem: Problem) -> Converted {
    Converted {
        result: ConversionResult {
            ran: Some(ran),
            error: Some(problem.to_string()),
            ..empty(DeliveryStatus::Rejected)
        },
        reply: None,
        problem: Some(problem),
    }
}

/// A result without items.
pub fn empty(status: DeliveryStatus) -> ConversionResult {
    ConversionResult {
        status: Some(status),
        items: vec![],
        ran: None,
        error: None,
        notes: vec![],
        attempts: 0,
        next_attempt_at: None,
        presented: None,
    }
}

/// The delivery waits, and nobody is at fault.
pub fn waits(reason: &str, attempts: u32, at: Micros) -> ConversionResult {
    ConversionResult {
        error: Some(reason.to_owned()),
        attempts,
        next_attempt_at: Some(at),
        ..empty(DeliveryStatus::Queued)
    }
}

/// A large conversion is done again by the worker and committed in parts: others
/// wait for the store too.
pub fn or_waits(app: &App, result: ConversionResult) -> ConversionResult {
    if !result.is_large() {
        return result;
    }
    let reason = format!(
        "it has {} items, which are taken in beside other work",
        result.items.len()
    );
    waits(&reason, 0, app.clock.now())
}

/// What a failed conversion leaves: waiting when it was not the plugin's fault,
/// else failed and due again later, and parked after the third time on one digest.
pub fn after_failure(
    app: &App,
    error: &ConvertError,
    ran: Option<RanWith>,
    failures_before: u32,
) -> ConversionResult {
    let now = app.clock.now();
    match error {
        ConvertError::Call(
            CallError::Busy | CallError::ShuttingDown | CallError::OutOfTime { inline: true, .. },
        ) => waits(&error.to_string(), failures_before, now),
        // Failed, so that another version tries it at once.
        ConvertError::Call(CallError::CircuitOpen { until, .. }) => ConversionResult {
            ran,
            error: Some(error.to_string()),
            attempts: failures_before,
            next_attempt_at: Some(*until),
            ..empty(DeliveryStatus::Failed)
        },
        ConvertError::Connection(_) => waits(
            &error.to_string(),
            failures_before,
            now.plus_seconds(app.config.worker.backoff_first_seconds),
        ),
        ConvertError::Call(_) | ConvertError::Configuration(_) => {
            let attempts = failures_before + 1;
            let parked = attempts >= limits::ATTEMPTS_PER_DIGEST;
            let mut result = empty(if parked {
                DeliveryStatus::Parked
            } else {
                DeliveryStatus::Failed
            });
            result.ran = ran;
            result.error = Some(error.to_string());
            result.attempts = attempts;
            result.next_attempt_at =
                (!parked).then(|| now.plus_seconds(backoff_seconds(app, attempts)));
            result
        }
    }
}

/// Seconds until the worker's next attempt, after this many.
pub fn backoff_seconds(app: &App, attempts: u32) -> i64 {
    let worker = &app.config.worker;
    super::doubled(
        worker.backoff_first_seconds,
        worker.backoff_longest_seconds,
        attempts,
    )
}
