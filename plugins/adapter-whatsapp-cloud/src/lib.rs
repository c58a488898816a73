//! WhatsApp through Meta's Cloud API.
//!
//! `send` composes a template message, `answer` reads the Graph API's response,
//! `errors` classifies Meta's codes, `webhook` splits a webhook into
//! statuses (`status`), messages (`inbound`), templates (`template_change`),
//! users' preferences (`preferences`) and the rest (`account`), and `templates`
//! reads the account's list. `user_id` passes on all ids of a user.
//!
//! Ids are text from end to end: Meta sends them as numbers and as strings, and
//! they exceed what a double holds.
#![expect(
    clippy::result_large_err,
    reason = "a refusal is made once a call, and leaves the component at once"
)]

mod account;
mod answer;
mod config;
mod errors;
mod inbound;
mod phone;
mod preferences;
mod send;
mod status;
mod template_change;
mod templates;
mod user_id;
mod webhook;

use leadhost_sdk::{
    Adapter, Delivery, Description, HandshakeAnswer, HttpResponse, Problem, Refused, SendAnswer,
    SendStep, SenderCheck, SenderPolicy, TemplatePage, TemplateSend, TemplateStep, Webhook,
};

pub use config::Config;

pub struct WhatsAppCloud;

leadhost_sdk::export_adapter!(WhatsAppCloud);

impl Adapter for WhatsAppCloud {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "whatsapp-cloud",
            env!("CARGO_PKG_VERSION"),
            "WhatsApp through Meta's Cloud API",
        )
        .config_schema(config::SCHEMA)
        .required_secret(
            config::TOKEN,
            "A system user's token with whatsapp_business_messaging and, for the list of templates, whatsapp_business_management",
        )
        .optional_secret(
            config::APP_SECRET,
            "The app's secret: Meta signs its webhooks with it",
        )
        .optional_secret(
            "verify-token",
            "The token that Meta sends when it verifies the address",
        )
        .host("graph.facebook.com")
    }

    fn sender_checks(config: &Config) -> Result<SenderPolicy, Problem> {
        // Reject a configuration that cannot send when the instance is created,
        // and not with its first message.
        config.check()?;
        Ok([
            SenderCheck::hmac_sha256_hex(config::APP_SECRET, "x-hub-signature-256")
                .prefix("sha256="),
        ]
        .into())
    }

    fn routes(config: &Config) -> Result<Vec<(String, String)>, Problem> {
        config.check()?;
        let number = ("phone-number-id".into(), config.phone_number_id.clone());
        let account = config.waba_id.clone().map(|id| ("account".into(), id));
        Ok([Some(number), account].into_iter().flatten().collect())
    }

    fn handshake(_: &Config, delivery: &Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        HandshakeAnswer::hub_challenge(delivery, "verify-token")
    }

    fn send(config: &Config, message: &TemplateSend) -> Result<SendStep, Refused> {
        Ok(send::request(config, message)?.into())
    }

    fn read_answer(_: &Config, _: &TemplateSend, response: &HttpResponse) -> SendAnswer {
        answer::from_response(response)
    }

    fn read_webhook(_: &Config, delivery: &Delivery) -> Result<Webhook, Problem> {
        webhook::read(&delivery.json()?)
    }

    fn list_templates(config: &Config) -> Result<TemplateStep, Problem> {
        templates::list(config)
    }

    fn read_templates(config: &Config, response: &HttpResponse) -> Result<TemplatePage, Refused> {
        templates::read(config, response)
    }
}

#[cfg(test)]
mod tests {
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

    #[test]
    fn golden_cases_hold() {
        leadhost_sdk::testing::run_golden_adapter::<super::WhatsAppCloud>(CASES);
    }

    #[test]
    fn damaged_webhooks_and_answers_do_not_panic() {
        leadhost_sdk::testing::run_damaged_adapter::<super::WhatsAppCloud>(CASES);
    }
}
