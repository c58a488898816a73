//! The digest of the documents: a line with a hash for each operation, schema and kind of row, so that a
//! review shows what changes in the interface.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::{document, rows};
use crate::prelude::*;
use leadhost_domain::hex;

/// Bytes of a hash that are shown: enough for any two versions of an operation to differ.
const SHOWN: usize = 6;

/// Returns the digest of the document of partners and data clients, of the admin API's document, and of the
/// rows of the data API.
pub fn digest() -> String {
    let mut text = String::from(
        "# Written by `cargo xtask openapi`. A changed line is a change of the interface.\n",
    );
    for (name, surface) in [("api", Surface::Both), ("admin", Surface::Admin)] {
        let mut document = document(surface);
        for (path, methods) in taken(&mut document["paths"]) {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let id = operation["operationId"].as_str().unwrap_or_default();
                line(&mut text, name, id, &json!([path, method, operation]));
            }
        }
        for (schema, value) in taken(&mut document["components"]["schemas"]) {
            line(&mut text, name, &schema, &value);
        }
        line(&mut text, name, "(everything else)", &document);
    }
    for (name, schema) in rows() {
        line(&mut text, "row", &name, &schema);
    }
    text
}

fn taken(value: &mut Value) -> Map<String, Value> {
    match value.take() {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn line(text: &mut String, of: &str, name: &str, value: &Value) {
    let hash = Sha256::digest(value.to_string());
    let hash = hex::encode(&hash[..SHOWN]);
    let _ = writeln!(text, "{of:<5} {name:<40} {hash}");
}
