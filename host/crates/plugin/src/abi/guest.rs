//! The functions of a component that the host calls, whichever version of a contract it implements.

use async_trait::async_trait;
use leadhost_golden::Case;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::super::instance_state::InstanceState;
use leadhost_domain::channel::{
    RefusedSend, SendAnswer, SendStep, TemplatePage, TemplateSend, TemplateStep, Webhook,
};
use leadhost_domain::exchange::{HandshakeAnswer, HttpResponse, InputProblem, Pairs, SenderChecks};
use leadhost_domain::plugin::{
    ConvertedItem, ConverterOutput, Description, FetchFailure, PluginCompletion, PluginDelivery,
    PluginKind,
};

/// A contract that this host supports.
pub struct Offer {
    /// Package and version.
    pub contract: &'static str,
    /// The export that a component has if it claims the contract.
    pub export: &'static str,
    pub kind: PluginKind,
    /// The world that a plugin implements.
    pub world: &'static str,
    /// The name of the published file.
    pub file: &'static str,
    /// The contract in its published form, which never changes.
    pub published: &'static str,
    pub link: fn(InstancePre<InstanceState>) -> wasmtime::Result<Guest>,
}

impl Offer {
    pub fn link(&self, pre: InstancePre<InstanceState>) -> wasmtime::Result<Guest> {
        (self.link)(pre)
    }
}

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

/// The functions that every plugin has. Every call of every function takes the instance that
/// [`PluginExports::warm_up`] left in the given store, or starts a fresh one in it.
#[async_trait]
pub trait PluginExports: Send + Sync {
    /// Returns the plugin's name, version, configuration schema, secrets and hosts.
    async fn describe(&self, store: &mut Store<InstanceState>) -> Result<Description, Fault>;

    /// Returns the checks that prove a sender. `config` is the connection's configuration as
    /// JSON. The inner error is the plugin's own.
    async fn sender_checks(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
    ) -> Result<Result<SenderChecks, InputProblem>, Fault>;

    /// Returns the answer to a handshake, or `None` if the request is not one. The inner error
    /// is the plugin's own.
    async fn handshake(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<Option<HandshakeAnswer>, InputProblem>, Fault>;

    /// Returns the raw answer to a golden case, as the contract's types serialise.
    async fn golden(&self, store: &mut Store<InstanceState>, case: &Case) -> Result<Value, Fault>;

    /// Has a fresh instance answer a golden case, and leaves it in the store for one call.
    async fn warm_up(&self, store: &mut Store<InstanceState>, case: &Case) -> Result<(), Fault>;
}

#[async_trait]
pub trait Converter: PluginExports {
    /// Converts a delivery to items. The inner error is the plugin's own: the delivery is not
    /// one that it can read.
    async fn convert(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<ConverterOutput, InputProblem>, Fault>;

    /// Converts the answer to a fetch to items. The inner error is the plugin's own, and says
    /// whether to retry.
    async fn complete(
        &self,
        store: &mut Store<InstanceState>,
        completion: PluginCompletion,
    ) -> Result<Result<Vec<ConvertedItem>, FetchFailure>, Fault>;

    /// Starts an instance that outlives its first call.
    async fn keep(
        &self,
        store: &mut Store<InstanceState>,
    ) -> wasmtime::Result<Box<dyn KeptInstance>>;
}

/// A converter's instance that outlives a call, for the benchmarks.
#[async_trait]
pub trait KeptInstance: Send + Sync {
    /// Converts a delivery to items in the kept instance, as a converter does in a fresh one.
    async fn convert(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<ConverterOutput, InputProblem>, Fault>;
}

#[async_trait]
pub trait Adapter: PluginExports {
    /// Returns names and values by which deliveries of the provider are routed to an instance
    /// with this configuration. The inner error is the plugin's own.
    async fn routes(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
    ) -> Result<Result<Pairs, InputProblem>, Fault>;

    /// Returns the first step of a send: the call to make, or the answer if none is needed.
    async fn send(
        &self,
        store: &mut Store<InstanceState>,
        message: TemplateSend,
    ) -> Result<SendStep, Fault>;

    /// Returns the meaning of the provider's response to a send.
    async fn read_answer(
        &self,
        store: &mut Store<InstanceState>,
        message: TemplateSend,
        response: HttpResponse,
    ) -> Result<SendAnswer, Fault>;

    /// Returns the events of a webhook. The inner error is the plugin's own: it cannot read the
    /// webhook.
    async fn read_webhook(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<Webhook, InputProblem>, Fault>;

    /// Returns the first step of listing templates: the call to make, or the templates. The
    /// inner error is the plugin's own.
    async fn list_templates(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
    ) -> Result<Result<TemplateStep, InputProblem>, Fault>;

    /// Returns a page of templates from the provider's response. The inner error is the
    /// provider's refusal.
    async fn read_templates(
        &self,
        store: &mut Store<InstanceState>,
        config: &str,
        response: HttpResponse,
    ) -> Result<Result<TemplatePage, RefusedSend>, Fault>;
}

pub enum Guest {
    Converter(Box<dyn Converter>),
    Adapter(Box<dyn Adapter>),
}

impl Guest {
    pub fn kind(&self) -> PluginKind {
        match self {
            Self::Converter(_) => PluginKind::Converter,
            Self::Adapter(_) => PluginKind::Adapter,
        }
    }

    pub fn plugin(&self) -> &dyn PluginExports {
        match self {
            Self::Converter(guest) => &**guest,
            Self::Adapter(guest) => &**guest,
        }
    }

    pub fn converter(&self, function: &'static str) -> Result<&dyn Converter, Fault> {
        match self {
            Self::Converter(guest) => Ok(&**guest),
            Self::Adapter(_) => Err(self.lacks(function)),
        }
    }

    pub fn adapter(&self, function: &'static str) -> Result<&dyn Adapter, Fault> {
        match self {
            Self::Adapter(guest) => Ok(&**guest),
            Self::Converter(_) => Err(self.lacks(function)),
        }
    }

    pub fn lacks(&self, function: &'static str) -> Fault {
        Fault::Lacks {
            kind: self.kind(),
            function,
        }
    }
}

pub fn missing_function(case: &Case, kind: PluginKind) -> Fault {
    Fault::Rule(format!(
        "the case calls `{}`, which {} does not have",
        case.call.name(),
        kind.with_article()
    ))
}
