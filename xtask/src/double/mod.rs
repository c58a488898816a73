//! Doubles of providers and lead sources, on the loopback interface: the source
//! from which leads are fetched ([`graph`]), and the messaging providers
//! ([`whatsapp`], [`twilio`]), which are [`channel::Channel`]s with their own
//! protocols. All use one server ([`server`]) and need only the standard library's
//! sockets.

pub mod channel;
pub mod graph;
pub mod http;
pub mod proof;
pub mod server;
pub mod twilio;
pub mod whatsapp;

/// Returns the names or numbers of a text's placeholders, `{{1}}` or `{{name}}`,
/// each once, in order.
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
