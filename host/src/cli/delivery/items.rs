//! The items of a delivery, as commands print them.

use crate::cli::output::say;
use crate::cli::table::{optional, table};
use leadhost_admin_api::deliveries::ItemView;

/// Prints a table of the result of each item.
pub fn items(items: &[ItemView]) {
    let rows: Vec<Vec<String>> = items
        .iter()
        .map(|item| {
            vec![
                item.item.to_string(),
                item.status.as_str().to_owned(),
                optional(item.external_id.as_ref()),
                optional(item.deal_id),
                optional(item.contact_id),
                optional(item.message.as_ref()),
            ]
        })
        .collect();
    if !rows.is_empty() {
        say("");
        say(&table(
            &[
                "ITEM",
                "STATUS",
                "EXTERNAL ID",
                "DEAL",
                "CONTACT",
                "MESSAGE",
            ],
            &rows,
        ));
    }
}
