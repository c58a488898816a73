//! A channel for tests, and for workspaces that have no channel yet. It accepts
//! every message and reports it as delivered; a configuration makes it refuse in
//! each way that a provider refuses. A contact's actions (a reply, a block, a
//! changed number) are posted to its webhook as small JSON events.
//!
//! It makes no call, so its output depends only on its arguments. The example in
//! JavaScript passes the same golden cases.

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
            "A channel without a network: delivers at once, or refuses as configured",
        )
        .config_schema(config::SCHEMA)
    }

    fn send(config: &Config, message: &TemplateSend) -> Result<SendStep, Refused> {
        Ok(sending::answer(config, message)?.into())
    }

    fn read_answer(_: &Config, _: &TemplateSend, _: &HttpResponse) -> SendAnswer {
        SendAnswer::Unknown("the sandbox makes no calls, so there is no response to read".into())
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
