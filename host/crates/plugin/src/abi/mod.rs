//! The contracts that this host supports, for converters and for adapters. Generated
//! binding types stop here; everything above uses the domain's own types.
//!
//! To add a version, add its WIT beside the others, a folder here, its plugins to [`Guest`] and its offers
//! to [`OFFERED`]. A minor release never removes a version that plugins in the field use.

pub mod fault;
mod golden;
mod texts;
mod v1;

use wasmtime::component::InstancePre;

use self::fault::Fault;
pub use self::v1::converter::KeptInstance;
use self::v1::{adapter::Adapter, converter::Converter};
use super::instance_state::InstanceState;
use leadhost_domain::plugin::PluginKind;

/// The contracts, with the newer version of a kind before the older one.
pub const OFFERED: &[Offer] = &[
    Offer {
        contract: "leadhost:converter@1.0.0",
        export: "leadhost:converter/converter@1.0.0",
        kind: PluginKind::Converter,
        world: "lead-converter",
        file: "leadhost-converter-1.0.0.wit",
        published: include_str!("../../../../../wit/published/leadhost-converter-1.0.0.wit"),
        link: |pre| Ok(Guest::Converter(Converter::new(pre)?)),
    },
    Offer {
        contract: "leadhost:adapter@1.0.0",
        export: "leadhost:adapter/adapter@1.0.0",
        kind: PluginKind::Adapter,
        world: "channel-adapter",
        file: "leadhost-adapter-1.0.0.wit",
        published: include_str!("../../../../../wit/published/leadhost-adapter-1.0.0.wit"),
        link: |pre| Ok(Guest::Adapter(Adapter::new(pre)?)),
    },
];

pub struct Offer {
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

pub enum Guest {
    Converter(Converter),
    Adapter(Adapter),
}

/// Calls a function that every plugin has.
macro_rules! of_either {
    ($guest:expr, $function:ident($($given:expr),*)) => {
        match $guest {
            $crate::abi::Guest::Converter(guest) => guest.$function($($given),*).await,
            $crate::abi::Guest::Adapter(guest) => guest.$function($($given),*).await,
        }
    };
}

pub(crate) use of_either;

impl Guest {
    pub fn kind(&self) -> PluginKind {
        match self {
            Self::Converter(_) => PluginKind::Converter,
            Self::Adapter(_) => PluginKind::Adapter,
        }
    }

    pub fn converter(&self, function: &'static str) -> Result<&Converter, Fault> {
        match self {
            Self::Converter(guest) => Ok(guest),
            Self::Adapter(_) => Err(self.lacks(function)),
        }
    }

    pub fn adapter(&self, function: &'static str) -> Result<&Adapter, Fault> {
        match self {
            Self::Adapter(guest) => Ok(guest),
            Self::Converter(_) => Err(self.lacks(function)),
        }
    }

    fn lacks(&self, function: &'static str) -> Fault {
        Fault::Lacks {
            kind: self.kind(),
            function,
        }
    }
}
