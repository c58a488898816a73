//! One conversion, from a stored or fresh request to the items for the store: leads of a
//! source, events of a channel. It is the same for intake, worker and replay, which decide
//! what to do with the result.

use super::failure::{ConvertError, empty};
use super::routing::{Reachable, Routing, RoutingCaller};
use super::{events, greeting, normalise, plugin_log, props, templates};
use crate::prelude::*;
use crate::verify::outcome::{Reason, VersionOutcome};
use leadhost_domain::content_coding::BodyCoding;
use leadhost_domain::exchange::PluginReply;
use leadhost_domain::plugin::{PluginDelivery, RanWith};
use leadhost_store::ConversionResult;
use leadhost_telemetry::CallSubject;

/// The note of a delivery that a plugin makes nothing of without saying why, as when a source has renamed its
/// list.
const NO_ITEM: &str = "the plugin found no item in the body";

pub struct Converted {
    pub result: ConversionResult,
    pub reply: Option<PluginReply>,
    pub problem: Option<InputProblem>,
    /// The memory that the call needed, in bytes. Zero if it gave no items.
    pub memory: u64,
    /// The processor time of the call. Zero if it gave no items.
    pub processor: Duration,
}

impl Converted {
    /// Returns whether the host could make the call. Otherwise the result says nothing about the
    /// version.
    pub fn was_made(converted: &Result<Self, ConvertError>) -> bool {
        match converted {
            Err(ConvertError::Call(error)) => !error.is_not_made(),
            Err(ConvertError::Connection(_) | ConvertError::Undecoded(_)) => false,
            Ok(_) | Err(ConvertError::Configuration(_)) => true,
        }
    }

    /// Returns what the version makes of the delivery, for comparison. `None`: the host could not
    /// make the call.
    pub fn outcome(converted: &Result<Self, ConvertError>) -> Option<VersionOutcome> {
        if !Self::was_made(converted) {
            return None;
        }
        Some(match converted {
            Ok(converted) => match &converted.problem {
                Some(problem) => VersionOutcome::Refused(Reason::Plugin(problem.to_string())),
                None => VersionOutcome::from_items(
                    converted.result.items.iter().map(|item| &item.result),
                ),
            },
            Err(error) => VersionOutcome::Failed(Reason::from(error)),
        })
    }

    /// Returns whether it takes long to compare this result of a delivery: not on a thread that
    /// serves requests.
    pub fn is_large(converted: &Result<Self, ConvertError>, delivery: &NewDelivery) -> bool {
        let Ok(converted) = converted else {
            return false;
        };
        converted.result.items.len() > limits::COMPARED_ITEMS
            || converted.memory > limits::COMPARED_MEMORY
            || delivery.body.len() > limits::COMPARED_BYTES
    }

    pub fn count(&self, pipeline: &Pipeline, live: &Live) {
        live.content(&pipeline.metrics)
            .conversion(&self.result.items);
    }
}

pub async fn convert(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: CallBudget,
) -> Result<Converted, ConvertError> {
    let converted = uncounted(pipeline, live, plugin, delivery, budget).await?;
    // An operator's replay is not counted again.
    if budget.is_live() && converted.problem.is_none() {
        converted.count(pipeline, live);
    }
    Ok(converted)
}

/// Converts a delivery without counting its items for the connection, because another version may convert
/// it too.
pub async fn uncounted(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: CallBudget,
) -> Result<Converted, ConvertError> {
    let ran = plugin.ran_with(live.connection.config_version);
    if let Some(problem) = too_deep(delivery) {
        return Ok(refused(ran, problem));
    }
    match BodyCoding::of(&delivery.headers, &delivery.body) {
        BodyCoding::Plain => {}
        BodyCoding::Coded(_) => {
            let problem = InputProblem {
                message: "the body cannot be decompressed as its Content-Encoding says".to_owned(),
                path: String::new(),
            };
            return Ok(refused(ran, problem));
        }
        BodyCoding::Unknown(coding) => return Err(ConvertError::Undecoded(coding)),
    }
    let conversion = Conversion {
        pipeline,
        live,
        plugin,
        delivery,
        budget,
    };
    let converted = match live.connection.kind {
        ConnectionKind::Source => conversion.leads().await?,
        ConnectionKind::Channel => conversion.events().await?,
    };
    let mut converted = match converted {
        Ok(converted) => converted,
        Err(problem) => return Ok(refused(ran, problem)),
    };
    converted.result.ran = Some(ran);
    let metrics = &pipeline.metrics.plugins;
    // Conversions for a comparison are not counted.
    let produced = if budget.has_effects() {
        converted.result.items.as_slice()
    } else {
        &[]
    };
    metrics.produced(plugin, produced, converted.memory);
    Ok(converted)
}

/// Returns the problem of a body that no plugin gets, because it is nested too deep.
pub fn too_deep(delivery: &NewDelivery) -> Option<InputProblem> {
    (delivery.body.depth() > limits::JSON_DEPTH).then(|| InputProblem {
        message: format!(
            "the body is nested deeper than {} levels",
            limits::JSON_DEPTH
        ),
        path: String::new(),
    })
}

struct Conversion<'a> {
    pipeline: &'a Arc<Pipeline>,
    live: &'a Arc<Live>,
    plugin: &'a Arc<Loaded>,
    delivery: &'a NewDelivery,
    budget: CallBudget,
}

impl Conversion<'_> {
    fn called<T>(
        &self,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> impl Future<Output = Result<T, CallError>> {
        let metrics = &self.pipeline.metrics.plugins;
        let subject = CallSubject::Delivery(self.delivery.id);
        metrics.calling_for(self.budget, self.plugin, subject, call)
    }

    fn routing(&self) -> Routing<'_> {
        Routing {
            received_by: self.live,
            among: Reachable::Stored(RoutingCaller {
                pipeline: self.pipeline,
                plugin: self.plugin,
                budget: self.budget,
            }),
        }
    }

    async fn leads(&self) -> Result<Result<Converted, InputProblem>, ConvertError> {
        let (pipeline, live, budget) = (self.pipeline, self.live, self.budget);
        let (plugins, given) = (&pipeline.plugins, input(live, self.delivery));
        let call = plugins.convert(self.plugin, live.lane(budget), given, budget);
        let output = match self.called(call).await? {
            Ok(output) => output,
            Err(problem) => return Ok(Err(problem)),
        };
        let until = fetch_until(pipeline, self.delivery.received_at);
        let now = pipeline.clock.now();
        let mut items = normalise::items(&self.routing(), output.items, now, until).await?;
        let mut notes = output.notes;
        plugin_log::hide(&mut notes, &live.secrets);
        if items.is_empty() && output.reply.is_none() && notes.is_empty() {
            notes.push(NO_ITEM.to_owned());
        }
        let results = items.iter_mut().map(|item| &mut item.result);
        if budget.has_effects() {
            greeting::add(pipeline, results, &mut notes).await?;
        }
        let results = || items.iter().map(|item| &item.result);
        props::note_properties(results(), &mut notes);
        props::note_unread(results(), &mut notes);
        let cost = (output.memory, output.processor);
        Ok(Ok(converted(items, output.reply, notes, cost)))
    }

    async fn events(&self) -> Result<Result<Converted, InputProblem>, ConvertError> {
        let (pipeline, live, budget) = (self.pipeline, self.live, self.budget);
        let (plugins, given) = (&pipeline.plugins, input(live, self.delivery));
        let call = plugins.read_webhook(self.plugin, live.lane(budget), given, budget);
        let mut webhook = match self.called(call).await? {
            Ok(webhook) => webhook,
            Err(problem) => return Ok(Err(problem)),
        };
        plugin_log::hide(&mut webhook.notes, &live.secrets);
        let received_at = self.delivery.received_at;
        let read = events::read(&self.routing(), webhook.events, received_at).await?;
        let stale = read.stale_templates.into_iter();
        for channel in stale.filter(|_| budget.has_effects()) {
            let task_app = Arc::clone(pipeline);
            // Runs in the background: the delivery does not wait for it.
            pipeline.spawn(async move {
                if let Err(error) = templates::sync(&task_app, &channel).await {
                    tracing::warn!(instance = %channel.connection.name, %error, "template list not stored");
                }
            });
        }
        let cost = (webhook.memory, webhook.processor);
        Ok(Ok(converted(
            read.items,
            webhook.reply,
            webhook.notes,
            cost,
        )))
    }
}

fn converted(
    items: Vec<NewItem>,
    reply: Option<PluginReply>,
    notes: Vec<String>,
    (memory, processor): (u64, Duration),
) -> Converted {
    Converted {
        result: ConversionResult {
            status: None,
            items,
            ran: None,
            error: None,
            notes,
            attempts: 0,
            next_attempt_at: None,
            presented: None,
        },
        reply,
        problem: None,
        memory,
        processor,
    }
}

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

pub fn fetch_until(pipeline: &Pipeline, received_at: Micros) -> Micros {
    received_at.plus(pipeline.config.worker.fetched_for())
}

fn refused(ran: RanWith, problem: InputProblem) -> Converted {
    Converted {
        result: ConversionResult {
            ran: Some(ran),
            error: Some(problem.to_string()),
            ..empty(DeliveryStatus::Rejected)
        },
        reply: None,
        problem: Some(problem),
        memory: 0,
        processor: Duration::ZERO,
    }
}
