//! A converter that misbehaves as its configuration asks: `{"do": "loop"}` and
//! the like, with `size` for the amount. Each word is one kind of harm to a
//! host, or reports what the host shows its guests. The harm in `describe`,
//! which has no configuration, is a field of the variant.
//!
//! [`VARIANT`] is in the component as it is written here, so that a test can
//! make another version of the converter by changing those bytes.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what becomes of it is tested"
)]

mod leads;
mod replies;
mod schema;
mod system;
mod work;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use leadhost_sdk::serde_json::{Value, json};
use leadhost_sdk::{
    Completion, Conversion, Converter, Delivery, Description, Failure, HandshakeAnswer,
    HttpRequest, Item, Lead, Problem, Reply, Segment, SenderCheck, SenderPolicy, Slot,
    content_json, content_text,
};

/// `;` ends each field: version, the secret of the sender check (empty: no
/// check), the address of fetches, the word that no longer does harm, the prefix
/// of messages or how people are read wrong, the harm in `describe` (see
/// [`schema`]), and the default word for configurations without one. Padded
/// with blanks.
static VARIANT: [u8; 160] = *b"misbehave-variant:1.0.0;key;https://leads.example.com/v1/leads;;;;;                                                                                             ";

pub struct Misbehave;

leadhost_sdk::export_converter!(Misbehave);

impl Converter for Misbehave {
    type Config = Value;

    fn describe() -> Description {
        let harm = variant(5);
        if harm == "loop" {
            work::for_ever();
        }
        Description::new("misbehave", &variant(0), "Does what its configuration says")
            .config_schema(&schema::with(&harm))
    }

    fn sender_checks(config: &Value) -> Result<SenderPolicy, Problem> {
        if variant(5).starts_with("schema") {
            // Then the host asks the schema whether the configuration is at
            // fault.
            return Err(Problem::new("no policy"));
        }
        let word = word(config);
        if word == "loop-in-checks" {
            work::for_ever();
        }
        let secret = variant(1);
        if secret.is_empty() {
            return Ok([].into());
        }
        let mut check = SenderCheck::hmac_sha256_hex(&secret, "x-signature");
        match &*word {
            "unknown-scheme" => check.scheme = "rot13".to_owned(),
            "no-policy" => return Err(Problem::new("no policy")),
            _ => {}
        }
        Ok([check].into())
    }

    fn handshake(config: &Value, delivery: &Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        let reply = Reply::text(delivery.path.clone());
        Ok(match &*word(config) {
            "loop-in-handshake" => work::for_ever(),
            "silent" => None,
            "redirect" => Some(HandshakeAnswer::new(reply.status(302))),
            word => Some(HandshakeAnswer::new(
                replies::choose(word, delivery).unwrap_or(reply),
            )),
        })
    }

    fn convert(config: &Value, delivery: &Delivery) -> Result<Conversion, Problem> {
        let size = usize::try_from(config["size"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
        if harm(config) == "hold" {
            work::hold(size);
        }
        match &*harm(config) {
            "loop" => work::for_ever(),
            "burn" => Ok(note(work::burn(size))),
            "trap" => panic!("as asked"),
            "grow" => work::grow_until_refused(),
            "touch" => work::touch(size),
            "fill" => work::fill(size),
            "copy" => work::copy(size),
            "recurse" => Ok(note(work::recurse(u64::MAX))),
            "clock" => system::ask_the_clock(),
            "random" => system::ask_for_chance(size),
            "sleep" => system::sleep(),
            "flood" => system::flood(size),
            "phones" | "emails" | "listings" | "attributes" | "message" | "name"
            | "long-attribute" => {
                let lead = leads::excessive(&word(config), size);
                Ok(vec![Item::lead(lead.external_id(delivery.id.clone()))].into())
            }
            "phones-or-trap" => {
                assert!(delivery.query_field("trap").is_none(), "as asked");
                let lead = leads::excessive("phones", size);
                Ok(vec![Item::lead(lead.external_id(delivery.id.clone()))].into())
            }
            "person" => {
                let lead = leads::person(&content_json(&delivery.body)?, &variant(4));
                Ok(vec![Item::lead(lead)].into())
            }
            "phones-or-loop" => match delivery.query_field("loop") {
                Some(_) => work::for_ever(),
                None => {
                    let lead = leads::excessive("phones", size);
                    Ok(vec![Item::lead(lead.external_id(delivery.id.clone()))].into())
                }
            },
            "leads" => Ok(leads::many(&delivery.id, size).into()),
            "output" => Ok(note("x".repeat(size))),
            "items" => {
                let items = (0..size).map(|_| Item::ignored("one of many"));
                Ok(Conversion {
                    items: items.collect(),
                    reply: None,
                    notes: Vec::new(),
                })
            }
            "state" => Ok(vec![
                Item::fetch(None, request()?, vec![0; size]),
                Item::lead(Lead::new()),
            ]
            .into()),
            "slot" => {
                let mut request = request()?;
                request.body = vec![Segment::Slot(Slot {
                    function: "rot13".to_owned(),
                    args: Vec::new(),
                })];
                Ok(vec![Item::fetch(None, request, ""), Item::lead(Lead::new())].into())
            }
            "trace" => {
                let mut request = request()?;
                request.method = "TRACE".to_owned();
                Ok(vec![Item::fetch(None, request, ""), Item::lead(Lead::new())].into())
            }
            "attribute" => {
                let mut lead = Lead::new();
                lead.attributes
                    .push(("colour".to_owned(), "{not json".to_owned()));
                Ok(vec![Item::lead(lead), Item::lead(Lead::new())].into())
            }
            "blank" => Ok(leads::blank().into()),
            "status" => Ok(Conversion {
                items: Vec::new(),
                reply: Some(Reply::text("moved").status(302)),
                notes: Vec::new(),
            }),
            "fetch" | "fetch-and-loop" | "fetch-and-trap" | "fetch-and-fail" | "fetch-leads"
            | "fetch-twice" | "fetch-for-ever" => {
                let id = delivery.query_field("id").unwrap_or("1").to_owned();
                Ok(vec![Item::fetch(Some(id), request()?, "state")].into())
            }
            "refuse" => Err(Problem::new("as asked").at("here")),
            "count" => {
                static CALLS: AtomicU64 = AtomicU64::new(0);
                Ok(note(CALLS.fetch_add(1, Ordering::Relaxed)))
            }
            "print" => {
                println!("{}", "p".repeat(size));
                eprintln!("an error");
                Ok(note("printed"))
            }
            "print-and-trap" => {
                eprintln!("the last words");
                panic!("as asked")
            }
            "confess" => {
                for number in 0..size {
                    println!("line {number}");
                }
                let body = content_text(&delivery.body);
                eprintln!("\u{1b}[1mread {body}");
                eprintln!("backwards {}", body.chars().rev().collect::<String>());
                panic!("the last words")
            }
            "look-around" => Ok(system::look_around(size)),
            _ => {
                let lead = Lead::new()
                    .external_id(delivery.id.clone())
                    .message(format!("{}{}", variant(4), delivery.received_at))
                    .attribute("query", &json!(delivery.query))
                    .attribute("headers", &json!(delivery.headers))
                    .attribute("context", &json!(delivery.context));
                Ok(Conversion {
                    items: vec![Item::lead(lead)],
                    reply: replies::choose(&word(config), delivery),
                    notes: Vec::new(),
                })
            }
        }
    }

    fn complete(config: &Value, completion: &Completion) -> Result<Vec<Item>, Failure> {
        match &*harm(config) {
            "stop" => Err(Failure::stop("as asked")),
            "loop" | "fetch-and-loop" => work::for_ever(),
            "fetch-and-trap" => panic!("as asked"),
            "fetch-and-fail" => Err(Failure::give_up("as asked")),
            word if word == "fetch-for-ever" || word == "fetch-twice" && completion.hop == 1 => {
                let request = HttpRequest::get(&format!("{}/further", variant(2)));
                let request = request.map_err(|problem| Failure::give_up(problem.message))?;
                let id = completion.external_id.clone();
                Ok(vec![Item::fetch(id, request, "further")])
            }
            "fetch-leads" | "fetch-twice" => {
                let message = format!(
                    "{}{} to {}: {}",
                    variant(4),
                    completion.response.status,
                    String::from_utf8_lossy(&completion.state),
                    content_text(&completion.response.body)
                );
                // The second one is identified by its place only.
                let second = Lead::new().message(format!("{message} too"));
                let id = completion.external_id.clone();
                let first = Lead::new().external_id(id).message(message);
                Ok(vec![Item::lead(first), Item::lead(second)])
            }
            _ => Ok(vec![Item::ignored(format!(
                "{} after hop {} with {} bytes of state",
                completion.response.status,
                completion.hop,
                completion.state.len()
            ))]),
        }
    }
}

fn word(config: &Value) -> String {
    match config["do"].as_str() {
        Some(word) => word.to_owned(),
        None => variant(6),
    }
}

/// Returns the word, unless this variant has corrected it.
fn harm(config: &Value) -> String {
    let word = word(config);
    if !word.is_empty() && word == variant(3) {
        "mended".to_owned()
    } else {
        word
    }
}

/// Returns a field of the variant in the running component.
fn variant(field: usize) -> String {
    let text = String::from_utf8_lossy(black_box(&VARIANT));
    let fields = text.split_once(':').map_or("", |(_, fields)| fields);
    fields.split(';').nth(field).unwrap_or_default().to_owned()
}

fn note(line: impl ToString) -> Conversion {
    Conversion {
        items: Vec::new(),
        reply: None,
        notes: vec![line.to_string()],
    }
}

fn request() -> Result<HttpRequest, Problem> {
    HttpRequest::get(&variant(2))
}
