//! The versions of the contract that this host speaks. Types that bindings
//! generate stop here; the domain's own go on.
//!
//! To add a version: its WIT beside the others, a file here with the same
//! functions as [`v1`], a variant in [`Converter`], a line in [`OFFERED`]. A
//! version that plugins in the field use is never removed with a minor release.

mod v1;

use leadhost_golden::Case;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::instance::State;
use crate::domain::exchange::{HandshakeAnswer, Problem, SenderChecks};
use crate::domain::plugin::{
    Conversion, Description, Failure, Item, PluginCompletion, PluginDelivery,
};

/// Each contract with the export by which a component claims it.
pub const OFFERED: &[(&str, &str)] = &[(v1::CONTRACT, v1::EXPORT)];

/// Why a call gave nothing.
#[derive(Debug)]
pub enum Fault {
    /// The guest broke off, or the engine ended it.
    Guest(wasmtime::Error),
    /// The answer breaks a rule of the host.
    Rule(String),
}

impl From<wasmtime::Error> for Fault {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

/// A linked converter: every call makes a fresh instance in the given store.
pub enum Converter {
    V1(v1::Converter),
}

impl Converter {
    /// The error says how the component departs from the contract that it claims.
    pub fn new(pre: InstancePre<State>) -> wasmtime::Result<Self> {
        v1::Converter::new(pre).map(Self::V1)
    }

    /// An instance that outlives its first call.
    #[cfg(feature = "bench")]
    pub fn start(&self, store: &mut Store<State>) -> wasmtime::Result<Started> {
        let Self::V1(guest) = self;
        guest.start(store).map(Started)
    }

    pub fn describe(&self, store: &mut Store<State>) -> Result<Description, Fault> {
        let Self::V1(guest) = self;
        guest.describe(store)
    }

    pub fn sender_checks(
        &self,
        store: &mut Store<State>,
        config: &str,
    ) -> Result<Result<SenderChecks, Problem>, Fault> {
        let Self::V1(guest) = self;
        guest.sender_checks(store, config)
    }

    pub fn handshake(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Option<HandshakeAnswer>, Problem>, Fault> {
        let Self::V1(guest) = self;
        guest.handshake(store, delivery)
    }

    pub fn convert(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Conversion, Problem>, Fault> {
        let Self::V1(guest) = self;
        guest.convert(store, delivery)
    }

    pub fn complete(
        &self,
        store: &mut Store<State>,
        completion: PluginCompletion,
    ) -> Result<Result<Vec<Item>, Failure>, Fault> {
        let Self::V1(guest) = self;
        guest.complete(store, completion)
    }

    /// The raw answer to a golden case, as the contract's types serialise.
    pub fn golden(&self, store: &mut Store<State>, case: &Case) -> Result<Value, Fault> {
        let Self::V1(guest) = self;
        guest.golden(store, case)
    }
}

#[cfg(feature = "bench")]
pub struct Started(v1::Started);

#[cfg(feature = "bench")]
impl Started {
    pub fn convert(
        &self,
        store: &mut Store<State>,
        delivery: PluginDelivery,
    ) -> Result<Result<Conversion, Problem>, Fault> {
        v1::convert(&self.0, store, delivery)
    }
}
