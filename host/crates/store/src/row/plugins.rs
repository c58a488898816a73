//! Plugin versions, activations, and refused files.

use super::RowColumns;
use crate::{Activation, PluginRecord, PluginRefusal, StoreError};
use leadhost_domain::plugin::Digest;
use leadhost_domain::publisher::Publisher;

/// Reads the record of a plugin version, without its WebAssembly bytes. If no publisher was
/// stored, the origin gives it.
pub fn record(row: &impl RowColumns) -> Result<PluginRecord, StoreError> {
    Ok(PluginRecord {
        digest: Digest(row.text("digest")?),
        description: row.json("description")?,
        contract: row.text("contract")?,
        bytes: row.number("bytes")?,
        checks: row.json("checks")?,
        golden: row.number("golden")?,
        publisher: publisher(row.text_if("publisher")?, &row.text("origin")?)?,
        origin: row.text("origin")?,
        stored_at: row.time("stored_at")?,
    })
}

/// `None` means that the release that stored the plugin did not record a publisher.
fn publisher(noted: Option<String>, origin: &str) -> Result<Publisher, StoreError> {
    let Some(noted) = noted else {
        return Ok(Publisher::from_origin(origin));
    };
    Publisher::parse(&noted).ok_or_else(|| StoreError::Inconsistent {
        what: format!("a plugin has an unknown publisher: {noted:?}"),
    })
}

/// Reads an activation. `previous` is `None` if no other version served before.
pub fn activation(row: &impl RowColumns) -> Result<Activation, StoreError> {
    Ok(Activation {
        name: row.text("name")?,
        digest: Digest(row.text("digest")?),
        previous: row.text_if("previous")?.map(Digest),
        generation: row.number("generation")?,
        activated_at: row.time("activated_at")?,
    })
}

/// Reads the record of a refused plugin file.
pub fn refusal(row: &impl RowColumns) -> Result<PluginRefusal, StoreError> {
    Ok(PluginRefusal {
        origin: row.text("origin")?,
        digest: row.text_if("digest")?.map(Digest),
        plugin: row.text_if("plugin")?,
        reason: row.text("reason")?,
        at: row.time("at")?,
        overtaken_at: row.time_if("overtaken_at")?,
    })
}
