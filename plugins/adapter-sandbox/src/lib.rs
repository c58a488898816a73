//! The channel of whoever has no channel yet: it takes every message and says
//! that it was delivered, and a configuration tells it to refuse in each way
//! that a provider refuses. What a contact would do (answer, block, change the
//! number) is posted to its webhook as a small JSON of its own.
//!
//! It makes no call, so what it does depends on nothing but its arguments; the
//! example in JavaScript answers the same golden cases.

mod config;
mod sending;
mod templates;
mod webhook;

use leadhost_sdk::{
    Adapter, Delivery, Description, HttpResponse, Problem, Refused, SendAnswer, SendStep,
    TemplateSend, TemplateStep, Webhook,
};

pub use config::Config;

pub struct Sandbox;

leadhost_sdk::export_adapter!(Sandbox);

impl Adapter for Sandbox {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "sandbox",
            env!("CARGO_PKG_VERSION"),
            "A channel without a network: delivers at once, or refuses as it is told",
        )
        .config_schema(config::SCHEMA)
    }

    fn send(config: &Config, message: &TemplateSend) -> Result<SendStep, Refused> {
        Ok(sending::answer(config, message)?.into())
    }

    fn read_answer(_: &Config, _: &TemplateSend, _: &HttpResponse) -> SendAnswer {
        SendAnswer::Unknown("the sandbox makes no calls, so this answers none".into())
    }

    fn read_webhook(_: &Config, delivery: &Delivery) -> Result<Webhook, Problem> {
        webhook::read(delivery)
    }

    fn list_templates(config: &Config) -> Result<TemplateStep, Problem> {
        Ok(match &config.templates {
            Some(templates) => templates::listed(templates).into(),
            None => TemplateStep::Unlisted,
        })
    }
}

#[cfg(test)]
mod tests;
