//! A delivery comes in, of a source or of a channel's provider: who sent it,
//! what is in it, one commit, one answer.
//!
//! The caller runs this in a task of its own, so that a sender that hangs up
//! loses nothing. Whatever the plugin does, a delivery whose connection exists
//! is stored before it is answered; only the store's own refusal and the
//! intake's bounds turn a sender away, with 503 or 507, to come again.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::answering::{self, Asked, FilledReply};
use super::check::{self, CheckError};
use super::connections::{ConnectionError, Live};
use super::convert;
use super::failure::{self, ConvertError};
use super::proof::{self, Unmasked};
use crate::domain::connection::{Connection, ConnectionKind};
use crate::domain::delivery::DeliveryStatus;
use crate::domain::exchange::{Pairs, SenderChecks, first};
use crate::domain::id::{AgentId, ConnectionId, DeliveryId};
use crate::domain::network;
use crate::domain::time::Micros;
use crate::pipeline::state::Pipeline;
use crate::plugin::{Budget, CallError, Loaded};
use crate::store::{
    Acceptance, DeliveryOutcome, ItemResult, NewDelivery, StoreError, Write, Written,
};

/// Where a request was sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Source(ConnectionId),
    /// The token names the connection, and the instance must be its own.
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

    /// Whether the connection is the one that this is the address of.
    fn is_of(&self, connection: &Connection) -> bool {
        match self {
            Self::Source(_) => connection.kind == ConnectionKind::Source,
            Self::Channel { instance, .. } => {
                connection.kind == ConnectionKind::Channel && connection.agent == Some(*instance)
            }
        }
    }
}

/// A request to a connection's address, complete.
#[derive(Debug)]
pub struct Inbound {
    pub address: Address,
    /// Who sent it, as far as can be told: the far end, or whom a trusted proxy names.
    pub peer: IpAddr,
    pub method: String,
    pub path: String,
    /// The address as the sender sees it, with the query.
    pub public_url: String,
    pub query: Pairs,
    /// Names in lower case.
    pub headers: Pairs,
    /// As it was before it was compressed.
    pub body: Bytes,
    /// The bytes that came, which a signature is over; `None`: those of the body.
    pub sent: Option<Bytes>,
}

impl Inbound {
    /// The body came in another form, of which the headers speak.
    pub fn as_sent(mut self, sent: Bytes) -> Self {
        self.sent = Some(sent);
        self
    }
}

/// What the sender hears.
#[derive(Debug)]
pub enum Received {
    /// In the store. The reply is the plugin's own, its slots filled.
    Stored {
        outcome: DeliveryOutcome,
        reply: Option<FilledReply>,
    },
    /// The body was refused as a whole, and kept.
    Rejected {
        delivery: DeliveryId,
        message: String,
    },
    /// The sender could not prove itself; kept when there was room.
    Unproven,
}

#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    #[error("there is no connection at {0:?}")]
    UnknownAddress(Address),
    /// Too much of this connection waits already: the sender comes again.
    #[error("too many deliveries of connection {0} wait already")]
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

/// Whether a delivery to this address would be taken in: whoever sends one hears
/// otherwise before its body is read.
pub async fn expect(pipeline: &Pipeline, address: &Address) -> Result<ConnectionId, IntakeError> {
    let live = connection(pipeline, address).await?;
    has_room(pipeline, &live)?;
    Ok(live.connection.id.clone())
}

/// What could not be stored in the end is not converted before: under load the time for
/// it is that of deliveries which can be.
fn has_room(pipeline: &Pipeline, live: &Live) -> Result<(), IntakeError> {
    let connection = &live.connection;
    if !pipeline.core.writer.has_room(&connection.id) {
        return Err(StoreError::Busy.into());
    }
    let waiting = &pipeline.waiting;
    if waiting.is_full(&connection.id, &pipeline.core.config.intake) {
        return Err(IntakeError::Full(connection.name.clone()));
    }
    Ok(())
}

/// Takes a delivery in.
pub async fn receive(pipeline: &Arc<Pipeline>, inbound: Inbound) -> Result<Received, IntakeError> {
    let live = connection(pipeline, &inbound.address).await?;
    let turns = &pipeline.turns;
    let _turn = turns
        .wait(&live.connection.id, pipeline.core.clock.now())
        .await;
    has_room(pipeline, &live)?;
    let now = pipeline.core.clock.now();
    let peer = network::owner(inbound.peer);
    let came = as_it_came(inbound, &live, now);

    let Some(plugin) = pipeline.core.plugins.active(&live.connection.plugin) else {
        let reason = format!("no version of `{}` is active", live.connection.plugin);
        let result = failure::waits(&reason, 0, now);
        return keep_unchecked(pipeline, &live, came, peer, result).await;
    };
    let checks = match proof::checks(pipeline, &live, &plugin, Budget::Brief).await {
        Ok(checks) => checks,
        Err(error) => {
            let ran = Some(plugin.ran_with(live.connection.config_version));
            let result = failure::after_failure(pipeline, &error, ran, 0);
            return keep_unchecked(pipeline, &live, came, peer, result).await;
        }
    };
    if let Err(why) = came.verify(&checks, &live) {
        return quarantine(pipeline, &live, &checks, came, peer, why).await;
    }
    let delivery = came.masked(&checks, &live);
    take(pipeline, &live, &plugin, &checks, delivery).await
}

/// Converts within the inline budget and commits whatever comes of it.
async fn take(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    checks: &SenderChecks,
    delivery: NewDelivery,
) -> Result<Received, IntakeError> {
    let id = delivery.id;
    let (result, reply, problem) =
        match convert::convert(pipeline, live, plugin, &delivery, Budget::Inline).await {
            Ok(converted) => {
                let result = failure::or_waits(pipeline, converted.result);
                (result, converted.reply, converted.problem)
            }
            Err(error) => {
                log_failure(live, plugin, id, &error);
                let ran = Some(plugin.ran_with(live.connection.config_version));
                (failure::after_failure(pipeline, &error, ran, 0), None, None)
            }
        };
    let acceptance = Acceptance {
        delivery,
        peer: None,
        result,
    };
    let outcome = commit(pipeline, acceptance).await?;
    if let Some(problem) = problem {
        return Ok(Received::Rejected {
            delivery: id,
            message: problem.to_string(),
        });
    }
    let asked = Asked {
        live,
        checks,
        shown: &plugin.reply_slots,
        query: None,
    };
    let reply = reply.and_then(|reply| {
        answering::compose(&reply, &asked)
            .inspect_err(|error| tracing::warn!(delivery = %id, connection = live.source_name(), instance = live.instance_name(), %error, "the plugin's reply is not given; ours is"))
            .ok()
    });
    Ok(Received::Stored { outcome, reply })
}

/// Stores what could not be checked yet, with what the sender presented, sealed:
/// the worker checks it before it converts.
async fn keep_unchecked(
    pipeline: &Arc<Pipeline>,
    live: &Live,
    came: Unmasked,
    peer: IpAddr,
    mut result: crate::store::ConversionResult,
) -> Result<Received, IntakeError> {
    // What the plugin declares is not known; what the connection adds is.
    let (delivery, sealed) = came.put_away(pipeline, &live.own_checks(), live);
    result.presented = Some(sealed);
    let acceptance = Acceptance {
        delivery,
        peer: Some(peer),
        result,
    };
    let outcome = commit(pipeline, acceptance).await?;
    Ok(Received::Stored {
        outcome,
        reply: None,
    })
}

async fn quarantine(
    pipeline: &Arc<Pipeline>,
    live: &Live,
    checks: &SenderChecks,
    came: Unmasked,
    peer: IpAddr,
    why: CheckError,
) -> Result<Received, IntakeError> {
    tracing::warn!(delivery = %came.delivery.id, connection = live.source_name(), instance = live.instance_name(), %why, "a sender could not prove itself");
    let mut result = failure::empty(DeliveryStatus::Quarantined);
    result.error = Some(why.to_string());
    let (delivery, sealed) = came.put_away(pipeline, checks, live);
    result.presented = Some(sealed);
    let acceptance = Acceptance {
        delivery,
        peer: Some(peer),
        result,
    };
    commit_or_drop(pipeline, acceptance).await?;
    Ok(Received::Unproven)
}

/// The connection that is at this address.
pub async fn connection(pipeline: &Pipeline, address: &Address) -> Result<Arc<Live>, IntakeError> {
    pipeline
        .connections
        .get(address.connection())
        .await?
        .filter(|live| address.is_of(&live.connection))
        .ok_or_else(|| IntakeError::UnknownAddress(address.clone()))
}

fn as_it_came(inbound: Inbound, live: &Live, now: Micros) -> Unmasked {
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
    acceptance: Acceptance,
) -> Result<DeliveryOutcome, IntakeError> {
    let outcome = commit_or_drop(pipeline, acceptance).await?;
    outcome.ok_or_else(|| {
        IntakeError::Store(StoreError::Inconsistent {
            what: "a new delivery was not taken by the store".to_owned(),
        })
    })
}

/// `None` when the quarantine has no room for it.
async fn commit_or_drop(
    pipeline: &Pipeline,
    acceptance: Acceptance,
) -> Result<Option<DeliveryOutcome>, IntakeError> {
    let sends = acceptance
        .result
        .items
        .iter()
        .any(|item| match &item.result {
            ItemResult::Lead(lead) => lead.greeting.is_some(),
            _ => false,
        });
    let connection = acceptance.delivery.connection.clone();
    // A batch whose commit gets no answer is waited for longer than a sender has to
    // be: what came of it, the sender hears when it comes again.
    let written = tokio::select! {
        biased;
        written = pipeline.core.writer.submit(Write::Accept(Box::new(acceptance))) => written?,
        lost = pipeline.core.store.lost() => return Err(lost.into()),
    };
    match written {
        Written::Done(outcome) => {
            if sends {
                pipeline.wake();
            }
            pipeline.core.metrics.delivery(outcome.status);
            pipeline.core.metrics.quarantine_evicted(outcome.evicted);
            if matches!(
                outcome.status,
                DeliveryStatus::Queued | DeliveryStatus::Failed
            ) {
                pipeline.one_more_waits(&connection);
            }
            Ok(Some(outcome))
        }
        Written::NotKept => {
            pipeline.core.metrics.quarantine_refused();
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
            tracing::debug!(%delivery, connection = live.source_name(), instance = live.instance_name(), %error, "the delivery waits for the worker");
        }
        _ => tracing::warn!(
            %delivery,
            connection = live.source_name(),
            instance = live.instance_name(),
            plugin = %plugin.description.name,
            digest = plugin.digest.short(),
            %error,
            "the plugin failed; the delivery is kept and tried again"
        ),
    }
}

/// What a source hears that makes sure of the address.
#[derive(Debug)]
pub enum Handshake {
    Answer(FilledReply),
    /// This source has no handshake.
    None,
    /// A required secret does not match, or the connection lacks it.
    Refused,
    /// The plugin's answer may not go out; the log says why.
    Withheld,
    /// The converter cannot read the request.
    Invalid(String),
    /// The converter cannot be asked now.
    Unavailable(String),
}

/// Answers a source's GET.
pub async fn handshake(
    pipeline: &Arc<Pipeline>,
    inbound: Inbound,
) -> Result<Handshake, IntakeError> {
    let live = connection(pipeline, &inbound.address).await?;
    let Some(plugin) = pipeline.core.plugins.active(&live.connection.plugin) else {
        return Ok(Handshake::Unavailable(format!(
            "no version of `{}` is active",
            live.connection.plugin
        )));
    };
    let came = as_it_came(inbound, &live, pipeline.core.clock.now());
    let query = came.delivery.query.clone();
    let shown = came.masked(&live.own_checks(), &live);
    let input = convert::input(&live, &shown);
    let lane = live.connection.id.as_str();
    // Anybody may ask, so it is as short as what a request may take.
    let ask = pipeline
        .core
        .plugins
        .handshake(&plugin, lane, input, Budget::Brief);
    let answer = match pipeline.core.metrics.calling(&plugin, ask).await {
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
            tracing::warn!(connection = live.source_name(), instance = live.instance_name(), secret = %requirement.secret, "a handshake was refused");
            return Ok(Handshake::Refused);
        }
    }
    let checks = if answering::has_slots(&answer.reply) {
        match proof::checks(pipeline, &live, &plugin, Budget::Brief).await {
            Ok(checks) => checks,
            // Without them nobody knows which secrets senders use.
            Err(error) => {
                return Ok(Handshake::Unavailable(format!(
                    "how senders prove themselves is not known: {error}"
                )));
            }
        }
    } else {
        Arc::default()
    };
    let asked = Asked {
        live: &live,
        checks: &checks,
        shown: &plugin.reply_slots,
        query: Some(&query),
    };
    match answering::compose(&answer.reply, &asked) {
        Ok(reply) => Ok(Handshake::Answer(reply)),
        Err(error) => {
            tracing::warn!(connection = live.source_name(), instance = live.instance_name(), plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "the plugin's answer to a handshake is not given");
            Ok(Handshake::Withheld)
        }
    }
}
