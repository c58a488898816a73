//! One conversion, from a stored or fresh request to what the store accepts:
//! leads of a source, events of a channel. Intake, worker and replay decide what
//! to do about the result; how it comes about is the same for all of them.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::check::{self, CheckError, Presented};
use super::connections::{ConnectionError, Live};
use super::mask::Mask;
use super::routing::Routing;
use super::{events, greeting, normalise, props, spawn, templates};
use crate::app::App;
use crate::domain::connection::ConnectionKind;
use crate::domain::delivery::{Body, DeliveryStatus};
use crate::domain::exchange::{Location, Problem, Reply, SenderChecks};
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

/// A delivery as it came, with its secrets.
pub struct Unmasked {
    pub delivery: NewDelivery,
    /// The address as the sender sees it, with the query.
    pub public_url: String,
    /// The bytes that came, when they were compressed: the headers speak of these.
    pub sent: Option<Bytes>,
}

impl Unmasked {
    pub fn verify(&self, checks: &SenderChecks, live: &Live) -> Result<(), CheckError> {
        let delivery = &self.delivery;
        let presented = Presented {
            method: &delivery.method,
            public_url: &self.public_url,
            query: &delivery.query,
            headers: &delivery.headers,
            body: &delivery.body,
            sent: self.sent.as_deref().unwrap_or(&delivery.body),
        };
        verify(presented, checks, live, delivery.received_at)
    }

    /// As a plugin and the store get it.
    pub fn masked(self, carried: &SenderChecks, live: &Live) -> NewDelivery {
        redacted(self.into_kept(), carried, live)
    }

    /// The delivery as it is kept until its sender is proven, and beside it,
    /// sealed, what proves it.
    pub fn put_away(
        self,
        app: &App,
        carried: &SenderChecks,
        live: &Live,
    ) -> (NewDelivery, Vec<u8>) {
        let came = &self.delivery;
        let mask = Mask::of(&live.secrets);
        let carried = &carried.carried_secrets;
        let body = mask.body(&came.body, carried);
        let differs = body.as_ref().is_some_and(|masked| came.body != *masked);
        let plain = serde_json::to_vec(&Evidence {
            public_url: Cow::Borrowed(self.public_url.as_str()),
            query: Cow::Borrowed(came.query.as_slice()),
            headers: Cow::Borrowed(came.headers.as_slice()),
            body: differs.then(|| STANDARD.encode(&came.body)),
            sent: self.sent.clone(),
        })
        .expect("texts are always JSON");
        let sealed = app.sealer.seal(&plain, context(came).as_bytes());
        (redacted_to(self.into_kept(), &mask, carried, body), sealed)
    }

    fn into_kept(self) -> NewDelivery {
        let mut delivery = self.delivery;
        if self.sent.is_some() {
            // They speak of the bytes that came, and not of the body that is kept.
            delivery.headers.retain(|(name, _)| {
                !matches!(name.as_str(), "content-encoding" | "content-length")
            });
        }
        delivery
    }
}

/// What the sender presented, in full: sealed beside a delivery that could not
/// be checked, so that it can be later.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Evidence<'a> {
    public_url: Cow<'a, str>,
    query: Cow<'a, [(String, String)]>,
    headers: Cow<'a, [(String, String)]>,
    /// In base64, when something in it is masked where it is kept: a signature
    /// is over the body as it came.
    #[serde(default)]
    body: Option<String>,
    /// The bytes that came, when they were compressed.
    #[serde(default, with = "in_base64")]
    sent: Option<Bytes>,
}

impl Evidence<'static> {
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
            .and_then(|body| STANDARD.decode(body).ok())
            .map(Body::from);
        let body = own.as_ref().unwrap_or(&delivery.body);
        let presented = Presented {
            method: &delivery.method,
            public_url: &self.public_url,
            query: &self.query,
            headers: &self.headers,
            body,
            sent: self.sent.as_deref().unwrap_or(body),
        };
        verify(presented, checks, live, delivery.received_at)
    }
}

/// The time of signing was right when it was received, or never.
fn verify(
    presented: Presented<'_>,
    checks: &SenderChecks,
    live: &Live,
    received_at: Micros,
) -> Result<(), CheckError> {
    check::verify(&checks.checks, &live.secrets, presented, received_at)
}

/// Bytes as a text of JSON, which they become when they are sealed and not before.
mod in_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &Option<Bytes>, to: S) -> Result<S::Ok, S::Error> {
        let text = bytes.as_ref().map(|bytes| STANDARD.encode(bytes));
        text.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let bytes = text.map(|text| STANDARD.decode(text).map(Bytes::from));
        bytes.transpose().map_err(de::Error::custom)
    }
}

fn context(delivery: &NewDelivery) -> String {
    format!("presented:{}", delivery.id)
}

/// The delivery as it is kept: credentials masked.
pub fn redacted(delivery: NewDelivery, carried: &SenderChecks, live: &Live) -> NewDelivery {
    let mask = Mask::of(&live.secrets);
    let carried = &carried.carried_secrets;
    let body = mask.body(&delivery.body, carried);
    redacted_to(delivery, &mask, carried, body)
}

/// The same, where it is known what the body becomes, if it does not stay.
fn redacted_to(
    mut delivery: NewDelivery,
    mask: &Mask<'_>,
    carried: &[Location],
    body: Option<Vec<u8>>,
) -> NewDelivery {
    mask.own(&mut delivery.path);
    mask.pairs("query", &mut delivery.query, carried);
    mask.pairs("header", &mut delivery.headers, carried);
    if let Some(body) = body {
        delivery.body = body.into();
    }
    delivery
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
    if delivery.body.depth() > limits::JSON_DEPTH {
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
        body: delivery.body.shared(),
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
