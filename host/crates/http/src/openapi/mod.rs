//! The OpenAPI 3.1 document of the interface, generated from the code that serves it: operations
//! from the table of routes and from the descriptions beside their handlers, answers
//! from the types that are serialised, bodies from schemas that stand beside their readers,
//! refusals from the errors themselves. The document of a surface describes only what that
//! surface serves.
//!
//! Tests send the examples of the document to a running host. `cargo xtask openapi` writes
//! `docs/openapi.digest`.

mod digest;
#[cfg(test)]
pub mod mutations;
pub mod operation;
mod rows;
mod schema_validator;
pub mod schemas;

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value, json};

pub use self::digest::digest;
pub use self::rows::rows;
pub use self::schema_validator::SchemaValidator;
use self::schemas::Schemas;
use super::error::{DataError, Family, GatewayError, NotificationError};
use super::route::Route;
use super::routes;
use super::surface::Surface;
use leadhost_admin_api::error::AdminError;
use leadhost_domain::limits;
use leadhost_domain::message::MessageState;

pub fn document(surface: Surface) -> Value {
    let mut schemas = Schemas::default();
    let mut paths = Map::new();
    let routes = routes::of(surface);
    for route in routes.filter(|route| !route.tag.is_empty()) {
        let family = surface.family(route.template);
        if let Some(operation) = route.operation(family, &mut schemas) {
            let path = paths
                .entry(route.template)
                .or_insert_with(|| Value::Object(Map::new()));
            path[route.method.to_lowercase()] = operation.into_value();
        }
    }
    schemas.answer::<GatewayError<'_>>();
    schemas.answer::<NotificationError<'_>>();
    schemas.answer::<DataError<'_>>();
    schemas.answer::<AdminError>();
    let (title, summary, about) = match surface {
        Surface::Admin => (
            "Leadhost admin API",
            "The administration of the service, for operators.",
            format!("{ABOUT_ADMIN}\n\n{ABOUT}"),
        ),
        Surface::Gateway | Surface::Data | Surface::Both => (
            "Leadhost",
            "Takes leads from any source and sends template messages over any channel.",
            format!("{ABOUT_LEADS}\n\n{ABOUT}"),
        ),
    };
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": "1.0.0",
            "summary": summary,
            "description": about,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The address that this document came from."}],
        "tags": tags(surface),
        "paths": paths,
        "components": {
            "schemas": schemas.into_map(),
            "responses": operation::refusals(),
            "headers": headers(),
            "securitySchemes": security_schemes(),
        },
    });
    prune(&mut document);
    open_up(&mut document);
    document.sort_all_objects();
    document
}

/// Marks objects without declared members as open. Type generators take an object that does not
/// say so for an empty one.
fn open_up(part: &mut Value) {
    match part {
        Value::Object(members) => {
            let says_more = [
                "properties",
                "additionalProperties",
                "allOf",
                "anyOf",
                "oneOf",
            ]
            .iter()
            .any(|name| members.contains_key(*name));
            if members.get("type") == Some(&json!("object")) && !says_more {
                members.insert("additionalProperties".to_owned(), true.into());
            }
            members.values_mut().for_each(open_up);
        }
        Value::Array(items) => items.iter_mut().for_each(open_up),
        _ => {}
    }
}

/// Returns the document as it is served. The text depends on the code alone.
pub fn text(surface: Surface) -> &'static str {
    static TEXTS: [OnceLock<String>; Surface::ALL.len()] =
        [const { OnceLock::new() }; Surface::ALL.len()];
    TEXTS[surface.place()].get_or_init(|| {
        let text = serde_json::to_string_pretty(&document(surface));
        text.expect("the document is JSON") + "\n"
    })
}

pub fn parameters(route: &Route) -> &'static [String] {
    static KNOWN: LazyLock<HashMap<(&str, &str), Vec<String>>> = LazyLock::new(|| {
        let mut schemas = Schemas::default();
        let routes = routes::of(Surface::Both);
        let known = routes.filter_map(|route| {
            let operation = route.operation(Family::Gateway, &mut schemas)?;
            Some(((route.method, route.template), operation.parameters()))
        });
        known.collect()
    });
    let known = KNOWN.get(&(route.method, route.template));
    known.map_or(&[], Vec::as_slice)
}

const ABOUT_ADMIN: &str = "\
The operations for operators, which the `leadhost` command uses too. The address is meant for the service's own machine. \
It answers requests whose Host header is an IP address, `localhost` or the configured name, and refuses others with 403. \
A request that is refused names the reason in `error`; some refusals have more fields, which the operation describes.";

const ABOUT_LEADS: &str = "\
Leads come in as their sources send them, template messages go out, and a workspace's data is read in pages.";

const ABOUT: &str = "\
Texts are UTF-8 and never contain U+0000. Ids are opaque strings. Times are UTC with microseconds (six digits). \
Fields may be added to any object: ignore those that you do not know. Unknown query parameters are ignored; \
except in the admin API, `X-Ignored-Parameters` of the answer names them.

Every answer has an `X-Request-Id`: the caller's own if it is 1 to 128 visible ASCII characters, otherwise a new one. \
A `traceparent` is honoured. HEAD works wherever GET does. Other methods are answered 405 with `Allow`. \
Answers larger than 1 KiB are compressed with gzip or zstd if `Accept-Encoding` allows it.

Every error has a `code` beside its message: a word for the cause, which keeps its meaning. \
Errors are `application/problem+json` (RFC 9457, with `code` and `requestId`) if `Accept` names it.";

fn tags(surface: Surface) -> Value {
    let deals = match surface {
        Surface::Admin => "Single deals, for support.",
        _ => "The deals that came through a partner's connections.",
    };
    json!([
        {"name": "messages", "description": "Template messages to contacts."},
        {"name": "leads", "description": "Deliveries from lead sources."},
        {"name": "channels", "description": "Webhooks from channel providers."},
        {"name": "deals", "description": deals},
        {"name": "products", "description": "The products that deals are about."},
        {"name": "desk", "description": "Tickets: conversations and deals that were handed over to a person."},
        {"name": "data", "description": "A workspace's data, for exports and analytics."},
        {"name": "status", "description": "The state of the service: its hosts, its waiting work and its problems."},
        {"name": "plugins", "description": "Converters and adapters, their versions, and which version is active."},
        {"name": "workspaces", "description": "Workspaces, their files, owners, agents and products."},
        {"name": "keys", "description": "Keys of partners, data clients and operators."},
        {"name": "connections", "description": "The connections of sources, each with its own address."},
        {"name": "instances", "description": "Messaging bots and their channels."},
        {"name": "deliveries", "description": "The requests of sources and providers, and their outcomes."},
        {"name": "repairs", "description": "Repairs, their receipts and their undo."},
        {"name": "outbox", "description": "Messages to and from contacts."},
        {"name": "contacts", "description": "The erasure of personal data."},
        {"name": "etl", "description": "The jobs that count analytics."},
        {"name": "service", "description": "The service itself."},
    ])
}

fn headers() -> Value {
    let header = |schema: Value, description: &str| json!({"required": true, "schema": schema, "description": description});
    let text = || json!({"type": "string"});
    let whole = || json!({"type": "integer", "minimum": 0});
    let name = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": limits::REQUEST_ID_BYTES,
    });
    json!({
        "RequestId": header(name, "The id of the request, on every line of the service's log about it."),
        "RetryAfter": header(whole(), "Seconds to wait before a retry."),
        "WwwAuthenticate": header(text(), "How to authenticate."),
        "Allow": header(text(), "The methods that the address supports."),
        "RateLimit": header(text(), "The remaining quota: `\"workspace\";r=<requests>;t=<seconds>`, as in `RateLimit-Remaining` and `RateLimit-Reset`."),
        "RateLimitPolicy": header(text(), "The limit: `\"workspace\";q=<requests>;w=<seconds>`."),
        "RateLimitLimit": header(whole(), "Requests of a workspace per minute."),
        "RateLimitRemaining": header(whole(), "Remaining requests."),
        "RateLimitReset": header(whole(), "Seconds until the quota is full again; if nothing remains, until the next request is served."),
        "MessageId": {
            "schema": {"type": "string", "format": "uuid"},
            "description": "The message's id, as in the exports and the report.",
        },
        "MessageStatus": {
            "schema": {"type": "string", "enum": MessageState::ALL.map(MessageState::as_str)},
            "description": "The state of the message.",
        },
        "IdempotencyReplayed": {
            "schema": {"type": "string", "const": "true"},
            "description": "The answer to the first request with this Idempotency-Key.",
        },
        "NextLink": {
            "schema": {"type": "string"},
            "description": "The next page, as in RFC 8288: `<address>; rel=\"next\"`. Absent on the last page.",
        },
        "NextCursor": {
            "schema": {"type": "string"},
            "description": "The `cursor` of the next page. Absent on the last page.",
        },
        "IgnoredParameters": {
            "schema": {"type": "string"},
            "description": "The query parameters that the address does not have, by commas. Absent if there are none.",
        },
        "ETag": header(text(), "Identifies the state of the answer, for `If-None-Match`."),
        "DataAsOf": {
            "schema": {"type": "string", "format": "date-time"},
            "description": "Everything before this time is counted. Absent if unknown.",
        },
    })
}

fn security_schemes() -> Value {
    json!({
        "partnerKey": {
            "type": "apiKey",
            "in": "header",
            "name": "x-service-api-key",
            "description": "A partner's key, `pk_...`, issued by the operator.",
        },
        "accessToken": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "at_...",
            "description": "A partner's access token, issued by the operator.",
        },
        "workspaceKey": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "mk_...",
            "description": "Reads all data of its workspace and of no other. Keep it secret.",
        },
        "adminKey": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "ak_...",
            "description": "An operator's key. The service writes the first one to `admin.key` in its data folder.",
        },
    })
}

/// Removes components that nothing references, and tags without operations.
fn prune(document: &mut Value) {
    loop {
        let mut named = BTreeSet::new();
        collect(document, &mut named);
        let mut gone = false;
        for kind in ["schemas", "responses", "headers", "securitySchemes"] {
            let Some(all) = document["components"][kind].as_object_mut() else {
                continue;
            };
            let before = all.len();
            all.retain(|name, _| named.contains(&format!("#/components/{kind}/{name}")));
            gone |= all.len() != before;
        }
        if let Some(tags) = document["tags"].as_array_mut() {
            tags.retain(|tag| {
                let name = tag["name"].as_str().unwrap_or_default();
                named.contains(&format!("tag {name}"))
            });
        }
        if !gone {
            return;
        }
    }
}

fn collect(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, named)),
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                named.insert(reference.to_owned());
            }
            if members.contains_key("operationId") {
                for tag in members["tags"].as_array().into_iter().flatten() {
                    named.insert(format!("tag {}", tag.as_str().unwrap_or_default()));
                }
            }
            if let Some(ways) = members.get("security").and_then(Value::as_array) {
                for scheme in ways.iter().filter_map(Value::as_object).flat_map(Map::keys) {
                    named.insert(format!("#/components/securitySchemes/{scheme}"));
                }
            }
            members.values().for_each(|value| collect(value, named));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
