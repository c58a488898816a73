//! The trait that an adapter implements, and the macro that exports it.
#![expect(
    clippy::result_large_err,
    reason = "a refusal is made once a call, and leaves the component at once"
)]

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::{
    Delivery, Description, HandshakeAnswer, HttpResponse, Problem, Refused, SendAnswer, SendStep,
    SenderPolicy, TemplatePage, TemplateSend, TemplateStep, Webhook,
    bindings::adapter::exports::leadhost::adapter::adapter::Guest, config::parse_config,
};

/// A messaging provider in code. [`describe`](Adapter::describe),
/// [`send`](Adapter::send), [`read_answer`](Adapter::read_answer) and
/// [`read_webhook`](Adapter::read_webhook) must be written.
///
/// The functions have no `self`: a call gets a fresh instance, so there is
/// nothing to remember from one to the next.
pub trait Adapter {
    /// The configuration of an instance; [`NoConfig`](crate::NoConfig) where
    /// there is none. Fields that an instance may leave out need
    /// `#[serde(default)]`.
    type Config: DeserializeOwned + Default;

    /// Who the adapter is and what it needs.
    fn describe() -> Description;

    /// How the provider's webhooks prove themselves. Default: they do not.
    fn sender_checks(_config: &Self::Config) -> Result<SenderPolicy, Problem> {
        Ok(SenderPolicy::none())
    }

    /// Names and values by which events lead to an instance with this
    /// configuration, as [`Event::route`](crate::Event::route) names them;
    /// `account` is the account that limits and payments are counted for.
    /// Default: an event belongs to the instance whose address it came to.
    fn routes(_config: &Self::Config) -> Result<Vec<(String, String)>, Problem> {
        Ok(Vec::new())
    }

    /// The answer to a GET that makes sure of the address. Default: there is no
    /// such thing here.
    fn handshake(
        _config: &Self::Config,
        _delivery: &Delivery,
    ) -> Result<Option<HandshakeAnswer>, Problem> {
        Ok(None)
    }

    /// The request that sends the message, or what became of it where none is
    /// needed. An error is a message that the adapter cannot compose, so that
    /// `message.requested()?` reads the template.
    fn send(config: &Self::Config, message: &TemplateSend) -> Result<SendStep, Refused>;

    /// What the provider's answer to that request says. Where it does not say
    /// whether the message was taken, that is [`SendAnswer::Unknown`]: a message
    /// that is sent twice is worse than one that a person looks at.
    fn read_answer(
        config: &Self::Config,
        message: &TemplateSend,
        response: &HttpResponse,
    ) -> SendAnswer;

    /// The events of a webhook. An error refuses the body as a whole.
    fn read_webhook(config: &Self::Config, delivery: &Delivery) -> Result<Webhook, Problem>;

    /// The request for the provider's list of templates. Default: this provider
    /// has none.
    fn list_templates(_config: &Self::Config) -> Result<TemplateStep, Problem> {
        Ok(TemplateStep::Unlisted)
    }

    /// The templates that the answer to that request names. Default: refuses,
    /// for adapters that never ask.
    fn read_templates(
        _config: &Self::Config,
        _response: &HttpResponse,
    ) -> Result<TemplatePage, Refused> {
        Err(Refused::request(
            "this adapter asks for no templates and cannot read the answer to that",
        ))
    }
}

/// Makes a component of a type that implements [`Adapter`]. Once per crate.
///
/// ```ignore
/// leadhost_sdk::export_adapter!(ShortMessages);
/// ```
#[macro_export]
macro_rules! export_adapter {
    ($adapter:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type Exported = $crate::ExportedAdapter<$adapter>;
    $crate::__export_adapter_bindings!(Exported with_types_in $crate::__bindings::adapter);
        };
    };
}

/// An adapter as the generated bindings want it: the configuration parsed
/// before each call. Also what the golden runner calls.
pub struct ExportedAdapter<A>(PhantomData<A>);

impl<A: Adapter> Guest for ExportedAdapter<A> {
    fn describe() -> Description {
        A::describe()
    }

    fn sender_checks(config: String) -> Result<SenderPolicy, Problem> {
        A::sender_checks(&parsed::<A>(&config)?)
    }

    fn routes(config: String) -> Result<Vec<(String, String)>, Problem> {
        A::routes(&parsed::<A>(&config)?)
    }

    fn handshake(delivery: Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        A::handshake(&parsed::<A>(&delivery.config)?, &delivery)
    }

    fn send(message: TemplateSend) -> SendStep {
        parsed::<A>(&message.config)
            .map_err(Refused::misconfigured)
            .and_then(|config| A::send(&config, &message))
            .unwrap_or_else(SendStep::from)
    }

    fn read_answer(message: TemplateSend, response: HttpResponse) -> SendAnswer {
        match parsed::<A>(&message.config) {
            Ok(config) => A::read_answer(&config, &message, &response),
            // The call was made, and nothing here can read what it did.
            Err(problem) => SendAnswer::Unknown(problem.message),
        }
    }

    fn read_webhook(delivery: Delivery) -> Result<Webhook, Problem> {
        A::read_webhook(&parsed::<A>(&delivery.config)?, &delivery)
    }

    fn list_templates(config: String) -> Result<TemplateStep, Problem> {
        A::list_templates(&parsed::<A>(&config)?)
    }

    fn read_templates(config: String, response: HttpResponse) -> Result<TemplatePage, Refused> {
        let config = parsed::<A>(&config).map_err(Refused::misconfigured)?;
        A::read_templates(&config, &response)
    }
}

fn parsed<A: Adapter>(text: &str) -> Result<A::Config, Problem> {
    parse_config(
        text,
        "the instance's configuration does not fit the adapter",
    )
}
