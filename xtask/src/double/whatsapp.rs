//! A double of the WhatsApp Cloud API: sends, the list of templates, and the
//! webhooks. It refuses what the real API refuses, in the same order and words.
//! Its webhooks have the same bytes: characters beyond ASCII and slashes are
//! escaped, and the bytes are signed as they are sent.

use std::sync::Mutex;

use serde_json::{Value, json};

mod check;
mod errors;
mod templates;
mod webhook;

use super::channel::{Accepted, Channel, Event, Key, Letter, Outgoing, Provider};
use super::graph;
use super::http::{Answer, Request};
use super::proof::{base64, hmac_sha1_hex, hmac_sha256_hex};
use super::server::locked;

pub type WhatsApp = Channel<Cloud>;

#[derive(Clone, Debug)]
pub struct WhatsAppOptions {
    pub tokens: Vec<String>,
    pub app_secret: String,
    /// The id of the business account, which owns the templates.
    pub waba_id: String,
    pub phone_number_id: String,
    /// The number itself, digits only.
    pub number: String,
    /// As the provider lists them.
    pub templates: Vec<Value>,
}

impl Default for WhatsAppOptions {
    fn default() -> Self {
        Self {
            tokens: vec!["double-whatsapp-token".to_owned()],
            app_secret: "double-app-secret".to_owned(),
            waba_id: "200000000000001".to_owned(),
            phone_number_id: "300000000000001".to_owned(),
            number: "551130000042".to_owned(),
            templates: templates::made_up(),
        }
    }
}

/// The protocol, and its settings that can change while it runs.
pub struct Cloud {
    options: WhatsAppOptions,
    templates: Mutex<Vec<Value>>,
}

impl WhatsApp {
    pub fn options(&self) -> &WhatsAppOptions {
        &self.provider().options
    }

    pub fn messages_path(&self) -> String {
        format!("/v23.0/{}/messages", self.options().phone_number_id)
    }

    /// Changes a template's state, for example to `PAUSED`, and queues the
    /// webhook about it.
    ///
    /// # Panics
    /// If there is no such template.
    pub fn set_template_status(&self, name: &str, language: &str, status: &str) {
        let event = self
            .provider()
            .set_status(name, language, status)
            .expect("the template is there");
        self.queue(event);
    }
}

impl Default for Cloud {
    fn default() -> Self {
        Self::new(WhatsAppOptions::default())
    }
}

impl Cloud {
    pub fn new(options: WhatsAppOptions) -> Self {
        Self {
            templates: Mutex::new(options.templates.clone()),
            options,
        }
    }

    fn set_status(&self, name: &str, language: &str, status: &str) -> Option<Event> {
        let mut templates = locked(&self.templates);
        let template = templates::find(&mut templates, name, language)?;
        template["status"] = json!(status);
        Some(webhook::template_change(template))
    }
}

impl Provider for Cloud {
    const NAME: &'static str = "whatsapp";
    const BATCH: usize = 1_000;

    fn is_send(&self, request: &Request) -> bool {
        let segments = request.segments();
        request.method == "POST" && segments.len() == 3 && segments[2] == "messages"
    }

    fn read_send(&self, request: &Request) -> Result<Outgoing, Answer> {
        graph::authorised(request, &self.options.tokens)?;
        let number = request.segments()[1].to_owned();
        if number != self.options.phone_number_id {
            return Err(errors::no_object("POST", &number));
        }
        let no_json = || errors::missing("body, as JSON,");
        let body = request.json().ok_or_else(no_json)?;
        let read = check::read(&body, &self.options.number)?;
        {
            let mut templates = locked(&self.templates);
            let found = templates::find(&mut templates, &read.template, &read.language);
            check::template(found.map(|template| &*template), &read, &body)?;
        }
        Ok(Outgoing {
            recipient_id: wa_id(&read.recipient),
            recipient: read.recipient,
            opaque: body["biz_opaque_callback_data"].as_str().map(str::to_owned),
            template: read.template,
            callback: None,
        })
    }

    fn message_id(&self, number: u64) -> String {
        let bytes = format!("{}:{number:020}", self.options.phone_number_id);
        format!("wamid.{}", base64(bytes.as_bytes()))
    }

    fn accepted(&self, message: &Accepted) -> Answer {
        let send = &message.send;
        Answer::json(
            200,
            &json!({
                "messaging_product": "whatsapp",
                "contacts": [{"input": send.recipient, "wa_id": send.recipient_id}],
                "messages": [{"id": message.id, "message_status": "accepted"}],
            }),
        )
    }

    fn accepted_without_id(&self) -> Answer {
        Answer::json(
            200,
            &json!({"messaging_product": "whatsapp", "messages": [{}]}),
        )
    }

    fn error(&self, code: u32, status: Option<u16>) -> Answer {
        errors::listed(code, status, None)
    }

    fn other(&self, request: &Request) -> Answer {
        if let Err(refusal) = graph::authorised(request, &self.options.tokens) {
            return refusal;
        }
        match (request.method.as_str(), request.segments().as_slice()) {
            ("GET", [_, account, "message_templates"]) if *account == self.options.waba_id => {
                templates::list(&locked(&self.templates), request)
            }
            (method, [_, object, ..]) => errors::no_object(method, object),
            (method, _) => errors::no_object(method, ""),
        }
    }

    fn letter(&self, events: &[Event]) -> Letter {
        webhook::letter(&self.options, events)
    }

    fn seal(&self, _: &str, letter: &Letter, key: Key) -> Vec<(&'static str, String)> {
        let key = match key {
            Key::Right => &self.options.app_secret,
            Key::Wrong => "another-app-secret",
            Key::None => return Vec::new(),
        };
        let (sha1, sha256) = (
            hmac_sha1_hex(key, &letter.body),
            hmac_sha256_hex(key, &letter.body),
        );
        vec![
            ("X-Hub-Signature", format!("sha1={sha1}")),
            ("X-Hub-Signature-256", format!("sha256={sha256}")),
        ]
    }

    fn command(&self, words: &[&str]) -> Option<Result<(String, Option<Event>), String>> {
        match words {
            ["template", name, language, status] => Some(
                self.set_status(name, language, status)
                    .map(|event| (format!("{name} in {language} is {status}"), Some(event)))
                    .ok_or_else(|| format!("there is no template {name} in {language}")),
            ),
            ["templates"] => Some(Ok((templates::lines(&locked(&self.templates)), None))),
            _ => None,
        }
    }

    fn commands(&self) -> &'static str {
        "\
templates                              the templates and their states
template NAME LANGUAGE STATE           APPROVED, PENDING, PAUSED, REJECTED, DISABLED;
                                       sends a webhook about it
"
    }
}

/// The digits of a phone, or the id of a user without one.
fn wa_id(recipient: &str) -> String {
    if recipient.starts_with(|character: char| character.is_ascii_alphabetic()) {
        return recipient.to_owned();
    }
    recipient.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests;
