//! The trait that a converter implements, and the macro that exports it.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::{
    Completion, Conversion, Delivery, Description, Failure, HandshakeAnswer, Item, Problem,
    SenderPolicy, bindings::converter::exports::leadhost::converter::converter::Guest,
    config::parse_config,
};

/// A lead source in code. Only [`describe`](Converter::describe) and
/// [`convert`](Converter::convert) are required.
///
/// The functions have no `self`: every call gets a fresh instance, so no state
/// passes from one delivery to the next.
pub trait Converter {
    /// The configuration of a connection; [`NoConfig`](crate::NoConfig) if there is none.
    /// Fields that a connection may leave out need `#[serde(default)]`.
    type Config: DeserializeOwned + Default;

    /// Returns the converter's name, version and needs.
    fn describe() -> Description;

    /// Returns how senders prove themselves, and where they send secrets. Default: they do not
    /// prove themselves, and the host masks [`USUAL_SECRETS`](crate::USUAL_SECRETS). A converter
    /// with checks adds these names by [`SenderPolicy::usual_secrets`].
    ///
    /// # Errors
    ///
    /// [`Problem`] if the configuration allows no policy. Deliveries of the connection then wait.
    fn sender_checks(_config: &Self::Config) -> Result<SenderPolicy, Problem> {
        Ok(SenderPolicy::none().usual_secrets())
    }

    /// Returns the reply to a GET that verifies the address. Default: the source
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

    /// Returns the items of a delivery. An error refuses the whole body.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the body as a whole cannot be read.
    fn convert(config: &Self::Config, delivery: &Delivery) -> Result<Conversion, Problem>;

    /// Returns the items in the response to a fetch. Default: gives up, for
    /// converters that never fetch.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the answer yields no lead. Its category says what the host does: try again later,
    /// pause the connection's fetches, or give up on this item.
    fn complete(_config: &Self::Config, _completion: &Completion) -> Result<Vec<Item>, Failure> {
        Err(Failure::give_up(
            "this converter never fetches and cannot read such a response",
        ))
    }
}

/// Exports a type that implements [`Converter`] as the component. Use it once per crate.
///
/// ```ignore
/// leadhost_sdk::export_converter!(SiteForm);
/// ```
#[macro_export]
macro_rules! export_converter {
    ($converter:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type Exported = $crate::Exported<$converter>;
    $crate::__export_converter_bindings!(Exported with_types_in $crate::__bindings::converter);
        };
    };
}

/// Implements the generated bindings for a converter and parses the configuration
/// before each call. The golden runner calls it too.
pub struct Exported<C>(PhantomData<C>);

impl<C: Converter> Guest for Exported<C> {
    fn describe() -> Description {
        C::describe()
    }

    fn sender_checks(config: String) -> Result<SenderPolicy, Problem> {
        C::sender_checks(&parsed::<C>(&config)?)
    }

    fn handshake(delivery: Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        C::handshake(&parsed::<C>(&delivery.config)?, &delivery)
    }

    fn convert(delivery: Delivery) -> Result<Conversion, Problem> {
        C::convert(&parsed::<C>(&delivery.config)?, &delivery)
    }

    fn complete(completion: Completion) -> Result<Vec<Item>, Failure> {
        // Only the operator can fix a configuration: the fetches wait for that.
        let config =
            parsed::<C>(&completion.config).map_err(|problem| Failure::stop(problem.message))?;
        C::complete(&config, &completion)
    }
}

fn parsed<C: Converter>(text: &str) -> Result<C::Config, Problem> {
    parse_config(
        text,
        "the connection's configuration does not fit the converter",
    )
}
