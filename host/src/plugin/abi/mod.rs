//! The contracts that this host supports, for converters and for adapters. Generated
//! binding types stop here; everything above uses the domain's own types.
//!
//! To add a version, add its WIT beside the others, a file here with the same functions as
//! the previous version, a variant in [`Guest`], and a line in [`OFFERED`]. A minor release
//! never removes a version that plugins in the field use.

mod adapter_v1;
mod converter_v1;
mod golden;
mod texts;
mod types_v1;

use leadhost_golden::Case;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::instance::State;
use crate::domain::channel::{
    Refused, SendAnswer, SendStep, TemplatePage, TemplateSend, TemplateStep, Webhook,
};
use crate::domain::exchange::{HandshakeAnswer, HttpResponse, Pairs, Problem, SenderChecks};
use crate::domain::plugin::{
    Conversion, Description, Failure, Item, PluginCompletion, PluginDelivery, PluginKind,
};

/// A contract that this host supports.
pub struct Offer {
    /// Package and version.
    pub contract: &'static str,
    /// The export that a component has if it claims the contract.
    pub export: &'static str,
    pub kind: PluginKind,
    link: fn(InstancePre<State>) -> wasmtime::Result<Guest>,
}

pub const OFFERED: &[Offer] = &[
    Offer {
        contract: converter_v1::CONTRACT,
        export: converter_v1::EXPORT,
        kind: PluginKind::Converter,
        link: |pre| converter_v1::Converter::new(pre).map(Guest::ConverterV1),
    },
    Offer {
        contract: adapter_v1::CONTRACT,
        export: adapter_v1::EXPORT,
        kind: PluginKind::Adapter,
        link: |pre| adapter_v1::Adapter::new(pre).map(Guest::AdapterV1),
    },
];

impl Offer {
    /// Links a component.
    ///
    /// # Errors
    /// Returns how the component departs from the contract.
    pub fn link(&self, pre: InstancePre<State>) -> wasmtime::Result<Guest> {
        (self.link)(pre)
    }
}

/// Why a call returned no answer.
#[derive(Debug)]
pub enum Fault {
    /// The guest failed, or the engine ended it.
    Guest(wasmtime::Error),
    /// The answer breaks a rule of the host.
    Rule(String),
    /// A plugin of this kind has no such function.
    Lacks {
        kind: PluginKind,
        function: &'static str,
    },
}

impl From<wasmtime::Error> for Fault {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

/// A linked plugin. Every call creates a fresh instance in the given store. It returns a
/// [`Fault`] if the guest fails, its answer breaks a rule of the host, or a plugin of this
/// kind has no such function.
pub enum Guest {
    ConverterV1(converter_v1::Converter),
    AdapterV1(adapter_v1::Adapter),
}

impl Guest {
    pub fn kind(&self) -> PluginKind {
        match self {
            Self::ConverterV1(_) => PluginKind::Converter,
            Self::AdapterV1(_) => PluginKind::Adapter,
        }
    }

    fn lacks(&self, function: &'static str) -> Fault {
        Fault::Lacks {
            kind: self.kind(),
            function,
        }
    }

    // ---- every plugin's

    pub async fn describe(&self, store: &mut Store<State>) -> Result<Description, Fault> {
        match self {
            Self::ConverterV1(guest) => guest.describe(store).await,
            Self::AdapterV1(guest) => guest.describe(store).await,
        }
    }

    pub async fn sender_checks(
        &self,
        store: &mut Store<State>,
        config: &str,
    ) -> Result<Result<SenderChecks, Problem>, Fault> {
        match self {
            Self::ConverterV1(guest) => guest.sender_checks(store, config).await,
            Self::AdapterV1(guest) => guest.sender_checks(store, config).await,
        }
    }

    pub async fn handshake(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Option<HandshakeAnswer>, Problem>, Fault> {
        match self {
            Self::ConverterV1(guest) => guest.handshake(store, delivery).await,
            Self::AdapterV1(guest) => guest.handshake(store, delivery).await,
        }
    }

    /// Returns the raw answer to a golden case, as the contract's types serialise.
    pub async fn golden(&self, store: &mut Store<State>, case: &Case) -> Result<Value, Fault> {
        match self {
            Self::ConverterV1(guest) => guest.golden(store, case).await,
            Self::AdapterV1(guest) => guest.golden(store, case).await,
        }
    }

    // ---- a converter's

    /// Starts an instance that outlives its first call.
    #[cfg(feature = "bench")]
    pub async fn start(&self, store: &mut Store<State>) -> wasmtime::Result<Started> {
        match self {
            Self::ConverterV1(guest) => guest.start(store).await.map(Started),
            Self::AdapterV1(_) => Err(wasmtime::Error::msg("an adapter instance is not kept")),
        }
    }

    pub async fn convert(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Conversion, Problem>, Fault> {
        match self {
            Self::ConverterV1(guest) => guest.convert(store, delivery).await,
            Self::AdapterV1(_) => Err(self.lacks("convert")),
        }
    }

    pub async fn complete(
        &self,
        store: &mut Store<State>,
        completion: PluginCompletion,
    ) -> Result<Result<Vec<Item>, Failure>, Fault> {
        match self {
            Self::ConverterV1(guest) => guest.complete(store, completion).await,
            Self::AdapterV1(_) => Err(self.lacks("complete")),
        }
    }

    // ---- an adapter's

    pub async fn routes(
        &self,
        store: &mut Store<State>,
        config: &str,
    ) -> Result<Result<Pairs, Problem>, Fault> {
        match self {
            Self::AdapterV1(guest) => guest.routes(store, config).await,
            Self::ConverterV1(_) => Err(self.lacks("routes")),
        }
    }

    pub async fn send(
        &self,
        store: &mut Store<State>,
        message: TemplateSend,
    ) -> Result<SendStep, Fault> {
        match self {
            Self::AdapterV1(guest) => guest.send(store, message).await,
            Self::ConverterV1(_) => Err(self.lacks("send")),
        }
    }

    pub async fn read_answer(
        &self,
        store: &mut Store<State>,
        message: TemplateSend,
        response: HttpResponse,
    ) -> Result<SendAnswer, Fault> {
        match self {
            Self::AdapterV1(guest) => guest.read_answer(store, message, response).await,
            Self::ConverterV1(_) => Err(self.lacks("read-answer")),
        }
    }

    pub async fn read_webhook(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Webhook, Problem>, Fault> {
        match self {
            Self::AdapterV1(guest) => guest.read_webhook(store, delivery).await,
            Self::ConverterV1(_) => Err(self.lacks("read-webhook")),
        }
    }

    pub async fn list_templates(
        &self,
        store: &mut Store<State>,
        config: &str,
    ) -> Result<Result<TemplateStep, Problem>, Fault> {
        match self {
            Self::AdapterV1(guest) => guest.list_templates(store, config).await,
            Self::ConverterV1(_) => Err(self.lacks("list-templates")),
        }
    }

    pub async fn read_templates(
        &self,
        store: &mut Store<State>,
        config: &str,
        response: HttpResponse,
    ) -> Result<Result<TemplatePage, Refused>, Fault> {
        match self {
            Self::AdapterV1(guest) => guest.read_templates(store, config, response).await,
            Self::ConverterV1(_) => Err(self.lacks("read-templates")),
        }
    }
}

/// The fault of a golden case that calls a function which plugins of that kind do not have.
fn not_there(case: &Case, kind: PluginKind) -> Fault {
    Fault::Rule(format!(
        "the case calls `{}`, which {} does not have",
        case.call.name(),
        kind.with_article()
    ))
}

#[cfg(feature = "bench")]
pub struct Started(converter_v1::Started);

#[cfg(feature = "bench")]
impl Started {
    pub async fn convert(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Conversion, Problem>, Fault> {
        converter_v1::convert(&self.0, store, delivery).await
    }
}
