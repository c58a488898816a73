//! Sources change their payloads unannounced, and versions fail. Each connection has a sketch of the
//! shape of its deliveries ([`sketch`]), and its last conversions are known; of the channel of an
//! instance only these, of its webhooks. Intake hands over some of the deliveries, and the fetches of
//! their leads hand over what was read in the answers ([`state`]). A task reads them, reports changes,
//! and stores the sketches ([`task`]). If deliveries keep failing, or leads lose fields under another
//! version, the previous version is tried on the same deliveries ([`trial`]): so the report names the
//! version or the source. On a fleet the sketch is that of all hosts.

pub(super) mod sketch;
pub(super) mod state;
pub mod task;
mod trial;

use self::sketch::counts::Leads;
use self::state::{Delivered, ObservedConversion, Sketched};
use super::connections::Live;
use super::convert::Converted;
use super::failure::ConvertError;
use super::rollout::Completed;
use crate::state::Pipeline;
use leadhost_domain::connection::ConnectionKind;
use leadhost_domain::exchange::first;
use leadhost_domain::id::{ConnectionId, DeliveryId};
use leadhost_domain::limits;
use leadhost_domain::plugin::FailureCategory;
use leadhost_domain::time::Micros;
use leadhost_plugin::{CallError, Loaded};
use leadhost_store::{HeldFetch, ItemResult, KeptAnswer, NewDelivery};

/// Hands over a delivery of a source, or a webhook of a channel, with what its conversion brought,
/// unless there were many lately. Nothing is parsed here.
pub fn converted(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    delivery: &NewDelivery,
    converted: &Result<Converted, ConvertError>,
) {
    offer(pipeline, live, plugin, delivery, converted, false);
}

/// Hands over a delivery that the worker converted again, in the same way. It has its place in the
/// sketch already.
pub fn converted_again(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    delivery: &NewDelivery,
    converted: &Result<Converted, ConvertError>,
) {
    offer(pipeline, live, plugin, delivery, converted, true);
}

/// Hands over what a version read in the answer to a fetch, for the connection that received the
/// delivery: another one may have made the call. The answer is for a trial if the version failed on
/// it: the store does not keep it then.
pub async fn completed(
    pipeline: &Pipeline,
    plugin: &Loaded,
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
    let leads = match completed {
        Ok(Ok(items)) => leads(items),
        Ok(Err(_)) | Err(_) => None,
    };
    let outcome = match completed {
        // More leads of the item are fetched next.
        Ok(Ok(items)) if items.iter().any(ItemResult::is_fetch) => ObservedConversion::Unknown,
        Ok(Ok(_)) => ObservedConversion::Converted,
        // The others are of the provider, and repeated or reported by a pause.
        Ok(Err(failure)) if failure.category == FailureCategory::GiveUp => {
            ObservedConversion::Refused
        }
        Ok(Err(_)) => ObservedConversion::Unknown,
        Err(error) => failed(error),
    };
    let when = (held.delivery, held.received_at);
    pipeline.source_changes.offer(Delivered {
        sketched: leads.map(Sketched::Answer),
        failed: answer.filter(|_| {
            matches!(
                outcome,
                ObservedConversion::Failed | ObservedConversion::Refused
            )
        }),
        ..delivered(&live, plugin, when, outcome)
    });
}

fn offer(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    delivery: &NewDelivery,
    converted: &Result<Converted, ConvertError>,
    again: bool,
) {
    if !is_wanted(pipeline, &live.connection.id) {
        return;
    }
    // Webhooks have no leads, and events of several kinds.
    let is_sketched = !again && live.connection.kind == ConnectionKind::Source;
    let sketched = is_sketched.then(|| {
        let content_type = first(&delivery.headers, "content-type").unwrap_or_default();
        let media = content_type.split(';').next().unwrap_or_default().trim();
        let is_read = delivery.body.len() <= limits::SKETCH_BODY_BYTES;
        let items = converted.as_ref().map(|one| one.result.items.iter());
        Sketched::Delivery {
            body: is_read.then(|| delivery.body.shared()),
            is_form: media.eq_ignore_ascii_case("application/x-www-form-urlencoded"),
            leads: items.map_or(None, |items| leads(items.map(|item| &item.result))),
        }
    });
    let when = (delivery.id, delivery.received_at);
    pipeline.source_changes.offer(Delivered {
        sketched,
        ..delivered(live, plugin, when, observed_conversion(converted))
    });
}

/// Returns whether a delivery of the connection is to be offered now, and counts it.
fn is_wanted(pipeline: &Pipeline, connection: &ConnectionId) -> bool {
    let now = pipeline.core.clock.now();
    pipeline.source_changes.wants(connection, now)
}

/// Returns a delivery, which was received at this time, without a place in the sketch.
fn delivered(
    live: &Live,
    plugin: &Loaded,
    (delivery, received_at): (DeliveryId, Micros),
    outcome: ObservedConversion,
) -> Delivered {
    let connection = &live.connection;
    Delivered {
        delivery,
        connection: connection.id.clone(),
        plugin: plugin.description.name.clone(),
        digest: plugin.digest.clone(),
        outcome,
        sketched: None,
        failed: None,
        workspace: connection.workspace,
        kind: connection.kind,
        received_at,
        name: connection.name.clone(),
        version: version(plugin),
        configuration: connection.config_version,
    }
}

/// Returns a version for people.
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

/// Returns the leads among the items. `None` if they are only known when they are fetched.
fn leads<'a>(items: impl IntoIterator<Item = &'a ItemResult>) -> Option<Leads> {
    let mut leads = Leads::default();
    let mut is_fetched = false;
    for item in items {
        match item {
            ItemResult::Lead(lead) => leads.add([
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
    (!leads.is_empty() || !is_fetched).then_some(leads)
}
