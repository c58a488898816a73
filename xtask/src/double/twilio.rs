//! A double of Twilio's messages: sends of content templates to WhatsApp, status
//! callbacks, and incoming messages. It refuses what Twilio refuses. Its
//! callbacks are forms with one event each, signed over the address and the
//! fields.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};

mod check;

use super::channel::{Accepted, Channel, Event, Inbound, Key, Letter, Outgoing, Provider, Status};
use super::documented;
use super::http::{Answer, Request, form, pairs};
use super::proof::{basic, hmac_sha1_base64};
use super::server::locked;

pub type Twilio = Channel<Messages>;

#[derive(Clone, Debug)]
pub struct TwilioOptions {
    pub account_sid: String,
    /// The password of sends, and the key of signatures.
    pub auth_token: String,
    /// The channel's address, such as `whatsapp:+551130000042`.
    pub from: String,
    pub messaging_service_sid: String,
    pub contents: Vec<Content>,
}

#[derive(Clone, Debug)]
pub struct Content {
    pub sid: String,
    /// The text, with variables as `{{1}}`.
    pub text: String,
}

impl Content {
    pub fn new(sid: &str, text: &str) -> Self {
        Self {
            sid: sid.to_owned(),
            text: text.to_owned(),
        }
    }
}

impl Default for TwilioOptions {
    fn default() -> Self {
        Self {
            account_sid: sid("AC", 42),
            auth_token: "double-auth-token".to_owned(),
            from: "whatsapp:+551130000042".to_owned(),
            messaging_service_sid: sid("MG", 7),
            contents: vec![
                Content::new(&sid("HX", 1), "Olá {{1}}, aqui é da {{2}}."),
                Content::new(&sid("HX", 2), "Temos novidades para você."),
            ],
        }
    }
}

/// The protocol, and its settings that can change while it runs.
pub struct Messages {
    options: TwilioOptions,
    /// Recipients, in the spelling of the sends, that have opted out.
    opted_out: Mutex<BTreeSet<String>>,
}

impl Twilio {
    pub fn options(&self) -> &TwilioOptions {
        &self.provider().options
    }

    pub fn messages_path(&self) -> String {
        self.provider().path()
    }
}

impl Default for Messages {
    fn default() -> Self {
        Self::new(TwilioOptions::default())
    }
}

impl Messages {
    pub fn new(options: TwilioOptions) -> Self {
        Self {
            options,
            opted_out: Mutex::default(),
        }
    }

    fn path(&self) -> String {
        format!(
            "/2010-04-01/Accounts/{}/Messages.json",
            self.options.account_sid
        )
    }

    fn status(&self, status: &Status) -> Vec<(&'static str, String)> {
        // The channel reports `failed` for a message that it accepted and could
        // not deliver.
        let mut fields = vec![
            ("MessageSid", status.id.clone()),
            ("SmsSid", status.id.clone()),
            ("AccountSid", self.options.account_sid.clone()),
            ("From", self.options.from.clone()),
            ("ApiVersion", "2010-04-01".to_owned()),
            ("MessageStatus", status.word.clone()),
            ("SmsStatus", status.word.clone()),
            ("ChannelPrefix", "whatsapp".to_owned()),
        ];
        if let Some(recipient) = &status.recipient {
            fields.push(("To", recipient.clone()));
        }
        if status.word == "delivered" || status.word == "read" {
            fields.push(("EventType", status.word.to_uppercase()));
        }
        if let Some(code) = status.errors.first() {
            fields.push(("ErrorCode", code.to_string()));
            fields.push(("ChannelStatusMessage", table(*code).1.to_owned()));
        }
        fields
    }

    fn inbound(&self, inbound: &Inbound) -> Vec<(&'static str, String)> {
        let id = inbound.id_or("SM");
        let mut fields = vec![
            ("MessageSid", id.clone()),
            ("SmsSid", id.clone()),
            ("SmsMessageSid", id),
            ("AccountSid", self.options.account_sid.clone()),
            ("From", inbound.sender.clone()),
            ("To", self.options.from.clone()),
            ("ApiVersion", "2010-04-01".to_owned()),
            ("SmsStatus", "received".to_owned()),
            ("Body", inbound.text.clone()),
            ("ProfileName", inbound.name.clone()),
            ("NumMedia", "0".to_owned()),
            ("NumSegments", "1".to_owned()),
        ];
        if let Some(number) = inbound.sender.strip_prefix("whatsapp:+") {
            fields.push(("WaId", number.to_owned()));
        }
        if let Some(payload) = &inbound.payload {
            fields.push(("MessageType", "button".to_owned()));
            fields.push(("ButtonText", inbound.text.clone()));
            fields.push(("ButtonPayload", payload.clone()));
        } else {
            fields.push(("MessageType", "text".to_owned()));
        }
        if let Some(answered) = &inbound.answers {
            fields.push(("OriginalRepliedMessageSid", answered.clone()));
            fields.push(("OriginalRepliedMessageSender", self.options.from.clone()));
        }
        fields
    }
}

impl Provider for Messages {
    const NAME: &'static str = "twilio";
    const BATCH: usize = 1;

    fn is_send(&self, request: &Request) -> bool {
        request.method == "POST" && request.path.ends_with("/Messages.json")
    }

    fn read_send(&self, request: &Request) -> Result<Outgoing, Answer> {
        let right = basic(&self.options.account_sid, &self.options.auth_token);
        if request.header("authorization") != Some(&right) {
            return Err(error(20_003, None));
        }
        if request.path != self.path() {
            return Err(error(20_404, None));
        }
        let send = check::read(&self.options, &request.form())?;
        if locked(&self.opted_out).contains(bare(&send.recipient)) {
            return Err(error(21_610, None));
        }
        Ok(send)
    }

    fn message_id(&self, number: u64) -> String {
        sid("SM", number)
    }

    fn accepted(&self, message: &Accepted) -> Answer {
        let path = format!(
            "/2010-04-01/Accounts/{}/Messages/{}",
            self.options.account_sid, message.id
        );
        let mut body = without_id(&self.options);
        body["sid"] = json!(message.id);
        body["to"] = json!(message.send.recipient);
        body["uri"] = json!(format!("{path}.json"));
        body["subresource_uris"] = json!({"media": format!("{path}/Media.json")});
        Answer::json(201, &body)
    }

    fn accepted_without_id(&self) -> Answer {
        Answer::json(201, &without_id(&self.options))
    }

    fn error(&self, code: u32, status: Option<u16>) -> Answer {
        error(code, status)
    }

    fn other(&self, _: &Request) -> Answer {
        error(20_404, None)
    }

    fn letter(&self, events: &[Event]) -> Letter {
        let fields = match events {
            [Event::Status(status)] => self.status(status),
            [Event::Inbound(inbound)] => self.inbound(inbound),
            _ => Vec::new(),
        };
        Letter {
            content_type: "application/x-www-form-urlencoded; charset=UTF-8",
            body: form(&fields).into_bytes(),
        }
    }

    fn seal(&self, url: &str, letter: &Letter, key: Key) -> Vec<(&'static str, String)> {
        let key = match key {
            Key::Right => &self.options.auth_token,
            Key::Wrong => "another-auth-token",
            Key::None => return Vec::new(),
        };
        let mut fields = pairs(&letter.body);
        fields.sort();
        let mut text = url.to_owned();
        for (name, value) in fields {
            text.push_str(&name);
            text.push_str(&value);
        }
        vec![("X-Twilio-Signature", hmac_sha1_base64(key, text.as_bytes()))]
    }

    fn command(&self, words: &[&str]) -> Option<Result<(String, Option<Event>), String>> {
        match words {
            ["opt-out", recipient] => {
                locked(&self.opted_out).insert(bare(recipient).to_owned());
                Some(Ok((format!("{recipient} wants no more messages"), None)))
            }
            ["contents"] => {
                let lines = self.options.contents.iter();
                let lines: Vec<String> = lines
                    .map(|content| format!("{}  {}", content.sid, content.text))
                    .collect();
                Some(Ok((lines.join("\n"), None)))
            }
            _ => None,
        }
    }

    fn commands(&self) -> &'static str {
        "\
contents                               the content templates
opt-out RECIPIENT                      sends to it are refused with 21610
"
    }
}

/// Twilio's error, flat and with the status inside: its documented status unless another is given.
fn error(code: u32, status: Option<u16>) -> Answer {
    let (documented, words, _) = table(code);
    let status = status.unwrap_or(documented);
    let body = json!({
        "code": code,
        "message": words,
        "more_info": format!("https://www.twilio.com/docs/errors/{code}"),
        "status": status,
    });
    Answer::json(status, &body)
}

fn table(code: u32) -> (u16, &'static str, &'static str) {
    documented(include_str!("twilio/errors.txt"), code)
}

/// The number without the channel's prefix.
fn bare(recipient: &str) -> &str {
    recipient.rsplit(':').next().unwrap_or(recipient)
}

fn without_id(options: &TwilioOptions) -> Value {
    json!({
        "account_sid": options.account_sid,
        "api_version": "2010-04-01",
        "direction": "outbound-api",
        "error_code": null,
        "error_message": null,
        "from": options.from,
        "status": "queued",
    })
}

/// Two letters and 32 digits.
fn sid(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:032}")
}

#[cfg(test)]
mod tests;
