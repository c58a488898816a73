//! WhatsApp and SMS through Twilio.
//!
//! `send` composes a message of a content template, `answer` reads Twilio's
//! response, `errors` classifies its codes, `webhook` reads a form (`form`) as a
//! status (`status`) or a message (`inbound`), and `templates` lists the
//! configured templates.
#![expect(
    clippy::result_large_err,
    reason = "a refusal is made once a call, and leaves the component at once"
)]

mod address;
mod answer;
mod config;
mod errors;
mod form;
mod inbound;
mod send;
mod status;
mod templates;
mod webhook;

use leadhost_sdk::{
    Adapter, Delivery, Description, HttpResponse, Problem, Refused, SendAnswer, SendStep,
    SenderCheck, SenderPolicy, TemplateSend, TemplateStep, Webhook,
};

pub use config::Config;

pub struct Twilio;

leadhost_sdk::export_adapter!(Twilio);

impl Adapter for Twilio {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "twilio",
            env!("CARGO_PKG_VERSION"),
            "WhatsApp and SMS through Twilio",
        )
        .config_schema(config::SCHEMA)
        .optional_secret(
            config::AUTH_TOKEN,
            "The account's token: Twilio signs its webhooks with it, and calls are made with it unless there is an API key",
        )
        .optional_secret(
            config::API_KEY_SECRET,
            "The secret of the API key that `apiKeySid` names",
        )
        .host("api.twilio.com")
    }

    fn sender_checks(config: &Config) -> Result<SenderPolicy, Problem> {
        // Reject a configuration that cannot send when the instance is created,
        // and not with its first message.
        config.check()?;
        let signature = SenderCheck {
            scheme: "hmac-sha1".into(),
            ..SenderCheck::hmac_sha256_base64(config::AUTH_TOKEN, "x-twilio-signature")
        };
        Ok([signature.signed("public-url", "").signed("sorted-form", "")].into())
    }

    fn routes(config: &Config) -> Result<Vec<(String, String)>, Problem> {
        config.check()?;
        let sender = config
            .from
            .as_ref()
            .map(|from| ("sender", address::on(config.channel, from)));
        let service = config
            .messaging_service_sid
            .as_ref()
            .map(|service| ("messaging-service", service.clone()));
        let account = Some(("account", config.account_sid.clone()));
        Ok([sender, service, account]
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.into(), value))
            .collect())
    }

    fn send(config: &Config, message: &TemplateSend) -> Result<SendStep, Refused> {
        Ok(send::request(config, message)?.into())
    }

    fn read_answer(_: &Config, _: &TemplateSend, response: &HttpResponse) -> SendAnswer {
        answer::read(response)
    }

    fn read_webhook(config: &Config, delivery: &Delivery) -> Result<Webhook, Problem> {
        webhook::read(config, delivery)
    }

    fn list_templates(config: &Config) -> Result<TemplateStep, Problem> {
        Ok(templates::from_config(config).into())
    }
}

#[cfg(test)]
mod tests {
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

    #[test]
    fn golden_cases_hold() {
        leadhost_sdk::testing::run_golden_adapter::<super::Twilio>(CASES);
    }

    #[test]
    fn damaged_webhooks_and_answers_do_not_panic() {
        leadhost_sdk::testing::run_damaged_adapter::<super::Twilio>(CASES);
    }
}
