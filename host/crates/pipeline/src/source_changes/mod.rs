//! Sources change their payloads unannounced, and versions fail. Each connection has a sketch of its
//! deliveries ([`sketch`]), and its last conversions are known ([`conversions`]); of the channel of an
//! instance only these, of its webhooks. Intake hands over some of the deliveries, and the fetches of their
//! leads hand over what was read in the answers. A task counts them, reports changes, and stores the sketches
//! ([`task`]). If deliveries keep failing, or leads lose fields under another version, the previous version
//! is tried on the same deliveries ([`trial`]): so the report names the version or the source. On a fleet all
//! hosts share a sketch.

mod conversions;
mod counts;
mod shared_phones;
mod sketch;
pub mod task;
mod trial;

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

use self::conversions::ObservedConversion;
use self::counts::Counts;
use super::convert::Converted;
use super::failure::ConvertError;
use super::rollout::Completed;
use crate::local_rate::LocalRateLimiter;
use crate::prelude::*;
use leadhost_domain::exchange::first;
use leadhost_domain::plugin::FailureCategory;
use leadhost_store::{HeldFetch, KeptAnswer};

/// A delivery of a source, or a webhook of a channel, after its conversion.
struct Delivered {
    live: Arc<Live>,
    plugin: Arc<Loaded>,
    delivery: DeliveryId,
    outcome: ObservedConversion,
    /// For the sketch. Empty for webhooks, and for a delivery that is converted again.
    counts: Counts,
    /// Its body with the secrets masked, and whether that is a form, for the sketch. `None` if it is too
    /// large to be read.
    body: Option<(Bytes, bool)>,
    /// The answer to a fetch on which the version failed.
    failed: Option<KeptAnswer>,
}

/// The queue of deliveries, and how many of each connection it has got lately. One per host.
pub struct SourceChanges {
    queue: mpsc::Sender<Delivered>,
    /// Until the task takes it.
    waiting: Mutex<Option<mpsc::Receiver<Delivered>>>,
    rate: LocalRateLimiter<ConnectionId>,
    phones: shared_phones::SharedPhones,
}

impl Default for SourceChanges {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(limits::SKETCHES_WAITING);
        let (most, every) = (limits::SKETCHED_AT_ONCE, limits::SKETCH_EVERY);
        Self {
            queue,
            waiting: Mutex::new(Some(waiting)),
            rate: LocalRateLimiter::new(most, every * most),
            phones: Default::default(),
        }
    }
}

impl SourceChanges {
    fn waiting(&self) -> Option<mpsc::Receiver<Delivered>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.take()
    }

    /// Puts a delivery into the queue if there is room: some deliveries are enough.
    fn offer(&self, delivered: Delivered) {
        let _ = self.queue.try_send(delivered);
    }
}

/// Hands over a delivery of a source, or a webhook of a channel, with what its conversion brought,
/// unless there were many lately. Nothing is parsed here. `again`: the worker converted it, and it is in the
/// sketch already.
pub fn converted(
    pipeline: &Pipeline,
    live: &Arc<Live>,
    plugin: &Arc<Loaded>,
    delivery: &NewDelivery,
    converted: &Result<Converted, ConvertError>,
    again: bool,
) {
    if !is_wanted(pipeline, &live.connection.id) {
        return;
    }
    let (mut counts, mut body) = (Counts::default(), None);
    // Webhooks have no leads, and events of several kinds.
    if !again && live.connection.kind == ConnectionKind::Source {
        if let Ok(converted) = converted {
            let items = || converted.result.items.iter().map(|item| &item.result);
            shared_phones::look(pipeline, live, plugin, items());
            counts = leads(items());
        }
        (counts.deliveries, counts.first_at) = (1, Some(delivery.received_at));
        counts.convert_by(live, plugin);
        if delivery.body.len() <= limits::SKETCH_BODY_BYTES {
            let content_type = first(&delivery.headers, "content-type").unwrap_or_default();
            let media = content_type.split(';').next().unwrap_or_default().trim();
            let is_form = media.eq_ignore_ascii_case("application/x-www-form-urlencoded");
            body = Some((delivery.body.shared(), is_form));
        }
    }
    pipeline.source_changes.offer(Delivered {
        live: Arc::clone(live),
        plugin: Arc::clone(plugin),
        delivery: delivery.id,
        outcome: observed_conversion(converted),
        counts,
        body,
        failed: None,
    });
}

/// Hands over what a version read in the answer to a fetch, for the connection that received the
/// delivery: another one may have made the call. The answer is for a trial if the version failed on
/// it: the store does not keep it then.
pub async fn completed(
    pipeline: &Pipeline,
    plugin: &Arc<Loaded>,
    held: &HeldFetch,
    answer: Option<KeptAnswer>,
    completed: &Completed,
) {
    if !is_wanted(pipeline, &held.received_by) {
        return;
    }
    let Ok(Some(live)) = pipeline.connections.get(&held.received_by).await else {
        return;
    };
    let mut counts = Counts::default();
    let outcome = match completed {
        Ok(Ok(items)) => {
            shared_phones::look(pipeline, &live, plugin, items);
            counts = leads(items);
            counts.first_at = Some(held.received_at);
            counts.convert_by(&live, plugin);
            if items.iter().any(ItemResult::is_fetch) {
                // More leads of the item are fetched next.
                ObservedConversion::Unknown
            } else {
                ObservedConversion::Converted
            }
        }
        // The others are of the provider, and repeated or reported by a pause.
        Ok(Err(failure)) if failure.category == FailureCategory::GiveUp => {
            ObservedConversion::Refused
        }
        Ok(Err(_)) => ObservedConversion::Unknown,
        Err(error) => failed(error),
    };
    pipeline.source_changes.offer(Delivered {
        live,
        plugin: Arc::clone(plugin),
        delivery: held.delivery,
        outcome,
        counts,
        body: None,
        failed: answer.filter(|_| outcome.fails()),
    });
}

/// Returns whether a delivery of the connection is to be offered now, and counts it.
fn is_wanted(pipeline: &Pipeline, connection: &ConnectionId) -> bool {
    let (changes, now) = (&pipeline.source_changes, pipeline.clock.now());
    changes.queue.capacity() > 0 && changes.rate.ask(connection, now).is_ok()
}

fn version(plugin: &Loaded) -> String {
    format!("{} ({})", plugin.description.version, plugin.digest.short())
}

fn observed_conversion(converted: &Result<Converted, ConvertError>) -> ObservedConversion {
    match converted {
        Ok(converted) if converted.problem.is_some() => ObservedConversion::Refused,
        // The leads are not read yet.
        Ok(converted) if converted.result.has_fetch() => ObservedConversion::Unknown,
        Ok(_) => ObservedConversion::Converted,
        Err(ConvertError::Call(error)) => failed(error),
        Err(ConvertError::Configuration(_)) => ObservedConversion::Failed,
        Err(ConvertError::Connection(_) | ConvertError::Undecoded(_)) => {
            ObservedConversion::Unknown
        }
    }
}

fn failed(error: &CallError) -> ObservedConversion {
    match error {
        CallError::CircuitOpen { .. } => ObservedConversion::Failed,
        error if error.is_fault() => ObservedConversion::Failed,
        _ => ObservedConversion::Unknown,
    }
}

/// Counts the leads among the items. Nothing is counted if they are only known when they are fetched.
fn leads<'a>(items: impl IntoIterator<Item = &'a ItemResult>) -> Counts {
    let mut counts = Counts::default();
    let mut is_fetched = false;
    for item in items {
        match item {
            ItemResult::Lead(lead) => counts.add_lead([
                lead.name.is_some(),
                lead.phones.iter().any(|phone| phone.e164.is_some()),
                !lead.emails.is_empty(),
                lead.external_id.is_some(),
                !lead.products.is_empty(),
            ]),
            ItemResult::Fetch(_) => is_fetched = true,
            _ => {}
        }
    }
    counts.converted = u32::from(counts.leads > 0 || !is_fetched);
    counts
}
