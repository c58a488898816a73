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
/// [`read_webhook`](Adapter::read_webhook) are required.
///
/// The functions have no `self`: every call gets a fresh instance, so no state
/// passes from one call to the next.
pub trait Adapter {
    /// The configuration of an instance; [`NoConfig`](crate::NoConfig) if there is
    /// none. Fields that an instance may leave out need `#[serde(default)]`.
    type Config: DeserializeOwned + Default;

    /// Returns the adapter's name, version and needs.
    fn describe() -> Description;

    /// Returns how the provider's webhooks prove themselves. Default: they do not.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the configuration allows no policy. Webhooks of the instance then wait.
    fn sender_checks(_config: &Self::Config) -> Result<SenderPolicy, Problem> {
        Ok(SenderPolicy::none())
    }

    /// Returns the names and values by which events find an instance with this
    /// configuration, as [`Event::route`](crate::Event::route) names them.
    /// `account` is the account that limits and payments count for.
    /// Default: an event belongs to the instance whose address received it.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the configuration names no route.
    fn routes(_config: &Self::Config) -> Result<Vec<(String, String)>, Problem> {
        Ok(Vec::new())
    }

    /// Returns the reply to a GET that verifies the address. Default: the provider
    /// sends no such request.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the request cannot be read.
    fn handshake(
        _config: &Self::Config,
        _delivery: &Delivery,
    ) -> Result<Option<HandshakeAnswer>, Problem> {
        Ok(None)
    }

    /// Returns the request that sends the message, or its outcome if no request is
    /// needed. An error means that the adapter cannot compose the message, so
    /// `message.requested()?` is enough to read the template.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the adapter cannot compose the message.
    fn send(config: &Self::Config, message: &TemplateSend) -> Result<SendStep, Refused>;

    /// Reads the outcome from the provider's response to that request. If the
    /// response does not show whether the provider accepted the message, the outcome
    /// is [`SendAnswer::Unknown`]: sending a message twice is worse than leaving it
    /// to an operator.
    fn read_answer(
        config: &Self::Config,
        message: &TemplateSend,
        response: &HttpResponse,
    ) -> SendAnswer;

    /// Returns the events of a webhook. An error refuses the whole body.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the body as a whole cannot be read.
    fn read_webhook(config: &Self::Config, delivery: &Delivery) -> Result<Webhook, Problem>;

    /// Returns the request for the provider's list of templates. Default: the
    /// provider has none.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the request cannot be composed from the configuration.
    fn list_templates(_config: &Self::Config) -> Result<TemplateStep, Problem> {
        Ok(TemplateStep::Unlisted)
    }

    /// Reads the templates from the response to that request. Default: refuses,
    /// for adapters that never request the list.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the provider refused the request, or the response cannot be read.
    fn read_templates(
        _config: &Self::Config,
        _response: &HttpResponse,
    ) -> Result<TemplatePage, Refused> {
        Err(Refused::request(
            "this adapter never requests templates and cannot read such a response",
        ))
    }
}

/// Exports a type that implements [`Adapter`] as the component. Use it once per crate.
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

/// Implements the generated bindings for an adapter and parses the configuration
/// before each call. The golden runner calls it too.
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
            // The call was made, and its outcome cannot be read.
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
