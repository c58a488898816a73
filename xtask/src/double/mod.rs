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

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The status, the title and the details of an error in a table with a line for each code: `CODE STATUS TITLE`, or
/// `CODE STATUS TITLE | DETAILS`. A code that is not listed is a 400.
fn documented(table: &'static str, code: u32) -> (u16, &'static str, &'static str) {
    let found = table.lines().find_map(|line| {
        let mut words = line.splitn(3, ' ');
        let is_it = words.next()?.parse() == Ok(code);
        let (status, text) = (words.next()?.parse().ok()?, words.next()?);
        let (title, details) = text.split_once(" | ").unwrap_or((text, text));
        is_it.then_some((status, title, details))
    });
    found.unwrap_or((400, "Unexpected error", "Unexpected error"))
}

/// Returns the names or numbers of a text's placeholders, `{{1}}` or `{{name}}`.
fn placeholders(text: &str) -> BTreeSet<&str> {
    let parts = text.split("{{").skip(1);
    let names = parts.filter_map(|part| part.split_once("}}"));
    names.map(|(name, _)| name.trim()).collect()
}

/// The fields of an object that a request names, and always its id. Unknown ones are left out, as the
/// Graph API does.
fn selected(object: &Value, fields: &str) -> Value {
    let mut out = json!({ "id": object["id"] });
    for field in fields.split(',').map(str::trim) {
        if let Some(value) = object.get(field) {
            out[field] = value.clone();
        }
    }
    out
}

/// What the tests of the doubles share: a client, and a callback.
#[cfg(test)]
mod testing {
    use std::io::Write as _;
    use std::net::{SocketAddr, TcpListener};
    use std::thread::JoinHandle;
    use std::time::Duration;

    use super::http::{self, Answer, Received, Request, Sent};

    /// Sends a request with this `Authorization`; `None` if the connection ends or is reset.
    pub fn ask(
        address: SocketAddr,
        method: &str,
        target: &str,
        authorization: &str,
        body: &str,
    ) -> Option<Received> {
        let sent = Sent {
            method,
            host: "x",
            target,
            headers: &[("Authorization", authorization.to_owned())],
            body: body.as_bytes(),
        };
        sent.to(&address.to_string(), Duration::from_secs(30)).ok()
    }

    /// Accepts this many requests, answers them with 200, and returns them.
    pub fn callback(many: usize) -> (String, JoinHandle<Vec<Request>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let answer = move |_| {
            let (mut connection, _) = listener.accept().expect("a connection");
            let mut reader = std::io::BufReader::new(connection.try_clone().expect("a handle"));
            let request = http::read(&mut reader).expect("a request");
            let answered = connection.write_all(&Answer::empty(200).bytes());
            answered.expect("the double reads");
            request.expect("one is there")
        };
        let thread = std::thread::spawn(move || (0..many).map(answer).collect());
        (format!("http://{address}"), thread)
    }
}
