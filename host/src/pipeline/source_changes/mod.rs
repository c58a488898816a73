//! Sources change their payloads unannounced. Each connection has a sketch of the shape of its
//! deliveries ([`sketch`]). Intake hands over some of the deliveries ([`state`]), and a task reads
//! them, reports changes, and stores the sketches ([`task`]). On a fleet the sketch is that of all
//! hosts.

pub(super) mod sketch;
pub(super) mod state;
mod task;

pub use task::run;

use self::sketch::Leads;
use self::state::Delivered;
use super::connections::Live;
use super::convert::Converted;
use super::failure::ConvertError;
use crate::domain::connection::ConnectionKind;
use crate::domain::exchange::first;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::plugin::Loaded;
use crate::store::{ItemResult, NewDelivery, NewItem};

/// Hands over a delivery of a source with what its conversion brought, unless there were many
/// lately. Nothing is parsed here.
pub fn converted(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    delivery: &NewDelivery,
    converted: &Result<Converted, ConvertError>,
) {
    let (connection, changes) = (&live.connection, &pipeline.source_changes);
    if connection.kind != ConnectionKind::Source
        || !changes.wants(&connection.id, pipeline.core.clock.now())
    {
        return;
    }
    let content_type = first(&delivery.headers, "content-type").unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim();
    let is_read = delivery.body.len() <= limits::SKETCH_BODY_BYTES;
    changes.offer(Delivered {
        connection: connection.id.clone(),
        workspace: connection.workspace,
        name: connection.name.clone(),
        body: is_read.then(|| delivery.body.shared()),
        is_form: media.eq_ignore_ascii_case("application/x-www-form-urlencoded"),
        version: format!("{} ({})", plugin.description.version, plugin.digest.short()),
        leads: converted.as_ref().ok().map(|one| leads(&one.result.items)),
    });
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
