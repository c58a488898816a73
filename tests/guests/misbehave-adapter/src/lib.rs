//! An adapter that misbehaves as its configuration asks: `{"in": "send", "do":
//! "trap"}` harms the host in one function, with `size` for the amount. Each
//! word is one kind of harm. Without a word it is a plain adapter of a provider
//! that speaks a little JSON.
//!
//! [`VARIANT`] is in the component as it is written here, so that a test can
//! make another version of the adapter by changing those bytes.

use std::hint::black_box;

use leadhost_sdk::serde_json::{Value, json};
use leadhost_sdk::{
    Accepted, Adapter, ChannelError, ContactChange, Delivery, Description, Event, HandshakeAnswer,
    HttpRequest, HttpResponse, InboundMessage, Placeholder, Problem, Refused, Reply, Segment,
    SendAnswer, SendStep, SenderCheck, SenderPolicy, Slot, StatusUpdate, Template, TemplateChange,
    TemplatePage, TemplateSend, TemplateStep, Webhook, content_text,
};

/// `;` ends each field: name, version, the secret of the sender check (empty:
/// no check), a host and a secret that it requests (empty: none), the word that
/// no longer does harm, the function and the word for configurations without
/// one (`send:trap`), the address of sends. Padded with blanks.
static VARIANT: [u8; 160] = *b"misbehave-adapter-variant:misbehave-adapter;1.0.0;key;;;;;https://api.example.com/v1/messages;                                                                  ";

pub struct Misbehave;

leadhost_sdk::export_adapter!(Misbehave);

impl Adapter for Misbehave {
    type Config = Value;

    fn describe() -> Description {
        let mut description =
            Description::new(&variant(0), &variant(1), "Does what its configuration says")
                .config_schema(
                    r#"{
            "type": "object",
            "properties": {
                "in": {"type": "string"},
                "do": {"type": "string"},
                "size": {"type": "integer", "minimum": 0}
            },
            "additionalProperties": false
        }"#,
                );
        let (host, secret) = (variant(3), variant(4));
        if !host.is_empty() {
            description = description.host(&host);
        }
        if !secret.is_empty() {
            description = description.required_secret(&secret, "As asked");
        }
        description
    }

    fn sender_checks(config: &Value) -> Result<SenderPolicy, Problem> {
        let mut secret = variant(2);
        match &*harm("sender-checks", config) {
            "refuse" => return Err(Problem::new("as asked")),
            "unnamed" => secret.clear(),
            _ if secret.is_empty() => return Ok([].into()),
            _ => {}
        }
        Ok([SenderCheck::hmac_sha256_hex(&secret, "x-signature")].into())
    }

    fn routes(config: &Value) -> Result<Vec<(String, String)>, Problem> {
        let size = size(config);
        Ok(match &*harm("routes", config) {
            "refuse" => return Err(Problem::new("as asked")),
            "many" => vec![("number".to_owned(), "1".to_owned()); size],
            "long" => vec![("number".to_owned(), "1".repeat(size))],
            "zero" => vec![("number".to_owned(), "1\0".to_owned())],
            _ => vec![
                ("number".to_owned(), "1".to_owned()),
                ("account".to_owned(), "2".to_owned()),
            ],
        })
    }

    fn handshake(config: &Value, delivery: &Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        let reply = Reply::text(delivery.path.clone());
        Ok(match &*harm("handshake", config) {
            "refuse" => return Err(Problem::new("as asked")),
            "redirect" => Some(HandshakeAnswer::new(reply.status(302))),
            "silent" => None,
            _ => Some(HandshakeAnswer::new(reply)),
        })
    }

    fn send(config: &Value, message: &TemplateSend) -> Result<SendStep, Refused> {
        let size = size(config);
        let request = HttpRequest::post(&variant(7))?;
        Ok(match &*harm("send", config) {
            "refuse" => return Err(refusal(config)),
            "unknown" => SendAnswer::Unknown("as\0 asked".to_owned()).into(),
            "accept" => accepted(config).into(),
            "slot" => bad_slot(request).into(),
            "output" => request.body("text/plain", "0".repeat(size)).into(),
            "other" => request
                .query("to", message.recipient.as_str())
                .query("other", "1")
                .body(
                    "application/json",
                    message.template.replace("welcome", "farewell"),
                )
                .into(),
            _ => request
                .query("to", message.recipient.as_str())
                .body("application/json", message.template.clone())
                .into(),
        })
    }

    fn read_answer(config: &Value, message: &TemplateSend, response: &HttpResponse) -> SendAnswer {
        match &*harm("read-answer", config) {
            "refuse" => refusal(config).into(),
            "unknown" => SendAnswer::Unknown("as asked".to_owned()),
            "accept" => accepted(config),
            _ => {
                let said = content_text(&response.body);
                if let Some(category) = said.strip_prefix("refused ") {
                    return Refused::new(category, "as the remote server says").into();
                }
                Accepted::new(said)
                    .recipient_id(message.recipient.clone())
                    .status(&response.status.to_string())
                    .into()
            }
        }
    }

    fn read_webhook(config: &Value, delivery: &Delivery) -> Result<Webhook, Problem> {
        let size = size(config);
        let long = || "x".repeat(size);
        let status = |id: String| Event::from(StatusUpdate::new(id, "sent"));
        let inbound = |id: &str, sender: &str| InboundMessage::new(id, sender, "text");
        let events = match &*harm("read-webhook", config) {
            "refuse" => return Err(Problem::new("as asked").at("here")),
            "redirect" => {
                return Ok(Webhook::from(Vec::new()).reply(Reply::text("moved").status(302)));
            }
            "events" => (0..size).map(|_| Event::other("one of many")).collect(),
            // Each is bad in another way; the last one is good.
            "bad" => {
                let mut attribute = inbound("in", "sender");
                attribute.attributes = vec![("colour".to_owned(), "{not json".to_owned())];
                vec![
                    status(String::new()),
                    status(long()),
                    StatusUpdate::new("id", "sent").recipient_id(long()).into(),
                    inbound("", "sender").into(),
                    inbound("in", "").into(),
                    inbound("in", "sender").reply_to(long()).into(),
                    attribute.into(),
                    TemplateChange::new(long(), "pt_BR", "paused").into(),
                    ContactChange::number("sender", long()).into(),
                    status("id".to_owned()).route("number", long()),
                    Event::invalid("as asked", "entry.0"),
                    status("good".to_owned()).route("number", "1"),
                ]
            }
            "long" => vec![
                StatusUpdate::new("id", &long())
                    .message_id(long())
                    .occurred_at(long())
                    .error(
                        ChannelError::new(long(), &long())
                            .title(long())
                            .description(long())
                            .details(long()),
                    )
                    .into(),
                inbound("in", "sender")
                    .sender_name(long())
                    .content(long())
                    .into(),
            ],
            "zero" => vec![
                StatusUpdate::new("id\0", "sent\0")
                    .message_id("m\0".to_owned())
                    .recipient_id("r\0".to_owned())
                    .error(ChannelError::new("1\0", "opt-out").title("t\0"))
                    .into(),
                inbound("in\0", "sender\0")
                    .sender_name("n\0".to_owned())
                    .content("c\0".to_owned())
                    .attribute("a\0", &json!(["v\0"]))
                    .into(),
                TemplateChange::new("t\0", "pt_BR\0", "paused\0")
                    .reason("r\0")
                    .into(),
                ContactChange::number("s\0", "n\0").into(),
                Event::other("o\0"),
                Event::invalid("i\0", "p\0"),
            ],
            "errors" => {
                let mut status = StatusUpdate::new("id", "failed");
                for number in 0..size {
                    status = status.error(ChannelError::new(number.to_string(), "expired"));
                }
                vec![status.into()]
            }
            _ => vec![
                StatusUpdate::new(content_text(&delivery.body), "delivered").into(),
                Event::other(delivery.received_at.clone()),
            ],
        };
        Ok(Webhook::from(events).note("read"))
    }

    fn list_templates(config: &Value) -> Result<TemplateStep, Problem> {
        let request = HttpRequest::get("https://api.example.com/v1/templates")?;
        Ok(match &*harm("list-templates", config) {
            "refuse" => return Err(Problem::new("as asked")),
            "unlisted" => TemplateStep::Unlisted,
            "slot" => bad_slot(request).into(),
            "call" => request.into(),
            _ => TemplateStep::Page(page(config, "list-templates")?),
        })
    }

    fn read_templates(config: &Value, response: &HttpResponse) -> Result<TemplatePage, Refused> {
        if harm("read-templates", config) == "refuse" {
            return Err(refusal(config));
        }
        if response.status != 200 {
            return Err(Refused::transient(response.status.to_string()));
        }
        Ok(page(config, "read-templates")?)
    }
}

/// A page of templates with one of the possible faults.
fn page(config: &Value, function: &str) -> Result<TemplatePage, Problem> {
    let size = size(config);
    let good = || Template::new("welcome", "pt_BR", "approved").text("Olá {{1}}");
    let mut template = good();
    let word = harm(function, config);
    match &*word {
        "many" => return Ok(vec![good(); size].into()),
        "unnamed" => template.name.clear(),
        "not-json" => template.components = "{not json".to_owned(),
        "no-components" => template.components.clear(),
        "zero-components" => {
            template.components = r#"[{"text": "a\u0000b", "n": 1.50}]"#.to_owned()
        }
        "large" => template.text = "x".repeat(size),
        "placeholders" => {
            template.placeholders = (0..size)
                .map(|_| Placeholder::header_media("image"))
                .collect();
        }
        _ => {}
    }
    let page = TemplatePage::from(vec![template]);
    Ok(match &*word {
        "next" => page.next(HttpRequest::get(
            "https://api.example.com/v1/templates?after=1",
        )?),
        "slot" => page.next(bad_slot(HttpRequest::get("https://api.example.com/v1")?)),
        _ => page,
    })
}

fn refusal(config: &Value) -> Refused {
    let long = "x".repeat(size(config));
    let mut refused = Refused::new("as-asked", format!("as\0 asked{long}"))
        .code(format!("1\0{long}"))
        .retry_after(7);
    if size(config) == 1 {
        refused.category = "expired".to_owned();
    }
    refused
}

/// As many ids as `size`, or one of that length.
fn accepted(config: &Value) -> SendAnswer {
    let size = size(config);
    let mut accepted = Accepted::new("first").status("sent\0");
    accepted.external_ids = if size > 100 {
        vec!["x".repeat(size)]
    } else {
        (0..size).map(|number| number.to_string()).collect()
    };
    accepted.into()
}

fn bad_slot(mut request: HttpRequest) -> HttpRequest {
    request.body = vec![Segment::Slot(Slot {
        function: "rot13".to_owned(),
        args: Vec::new(),
    })];
    request
}

/// Returns the word for this function, after doing any harm that ends the call.
fn harm(function: &str, config: &Value) -> String {
    let always = variant(6);
    let (within, word) = match config["do"].as_str() {
        Some(word) => (config["in"].as_str().unwrap_or_default(), word),
        None => always.split_once(':').unwrap_or_default(),
    };
    if within != function || word == variant(5) {
        return String::new();
    }
    match word {
        "trap" => panic!("as asked"),
        "loop" => loop {
            black_box(());
        },
        "grow" => {
            let mut kept: Vec<Vec<u8>> = Vec::new();
            loop {
                kept.push(black_box(vec![1; 1 << 20]));
            }
        }
        _ => word.to_owned(),
    }
}

fn size(config: &Value) -> usize {
    usize::try_from(config["size"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX)
}

/// Returns a field of the variant in the running component.
fn variant(field: usize) -> String {
    let text = String::from_utf8_lossy(black_box(&VARIANT));
    let fields = text.split_once(':').map_or("", |(_, fields)| fields);
    fields.split(';').nth(field).unwrap_or_default().to_owned()
}
