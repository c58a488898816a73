//! The trait that a converter implements, and the macro that exports it.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::{
    Completion, Conversion, Delivery, Description, Failure, HandshakeAnswer, Item, Problem,
    SenderPolicy, bindings::converter::exports::leadhost::converter::converter::Guest,
    config::parse_config,
};

/// A lead source in code. Only [`describe`](Converter::describe) and
/// [`convert`](Converter::convert) must be written.
///
/// The functions have no `self`: a call gets a fresh instance, so there is
/// nothing to remember from one delivery to the next.
pub trait Converter {
    /// The configuration of a connection; [`NoConfig`](crate::NoConfig) where there is none.
    /// Fields that a connection may leave out need `#[serde(default)]`.
    type Config: DeserializeOwned + Default;

    /// Who the converter is and what it needs.
    fn describe() -> Description;

    /// How senders prove themselves. Default: they do not.
    fn sender_checks(_config: &Self::Config) -> Result<SenderPolicy, Problem> {
        Ok(SenderPolicy::none())
    }

    /// The answer to a GET that makes sure of the address. Default: there is no
    /// such thing here.
    fn handshake(
        _config: &Self::Config,
        _delivery: &Delivery,
    ) -> Result<Option<HandshakeAnswer>, Problem> {
        Ok(None)
    }

    /// The items of a delivery. An error refuses the body as a whole.
    fn convert(config: &Self::Config, delivery: &Delivery) -> Result<Conversion, Problem>;

    /// The items that the answer to a fetch gives. Default: gives up, for
    /// converters that never fetch.
    fn complete(_config: &Self::Config, _completion: &Completion) -> Result<Vec<Item>, Failure> {
        Err(Failure::give_up(
            "this converter makes no fetches and cannot read the answer to one",
        ))
    }
}

/// Makes a component of a type that implements [`Converter`]. Once per crate.
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

/// A converter as the generated bindings want it: the configuration parsed
/// before each call. Also what the golden runner calls.
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
        // A configuration is the operator's to mend: the fetches wait for it.
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
