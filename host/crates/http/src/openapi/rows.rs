//! The schemas of rows, JSON Schema 2020-12, each a document of its own, for clients that
//! create tables for the data or check it line by line. They are built from the same types as
//! the schemas of the interface's document.

use super::schemas::Schemas;
use crate::endpoints::analytics;
use crate::endpoints::analytics::freshness::FreshnessRow;
use crate::prelude::*;
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::row::{
    ContactRow, ConversationRow, DealRow, IdRow, MessageErrorRow, MessageRow,
};

pub fn rows() -> Map<String, Value> {
    let rows = [
        schema::<ConversationRow>("conversation", "A conversation of the export"),
        schema::<MessageRow>("message", "A message of the export"),
        schema::<ContactRow>("contact", "A contact of the export"),
        schema::<DealRow>("deal", "A deal of the export"),
        schema::<IdRow>("id", "The id of a row of the export"),
        schema::<MessageErrorRow>("message_error", "A row of the report message_errors"),
        written(
            "analytics_conversations",
            "Counts of conversations",
            analytics::row(MetricSet::Conversations),
        ),
        written(
            "analytics_tickets",
            "Counts of tickets",
            analytics::row(MetricSet::Tickets),
        ),
        schema::<FreshnessRow>(
            "analytics_freshness",
            "The freshness of a metric set's counts",
        ),
    ];
    rows.into_iter().collect()
}

fn schema<T: ToSchema>(name: &str, title: &str) -> (String, Value) {
    let mut schemas = Schemas::default();
    schemas.answer::<T>();
    let mut all = schemas.into_map();
    let own = all
        .remove(T::name().as_ref())
        .expect("it was just described");
    // A row is one object: its schema references no other.
    assert!(all.is_empty(), "{name} names other schemas");
    written(name, title, own)
}

fn written(name: &str, title: &str, schema: Value) -> (String, Value) {
    let mut own = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
    });
    if let (Some(own), Value::Object(members)) = (own.as_object_mut(), schema) {
        own.extend(members);
    }
    own.sort_all_objects();
    (name.to_owned(), own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_all_its_keys_and_may_have_more() {
        for (name, schema) in rows() {
            let keys = schema["required"].as_array().map_or(0, Vec::len);
            // The row of an id has no other key.
            assert!(keys > 3 || name == "id" && keys == 1, "{name}");
            assert!(schema.get("additionalProperties").is_none(), "{name}");
            assert!(!schema.to_string().contains("$ref"), "{name}");
        }
    }
}
