//! Starts a double in the foreground, for trying things by hand.

use crate::args::Args;
use crate::failure::{Context, Failure};

mod graph;
mod provider;
mod twilio;
mod whatsapp;

pub const HELP: &str = "\
Starts a double of a provider or a lead source on the loopback interface, and runs it until
it is interrupted.

    cargo xtask double graph      the Graph API, from which leads are fetched
    cargo xtask double whatsapp   the WhatsApp Cloud API, a provider of messages
    cargo xtask double twilio     Twilio, a provider of messages

At its start each prints its address, its secrets and its behaviour.

For all:
    --listen ADDRESS   address and port; default 127.0.0.1, and port 8090, 8091 or 8092

graph:
    --app-secret TEXT  the key of appsecret_proof, which is HMAC-SHA256(app secret, access token) in hex
    --token TEXT       the valid access token

whatsapp, twilio:
    --callback URL     the address for webhooks; http://.. and reachable from here
    --signed-url URL   the callback's address that signatures cover, if it is behind a proxy

whatsapp:
    --token TEXT, --app-secret TEXT, --verify-token TEXT
    --waba ID, --phone-number-id ID

twilio:
    --account-sid TEXT, --auth-token TEXT
    --from ADDRESS     such as whatsapp:+551130000042

The Graph API's lead node:

    GET /{version}/{lead id}?fields=..&access_token=..&appsecret_proof=..

    id ending in   answer
    001            400 with error 100/33 the first two times, then the lead
    002            401 with error 190: the access token has expired
    003            429 with Retry-After: 1 the first time, then the lead
    004            closes the connection without an answer
    005            500 with an HTML page
    any other      200 with a lead made up from the id, always the same
";

/// Starts the double that the first word names.
pub fn run(mut args: Args) -> Result<(), Failure> {
    match args.first_word().as_deref() {
        Some("graph") => graph::run(args),
        Some("whatsapp") => whatsapp::run(args),
        Some("twilio") => twilio::run(args),
        _ => Err(Failure::usage("name the double to start").hint("cargo xtask double graph")),
    }
}

/// The address to listen on, by default with this port.
fn listen(args: &mut Args, port: u16) -> Result<std::net::SocketAddr, Failure> {
    let listen = args
        .value("--listen")?
        .unwrap_or_else(|| format!("127.0.0.1:{port}"));
    listen.parse().context(format!("--listen {listen}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_help_lists_how_ids_behave() {
        assert!(super::HELP.ends_with(xtask::double::graph::BEHAVIOUR));
    }
}
