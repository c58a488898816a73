//! Sources change their payloads unannounced, and versions fail. Each connection has a sketch of the
//! shape of its deliveries ([`sketch`]), and its last conversions are known; of the channel of an
//! instance only these, of its webhooks. Intake hands over some of
//! the deliveries ([`state`]), and a task reads them, reports changes, and stores the sketches
//! ([`task`]). If deliveries keep failing, or leads lose fields under another version, the previous
//! version is tried on the same deliveries ([`trial`]): so the report names the version or the source.
//! On a fleet the sketch is that of all hosts.

pub(super) mod sketch;
pub(super) mod state;
mod task;
mod trial;

pub use task::run;

use self::sketch::Leads;
use self::state::{Delivered, Seen};
use super::connections::Live;
use super::convert::Converted;
use super::failure::ConvertError;
use crate::domain::connection::ConnectionKind;
use crate::domain::exchange::first;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::plugin::{CallError, Loaded};
use crate::store::{ItemResult, NewDelivery, NewItem};

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

fn offer(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    delivery: &NewDelivery,
    converted: &Result<Converted, ConvertError>,
    again: bool,
) {
    let (connection, changes) = (&live.connection, &pipeline.source_changes);
    if !changes.wants(&connection.id, pipeline.core.clock.now()) {
        return;
    }
    // Webhooks have no leads, and events of several kinds.
    let is_sketched = !again && connection.kind == ConnectionKind::Source;
    let content_type = first(&delivery.headers, "content-type").unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let is_read = is_sketched && delivery.body.len() <= limits::SKETCH_BODY_BYTES;
    changes.offer(Delivered {
        delivery: delivery.id,
        connection: connection.id.clone(),
        plugin: plugin.description.name.clone(),
        digest: plugin.digest.clone(),
        seen: seen(converted),
        is_sketched,
        workspace: connection.workspace,
        kind: connection.kind,
        received_at: delivery.received_at,
        name: connection.name.clone(),
        body: is_read.then(|| delivery.body.shared()),
        is_form: media.eq_ignore_ascii_case("application/x-www-form-urlencoded"),
        version: version(plugin),
        configuration: connection.config_version,
        leads: converted
            .as_ref()
            .ok()
            .filter(|_| is_sketched)
            .map(|one| leads(&one.result.items)),
    });
}

/// Returns a version for people.
fn version(plugin: &Loaded) -> String {
    format!("{} ({})", plugin.description.version, plugin.digest.short())
}

fn seen(converted: &Result<Converted, ConvertError>) -> Seen {
    match converted {
        Ok(converted) if converted.problem.is_some() => Seen::Refused,
        Ok(_) => Seen::Converted,
        Err(ConvertError::Call(CallError::CircuitOpen { .. })) => Seen::Failed,
        Err(ConvertError::Call(error)) if error.is_fault() => Seen::Failed,
        Err(ConvertError::Configuration(_)) => Seen::Failed,
        Err(ConvertError::Call(_) | ConvertError::Connection(_)) => Seen::Unknown,
    }
}

fn leads(items: &[NewItem]) -> Leads {
    let mut leads = Leads::default();
    for item in items {
        match &item.result {
            ItemResult::Lead(lead) => leads.add([
                lead.name.is_some(),
                lead.phones.iter().any(|phone| phone.e164.is_some()),
                !lead.emails.is_empty(),
                lead.external_id.is_some(),
                !lead.products.is_empty(),
            ]),
            ItemResult::Fetch(_) => leads.add_unknown(),
            _ => {}
        }
    }
    leads
}
