//! Takes in a delivery of a source or of a channel's provider: check the sender, convert
//! the body, commit once, answer once.
//!
//! The caller runs this in a task of its own, so that a sender that disconnects loses nothing. A
//! delivery for an existing connection is stored before it is answered, even if its plugin fails.
//! Only a refusal by the store and the bounds of the intake turn a sender away, with 503 or 507, to
//! send again.

use std::net::IpAddr;

use bytes::Bytes;

use super::answering::{self, FilledReply, ReplyContext};
use super::check::{self, CheckError};
use super::connections::ConnectionError;
use super::convert;
use super::failure::{self, ConvertError};
use super::greeting;
use super::offload;
use super::proof::{self, Unmasked};
use super::rollout::{self, Chosen};
use super::search_keys;
use super::source_changes;
use crate::prelude::*;
use leadhost_domain::exchange::{SenderChecks, first};
use leadhost_domain::network;
use leadhost_store::{Acceptance, DeliveryOutcome};
use leadhost_telemetry::{CallSubject, describe_version};
use leadhost_trace::{self as trace, Span, SpanKind, StepFailure, StepOutcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Source(ConnectionId),
    /// The token names the connection, which must belong to the instance.
    Channel {
        instance: AgentId,
        token: ConnectionId,
    },
}

impl Address {
    fn connection(&self) -> &ConnectionId {
        match self {
            Self::Source(id) => id,
            Self::Channel { token, .. } => token,
        }
    }

    fn is_address_of(&self, connection: &Connection) -> bool {
        match self {
            Self::Source(_) => connection.kind == ConnectionKind::Source,
            Self::Channel { instance, .. } => {
                connection.kind == ConnectionKind::Channel && connection.agent == Some(*instance)
            }
        }
    }
}

#[derive(Debug)]
pub struct InboundRequest {
    pub address: Address,
    /// The sender, as far as it is known: the peer address, or the address that a trusted proxy
    /// names.
    pub peer: IpAddr,
    pub method: String,
    pub path: String,
    /// The URL as the sender sees it, with the query.
    pub public_url: String,
    pub query: Pairs,
    pub headers: Pairs,
    /// The decompressed body; as received, if it cannot be decompressed.
    pub body: Bytes,
    /// The received bytes, which signatures cover; `None` if they are the body.
    pub sent: Option<Bytes>,
    /// An operator sends it in the place of the source: the sender checks are not asked, since their
    /// proof is the source's to give.
    pub by_operator: bool,
}

impl InboundRequest {
    /// Sets the decompressed body, and keeps the received bytes: the headers describe these.
    pub fn decoded(mut self, body: Bytes) -> Self {
        self.sent = Some(std::mem::replace(&mut self.body, body));
        self
    }
}

#[derive(Debug)]
pub enum Received {
    /// Stored. The reply is the plugin's own, with its slots filled.
    Stored {
        outcome: DeliveryOutcome,
        reply: Option<FilledReply>,
    },
    /// The body was refused as a whole, and stored.
    Rejected {
        delivery: DeliveryId,
        message: String,
    },
    /// The sender check failed; the delivery is quarantined if there is room.
    Unproven,
}

#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    #[error("there is no connection at {0:?}")]
    UnknownAddress(Address),
    /// Too many deliveries of this connection are waiting: the sender must retry.
    #[error(
        "connection {0} has reached its limit of waiting deliveries (intake.waiting_of_connection, or its part of intake.waiting)"
    )]
    Full(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Connection(ConnectionError),
}

impl From<ConnectionError> for IntakeError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Store(error) => Self::Store(error),
            other => Self::Connection(other),
        }
    }
}

/// Checks whether a delivery to this address would be accepted, so that a sender is refused
/// before its body is read.
#[leadhost_boxed::boxed]
pub async fn expect(pipeline: &Pipeline, address: &Address) -> Result<ConnectionId, IntakeError> {
    let live = connection(pipeline, address).await?;
    // A sender that waits does not come back with another request, as it does at once after a refusal.
    pipeline.writer.room(&live.connection.id).await;
    has_room(pipeline, &live)?;
    Ok(live.connection.id.clone())
}

/// Refuses a delivery that could not be stored before it is converted: under load that time
/// is left for deliveries that can be stored.
fn has_room(pipeline: &Pipeline, live: &Live) -> Result<(), IntakeError> {
    let connection = &live.connection;
    if !pipeline.writer.has_room(&connection.id) {
        return Err(StoreError::Busy.into());
    }
    let waiting = &pipeline.waiting;
    if waiting.is_full(&connection.id, &pipeline.config.intake) {
        return Err(IntakeError::Full(connection.name.clone()));
    }
    Ok(())
}

#[leadhost_boxed::boxed]
pub async fn receive(
    pipeline: &Arc<Pipeline>,
    inbound: InboundRequest,
) -> Result<Received, IntakeError> {
    let waiting = trace::span("wait for turn", SpanKind::Internal);
    let live = connection(pipeline, &inbound.address).await?;
    let turns = &pipeline.turns;
    let _turn = turns.wait(&live.connection.id, pipeline.clock.now()).await;
    has_room(pipeline, &live)?;
    drop(waiting);
    let now = pipeline.clock.now();
    let peer = network::owner(inbound.peer);
    let by_operator = inbound.by_operator;
    let came = as_it_came(inbound, &live, now);
    let delivery = came.delivery.id;
    tracing::Span::current().record("delivery", tracing::field::display(delivery));
    let span = trace::span_of(delivery.0, "process delivery", SpanKind::Consumer);
    describe(&span, &live, delivery);
    span.set("messaging.message.body.size", came.delivery.body.len());
    let received = span
        .run(process(pipeline, &live, came, peer, by_operator))
        .await;
    if received.is_err() {
        span.fail(StepFailure::NotStored);
    }
    received
}

pub(super) fn describe(span: &Span, live: &Live, delivery: DeliveryId) {
    if span.is_on() {
        span.set("messaging.system", "leadhost");
        span.set("messaging.operation.name", "process");
        span.set("messaging.operation.type", "process");
        span.set("messaging.destination.name", live.connection.name.clone());
        span.set("messaging.message.id", delivery.0);
        span.set("leadhost.delivery.id", delivery.0);
    }
}

async fn process(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    came: Unmasked,
    peer: IpAddr,
    by_operator: bool,
) -> Result<Received, IntakeError> {
    let now = came.delivery.received_at;
    let Some(plugin) = pipeline.plugins.active(&live.connection.plugin) else {
        let reason = format!("no version of `{}` is active", live.connection.plugin);
        let result = failure::waits(&reason, 0, now);
        return keep_unchecked(pipeline, live, came, peer, result).await;
    };
    let checking = trace::span("check sender", SpanKind::Internal);
    let mut checks = checking
        .run(proof::checks(pipeline, live, &plugin, CallBudget::Brief))
        .await;
    if checks.is_err()
        && let Some(stable) = rollout::fallback(pipeline, &plugin)
        && let Ok(of_stable) = proof::checks(pipeline, live, &stable, CallBudget::Brief).await
    {
        checks = Ok(of_stable);
    }
    let checks = match checks {
        Ok(checks) => checks,
        Err(error) => {
            let ran = Some(plugin.ran_with(live.connection.config_version));
            checking.fail(StepFailure::ChecksUnknown);
            drop(checking);
            let result = failure::after_failure(pipeline, live, &error, ran, 0);
            return keep_unchecked(pipeline, live, came, peer, result).await;
        }
    };
    let is_long = offload::is_long(&came.delivery.body);
    let (came, checked) = if by_operator {
        (came, Ok(()))
    } else {
        let (checks, live) = (Arc::clone(&checks), Arc::clone(live));
        let check = move || {
            let checked = came.verify(&checks, &live);
            (came, checked)
        };
        offload::run(is_long, check).await
    };
    let outcome = match checked {
        Ok(()) => StepOutcome::Passed,
        Err(_) => StepOutcome::Refused,
    };
    checking.set("leadhost.check.outcome", outcome);
    drop(checking);
    if !by_operator {
        rollout::checks::compare(pipeline, live, &plugin, &came, &checked);
    }
    if let Err(why) = checked {
        return quarantine(pipeline, live, checks, came, peer, why).await;
    }
    let masking = trace::span("mask secrets", SpanKind::Internal);
    let delivery = {
        let (checks, live) = (Arc::clone(&checks), Arc::clone(live));
        offload::run(is_long, move || came.masked(&checks, &live)).await
    };
    drop(masking);
    take(pipeline, live, &plugin, &checks, delivery).await
}

async fn take(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    checks: &SenderChecks,
    delivery: NewDelivery,
) -> Result<Received, IntakeError> {
    let id = delivery.id;
    let converting = trace::span("convert", SpanKind::Internal);
    let work = rollout::convert(pipeline, live, plugin, &delivery, CallBudget::Inline);
    let chosen = converting.run(work).await;
    describe_conversion(&converting, &chosen);
    drop(converting);
    let is_complete = chosen.is_complete();
    let Chosen {
        plugin,
        converted,
        is_older,
        ..
    } = chosen;
    if !is_older {
        source_changes::converted(pipeline, live, &plugin, &delivery, &converted, false);
    }
    let (result, reply, problem) = match converted {
        Ok(converted) => {
            let result = failure::or_waits(pipeline, converted.result);
            (result, converted.reply, converted.problem)
        }
        Err(error) => {
            log_failure(live, &plugin, id, &error);
            let ran = Some(plugin.ran_with(live.connection.config_version));
            (
                failure::after_failure(pipeline, live, &error, ran, 0),
                None,
                None,
            )
        }
    };
    let acceptance = Acceptance {
        delivery,
        peer: None,
        result,
        keys: Vec::new(),
    };
    let outcome = commit(pipeline, live, acceptance).await?;
    if is_complete {
        rollout::answered(pipeline, &live.connection.plugin, id);
    }
    if let Some(problem) = problem {
        return Ok(Received::Rejected {
            delivery: id,
            message: problem.to_string(),
        });
    }
    let asked = ReplyContext {
        live,
        checks,
        shown: &plugin.reply_slots,
        query: None,
    };
    let reply = reply.and_then(|reply| {
        answering::compose(&reply, &asked)
            .inspect_err(|error| tracing::warn!(delivery = %id, connection = live.source_name(), instance = live.instance_name(), %error, "plugin reply withheld, default reply sent"))
            .ok()
    });
    Ok(Received::Stored { outcome, reply })
}

pub(super) fn describe_conversion(span: &Span, chosen: &Chosen) {
    if !span.is_on() {
        return;
    }
    describe_version(span, &chosen.plugin);
    match &chosen.converted {
        Ok(converted) => span.set("leadhost.items", converted.result.items.len()),
        Err(ConvertError::Call(error)) => span.fail(error.kind().as_str()),
        Err(_) => span.fail(StepFailure::Connection),
    }
}

/// Stores a delivery that cannot be checked yet, with its sealed proof. The worker checks
/// it before it converts.
async fn keep_unchecked(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    came: Unmasked,
    peer: IpAddr,
    mut result: leadhost_store::ConversionResult,
) -> Result<Received, IntakeError> {
    // The checks that the plugin declares are not known; the connection's own are.
    let (delivery, sealed) = put_away(pipeline, live, Arc::new(live.own_checks()), came).await;
    result.presented = Some(sealed);
    let acceptance = Acceptance {
        delivery,
        peer: Some(peer),
        result,
        keys: Vec::new(),
    };
    let outcome = commit(pipeline, live, acceptance).await?;
    Ok(Received::Stored {
        outcome,
        reply: None,
    })
}

/// Masks a delivery and seals its proof.
async fn put_away(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    checks: Arc<SenderChecks>,
    came: Unmasked,
) -> (NewDelivery, Vec<u8>) {
    let (pipeline, live) = (Arc::clone(pipeline), Arc::clone(live));
    let is_long = offload::is_long(&came.delivery.body);
    offload::run(is_long, move || came.put_away(&pipeline, &checks, &live)).await
}

async fn quarantine(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    checks: Arc<SenderChecks>,
    came: Unmasked,
    peer: IpAddr,
    why: CheckError,
) -> Result<Received, IntakeError> {
    tracing::warn!(delivery = %came.delivery.id, connection = live.source_name(), instance = live.instance_name(), %why, "sender check failed");
    let mut result = failure::empty(DeliveryStatus::Quarantined);
    result.error = Some(why.to_string());
    let (delivery, sealed) = put_away(pipeline, live, checks, came).await;
    result.presented = Some(sealed);
    let acceptance = Acceptance {
        delivery,
        peer: Some(peer),
        result,
        keys: Vec::new(),
    };
    commit_or_drop(pipeline, live, acceptance).await?;
    Ok(Received::Unproven)
}

/// Returns the connection at this address. That of a retired connection counts as unknown.
#[leadhost_boxed::boxed]
pub async fn connection(pipeline: &Pipeline, address: &Address) -> Result<Arc<Live>, IntakeError> {
    pipeline
        .connections
        .get(address.connection())
        .await?
        .filter(|live| address.is_address_of(&live.connection))
        .filter(|live| !live.connection.settings.retired)
        .ok_or_else(|| IntakeError::UnknownAddress(address.clone()))
}

fn as_it_came(inbound: InboundRequest, live: &Live, now: Micros) -> Unmasked {
    let delivery = NewDelivery {
        id: DeliveryId::new(now),
        workspace: live.connection.workspace,
        connection: live.connection.id.clone(),
        received_at: now,
        method: inbound.method,
        path: inbound.path,
        query: inbound.query,
        headers: inbound.headers,
        body: inbound.body.into(),
    };
    Unmasked {
        delivery,
        public_url: inbound.public_url,
        sent: inbound.sent,
    }
}

async fn commit(
    pipeline: &Pipeline,
    live: &Live,
    acceptance: Acceptance,
) -> Result<DeliveryOutcome, IntakeError> {
    let outcome = commit_or_drop(pipeline, live, acceptance).await?;
    outcome.ok_or_else(|| {
        IntakeError::Store(StoreError::Inconsistent {
            what: "the store did not accept a new delivery".to_owned(),
        })
    })
}

/// Returns `None` if the quarantine has no room for it.
async fn commit_or_drop(
    pipeline: &Pipeline,
    live: &Live,
    mut acceptance: Acceptance,
) -> Result<Option<DeliveryOutcome>, IntakeError> {
    let region = live.connection.region.clone();
    let is_long = offload::is_long(&acceptance.delivery.body);
    let acceptance = offload::run(is_long, move || {
        acceptance.keys = search_keys::of(&acceptance, &region);
        acceptance
    })
    .await;
    let sends = acceptance
        .result
        .items
        .iter()
        .any(|item| match &item.result {
            ItemResult::Lead(lead) => lead.greeting.is_some(),
            _ => false,
        });
    let connection = acceptance.delivery.connection.clone();
    let committing = Instant::now();
    // If a commit gets no answer, its batch waits longer than a sender should. The sender gets
    // an error, and learns the outcome when it retries.
    let written = tokio::select! {
        biased;
        written = pipeline.writer.submit(Write::Accept(Box::new(acceptance))) => written?,
        lost = pipeline.store.lost() => return Err(lost.into()),
    };
    match written {
        WriteOutcome::Done(outcome) => {
            if sends {
                pipeline.wake();
            }
            greeting::trace_stored(&outcome.greeted, committing);
            pipeline.metrics.intake.delivery(outcome.status);
            pipeline.metrics.intake.quarantine_evicted(outcome.evicted);
            if matches!(
                outcome.status,
                DeliveryStatus::Queued | DeliveryStatus::Failed
            ) {
                pipeline.one_more_waits(&connection);
            }
            Ok(Some(outcome))
        }
        WriteOutcome::NotKept => {
            pipeline.metrics.intake.quarantine_refused();
            Ok(None)
        }
        _ => Ok(None),
    }
}

fn log_failure(live: &Live, plugin: &Loaded, delivery: DeliveryId, error: &ConvertError) {
    match error {
        ConvertError::Call(
            CallError::Busy
            | CallError::CircuitOpen { .. }
            | CallError::OutOfTime { inline: true, .. },
        ) => {
            tracing::debug!(%delivery, connection = live.source_name(), instance = live.instance_name(), %error, "delivery left to the worker");
        }
        ConvertError::Undecoded(_) => {
            tracing::warn!(%delivery, connection = live.source_name(), instance = live.instance_name(), %error, "delivery stored, it cannot be read");
        }
        _ => tracing::warn!(
            %delivery,
            connection = live.source_name(),
            instance = live.instance_name(),
            plugin = %plugin.description.name,
            digest = plugin.digest.short(),
            %error,
            "plugin failed, delivery stored for a retry"
        ),
    }
}

#[derive(Debug)]
pub enum Handshake {
    Answer(FilledReply),
    /// This source has no handshake.
    None,
    /// A required secret does not match, or the connection lacks it.
    Refused,
    /// The plugin's answer must not be sent; the log gives the reason.
    Withheld,
    /// The converter cannot read the request.
    Invalid(String),
    /// The converter cannot be called now.
    Unavailable(String),
}

#[leadhost_boxed::boxed]
pub async fn handshake(
    pipeline: &Arc<Pipeline>,
    inbound: InboundRequest,
) -> Result<Handshake, IntakeError> {
    let live = connection(pipeline, &inbound.address).await?;
    let Some(plugin) = pipeline.plugins.active(&live.connection.plugin) else {
        return Ok(Handshake::Unavailable(format!(
            "no version of `{}` is active",
            live.connection.plugin
        )));
    };
    let came = as_it_came(inbound, &live, pipeline.clock.now());
    let query = came.delivery.query.clone();
    let shown = came.masked(&live.own_checks(), &live);
    let input = convert::input(&live, &shown);
    let lane = live.connection.id.as_str();
    // Callers are not authenticated, so the budget is as small as a request's.
    let ask = pipeline
        .plugins
        .handshake(&plugin, lane, input, CallBudget::Brief);
    let answer = match pipeline
        .metrics
        .plugins
        .calling(&plugin, CallSubject::Connection, ask)
        .await
    {
        Ok(Ok(Some(answer))) => answer,
        Ok(Ok(None)) => return Ok(Handshake::None),
        Ok(Err(problem)) => return Ok(Handshake::Invalid(problem.message)),
        Err(error) => return Ok(Handshake::Unavailable(error.to_string())),
    };
    for requirement in &answer.require {
        let presented = first(&query, &requirement.query_field);
        let holds = match (live.secrets.get(&requirement.secret), presented) {
            (Some(secret), Some(presented)) => check::same(secret.as_bytes(), presented.as_bytes()),
            _ => false,
        };
        if !holds {
            tracing::warn!(connection = live.source_name(), instance = live.instance_name(), secret = %requirement.secret, "handshake refused");
            return Ok(Handshake::Refused);
        }
    }
    let checks = if answering::has_slots(&answer.reply) {
        match proof::checks(pipeline, &live, &plugin, CallBudget::Brief).await {
            Ok(checks) => checks,
            // Without them it is not known which secrets senders use.
            Err(error) => {
                return Ok(Handshake::Unavailable(format!(
                    "the sender checks are not known: {error}"
                )));
            }
        }
    } else {
        Arc::default()
    };
    let asked = ReplyContext {
        live: &live,
        checks: &checks,
        shown: &plugin.reply_slots,
        query: Some(&query),
    };
    match answering::compose(&answer.reply, &asked) {
        Ok(reply) => Ok(Handshake::Answer(reply)),
        Err(error) => {
            tracing::warn!(connection = live.source_name(), instance = live.instance_name(), plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "handshake answer withheld");
            Ok(Handshake::Withheld)
        }
    }
}
