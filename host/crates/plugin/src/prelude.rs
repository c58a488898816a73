//! What most parts of the runtime use.

pub use std::collections::{BTreeMap, HashMap};
pub use std::path::{Path, PathBuf};
pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
pub use std::time::{Duration, Instant};

pub use leadhost_golden::{Call, Case};
pub use serde_json::Value;
pub use wasmtime::{Engine, Store};

pub use crate::abi::fault::Fault;
pub use crate::error::{CallError, LoadError, shortened};
pub use crate::imports::CallEnvironment;
pub use crate::instance::CallHandle;
pub use crate::instance_state::InstanceState;
pub use crate::runtime::Plugins;
pub use crate::version::Loaded;
pub use leadhost_domain::exchange::{
    HandshakeAnswer, HttpRequest, HttpResponse, InputProblem, Pairs, PluginReply, SenderChecks,
};
pub use leadhost_domain::limits;
pub use leadhost_domain::plugin::{
    ConverterOutput, Description, Digest, PluginDelivery, PluginKind,
};
pub use leadhost_domain::time::Micros;
