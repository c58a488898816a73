//! One conversion, from a stored or fresh request to the items for the store: leads of a
//! source, events of a channel. It is the same for intake, worker and replay, which decide
//! what to do with the result.

use std::sync::Arc;

use super::connections::Live;
use super::failure::{ConvertError, empty};
use super::routing::Routing;
use super::{events, greeting, normalise, props, templates};
use crate::domain::connection::ConnectionKind;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::exchange::{Problem, Reply};
use crate::domain::plugin::{PluginDelivery, RanWith};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::pipeline::verify::seen::Seen;
use crate::plugin::{Budget, CallError, Loaded};
use crate::store::{ConversionResult, NewDelivery, NewItem};

/// A completed conversion.
pub struct Converted {
    pub result: ConversionResult,
    pub reply: Option<Reply>,
    /// The converter refused the body as a whole.
    pub problem: Option<Problem>,
}

impl Converted {
    /// Returns what the version makes of the delivery, for comparison. `None`: the host could not
    /// make the call, which says nothing about the version.
    pub fn seen(converted: &Result<Self, ConvertError>) -> Option<Seen> {
        Some(match converted {
            Ok(converted) => match &converted.problem {
                Some(problem) => Seen::Refused(problem.to_string()),
                None => Seen::from_items(converted.result.items.iter().map(|item| &item.result)),
            },
            Err(
                ConvertError::Call(CallError::Busy | CallError::ShuttingDown)
                | ConvertError::Connection(_),
            ) => return None,
            Err(error) => Seen::Failed(error.to_string()),
        })
    }

    /// Counts the items in the metrics of the connection.
    pub fn count(&self, pipeline: &Pipeline, live: &Live) {
        live.content(&pipeline.core.metrics)
            .conversion(&self.result.items);
    }
}

/// Converts a delivery whose sender was checked.
///
/// # Errors
///
/// [`ConvertError`] if the plugin cannot be called or fails, or the connection cannot be
/// read.
pub async fn convert(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Result<Converted, ConvertError> {
    let converted = uncounted(pipeline, live, plugin, delivery, budget).await?;
    // An operator's replay is not counted again.
    if budget.has_effects() && budget != Budget::Operator && converted.problem.is_none() {
        converted.count(pipeline, live);
    }
    Ok(converted)
}

/// Converts a delivery without counting its items, because another version may convert it too.
///
/// # Errors
///
/// As for [`convert`].
pub async fn uncounted(
    pipeline: &Arc<Pipeline>,
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
        ConnectionKind::Source => leads(pipeline, live, plugin, delivery, budget).await?,
        ConnectionKind::Channel => events(pipeline, live, plugin, delivery, budget).await?,
    };
    let read = match read {
        Ok(read) => read,
        Err(problem) => return Ok(refused(ran, problem)),
    };
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

/// The output of a plugin, in the form for the store.
struct NormalisedOutput {
    items: Vec<NewItem>,
    reply: Option<Reply>,
    notes: Vec<String>,
}

/// Converts a source's delivery with its converter.
async fn leads(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Result<Result<NormalisedOutput, Problem>, ConvertError> {
    let lane = live.lane(budget);
    let convert = pipeline
        .core
        .plugins
        .convert(plugin, lane, input(live, delivery), budget);
    let conversion = match pipeline
        .core
        .metrics
        .plugins
        .calling(plugin, convert)
        .await?
    {
        Ok(conversion) => conversion,
        Err(problem) => return Ok(Err(problem)),
    };
    let routing = Routing {
        pipeline,
        plugin,
        received_by: live,
        budget,
    };
    let mut items = normalise::items(
        &routing,
        conversion.items,
        pipeline.core.clock.now(),
        fetch_until(pipeline, delivery.received_at),
    )
    .await?;
    let mut notes = conversion.notes;
    let results = items.iter_mut().map(|item| &mut item.result);
    if budget.has_effects() {
        greeting::add(pipeline, results, &mut notes).await?;
    }
    props::note_left_out(items.iter().map(|item| &item.result), &mut notes);
    Ok(Ok(NormalisedOutput {
        items,
        reply: conversion.reply,
        notes,
    }))
}

/// Converts a channel's webhook with its adapter.
async fn events(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Result<Result<NormalisedOutput, Problem>, ConvertError> {
    let lane = live.lane(budget);
    let ask = pipeline
        .core
        .plugins
        .read_webhook(plugin, lane, input(live, delivery), budget);
    let webhook = match pipeline.core.metrics.plugins.calling(plugin, ask).await? {
        Ok(webhook) => webhook,
        Err(problem) => return Ok(Err(problem)),
    };
    let routing = Routing {
        pipeline,
        plugin,
        received_by: live,
        budget,
    };
    let read = events::read(&routing, webhook.events, delivery.received_at).await?;
    let stale = read.stale_templates.into_iter();
    for channel in stale.filter(|_| budget.has_effects()) {
        let task_app = Arc::clone(pipeline);
        // Runs in the background: the delivery does not wait for it.
        pipeline.core.spawn(async move {
            if let Err(error) = templates::sync(&task_app, &channel).await {
                tracing::warn!(instance = %channel.connection.name, %error, "template list not stored");
            }
        });
    }
    Ok(Ok(NormalisedOutput {
        items: read.items,
        reply: webhook.reply,
        notes: webhook.notes,
    }))
}

/// Returns a stored delivery as its converter gets it.
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

/// Returns the time after which fetches of this delivery are given up.
pub fn fetch_until(pipeline: &Pipeline, received_at: Micros) -> Micros {
    received_at.plus(pipeline.core.config.worker.fetched_for())
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
