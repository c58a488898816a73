//! Doubles of far ends, on the loopback interface: where leads are fetched from
//! ([`graph`]), and the providers that messages go out by ([`whatsapp`],
//! [`twilio`]), which are [`channel::Channel`]s with a protocol each. All stand on
//! one server ([`server`]) and need nothing but the standard library's sockets.

pub mod channel;
pub mod graph;
pub mod http;
pub mod proof;
pub mod server;
pub mod twilio;
pub mod whatsapp;

/// Names or numbers of the placeholders of a text, `{{1}}` or `{{name}}`, each
/// once, in order.
fn placeholders(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        let name = name.trim().to_owned();
        if !found.contains(&name) {
            found.push(name);
        }
        rest = after;
    }
    found
}
