//! Sends the messages of {{name}}, and reads the provider's answers and webhooks.
//!
//! The provider is made up: it takes `from`, `to`, `template`, `language` and `values` at
//! `/v1/messages`, answers with an `id`, and posts a list of `events`. Replace its address,
//! names and codes with your own, and raise the version with each change.

use leadhost_sdk::serde_json::{Value, json};
use leadhost_sdk::{
    Accepted, Adapter, Delivery, Description, Event, HttpRequest, HttpResponse, InboundMessage,
    Problem, Refused, SendAnswer, SendStep, SenderCheck, SenderPolicy, StatusUpdate, TemplateSend,
    Webhook, lit, secret, text_at, time_text,
};

pub struct Channel;

leadhost_sdk::export_adapter!(Channel);

#[derive(Default, serde::Deserialize)]
#[serde(default)]
pub struct Config {
    /// The number that messages are sent from.
    number: String,
}

impl Adapter for Channel {
    type Config = Config;

    fn describe() -> Description {
        Description::new("{{name}}", "1.0.0", "Messages of {{name}}")
            .config_schema(include_str!("config.schema.json"))
            .required_secret("token", "The token for calls")
            .optional_secret("webhook-key", "The key with which the provider signs")
            .host("api.provider.example")
    }

    fn sender_checks(_: &Config) -> Result<SenderPolicy, Problem> {
        Ok([SenderCheck::hmac_sha256_hex("webhook-key", "x-signature")].into())
    }

    /// One address may serve several numbers. Returns the number of this instance.
    fn routes(config: &Config) -> Result<Vec<(String, String)>, Problem> {
        Ok(vec![("number".into(), config.number.clone())])
    }

    fn send(config: &Config, message: &TemplateSend) -> Result<SendStep, Refused> {
        let template = message.requested()?;
        let values = template.body().iter().filter_map(|value| value.text());
        let body = json!({
            "from": config.number,
            "to": message.recipient,
            "template": template.name,
            "language": template.language,
            "values": values.collect::<Vec<_>>(),
            // The provider repeats it in each status.
            "reference": message.message_id,
        });
        let request = HttpRequest::post("https://api.provider.example/v1/messages")?
            .header("authorization", [lit("Bearer "), secret("token")])
            .body("application/json", body.to_string());
        Ok(request.into())
    }

    fn read_answer(_: &Config, _: &TemplateSend, response: &HttpResponse) -> SendAnswer {
        let body = response.json().unwrap_or_default();
        let code = text_at(&body, &["error.code"]).unwrap_or_default();
        let text = text_at(&body, &["error.message"]).unwrap_or_default();
        let refused = match (response.status, code.as_str()) {
            (200, _) => {
                return match text_at(&body, &["id"]) {
                    Some(id) => Accepted::new(id).into(),
                    None => SendAnswer::Unknown("the provider answered 200 without an id".into()),
                };
            }
            (401 | 403, _) => Refused::connection(text),
            (402, _) => Refused::account(text),
            (429, _) => Refused::throttled_number(text).retry_after(response.retry_after()),
            (_, "no-such-template") => Refused::unknown_template(text),
            (_, "not-reachable") => Refused::recipient(text),
            // Nothing shows whether the message was sent.
            (500.., _) => {
                return SendAnswer::Unknown(format!("the provider answered {}", response.status));
            }
            _ => Refused::request(text),
        };
        refused.code(code).into()
    }

    fn read_webhook(_: &Config, delivery: &Delivery) -> Result<Webhook, Problem> {
        let refused = |_| Problem::new("the body is not valid JSON");
        let body = delivery.json().map_err(refused)?;
        let Some(events) = body["events"].as_array() else {
            return Err(Problem::new("the body has no list `events`"));
        };
        let events: Vec<Event> = events.iter().enumerate().map(event).collect();
        Ok(events.into())
    }
}

fn event((index, event): (usize, &Value)) -> Event {
    let text = |name: &str| text_at(event, &[name]);
    let Some(id) = text("id") else {
        return Event::invalid("an event needs `id`", format!("events.{index}.id"));
    };
    let at = time_text(&event["at"]);
    let read: Event = match (text("state"), text("from")) {
        (Some(state), _) => StatusUpdate::new(id, &state)
            .message_id(text("reference"))
            .occurred_at(at)
            .into(),
        (None, Some(from)) => InboundMessage::new(id, &from, "text")
            .sender_phone(from.clone())
            .content(text("text"))
            .occurred_at(at)
            .into(),
        (None, None) => Event::other("neither a status nor a message"),
    };
    match text("number") {
        Some(number) => read.route("number", number),
        None => read,
    }
}
