//! The plugin runtime: components are compiled once, kept by digest, replaced as a whole
//! while calls run, and called under limits, each time with a fresh instance.
//!
//! The rules of this module: A version is prepared (compiled, linked, tried, its golden
//! cases run) before it becomes visible. Guests run in slices on threads of their own,
//! never on those that serve requests, and each connection gets its share. A call returns
//! an answer or a [`CallError`] that says whether the version is at fault. This module does
//! not know the store and decides nothing about deliveries. Only this module names the
//! WebAssembly runtime, and only `abi/` names generated bindings.
//!
//! # Order of files
//!
//! This file has [`Plugins`], which the service calls. Then:
//!
//! - A version: `version.rs` is one that is loaded, `registry.rs` the table of the loaded and active
//!   ones. `inbox.rs` reports new files.
//! - From bytes to a version: `load.rs` has the steps. `interfaces.rs` and `core_module.rs` look at the
//!   bytes, `signature.rs` at their signer. `compile.rs` compiles in a child process, with
//!   `function_cache.rs` and `hashed_file.rs` for the code that is kept; `libraries.rs` takes out what
//!   is compiled apart, by `module_shape.rs`. `trial.rs` bounds the trial: `bounded_queue.rs` says when it is the turn of a `caller.rs`. `golden.rs` runs its golden
//!   cases and `replies.rs` checks the replies in them.
//! - A call: `runtime.rs` has what all calls share. `calls.rs` has one method for each function of the contract. `budget.rs` has its
//!   processor time. `breaker.rs` may skip the call, `schedule/` says whose turn it is, `instance.rs` runs it in an instance. `abi/` translates
//!   between the contract and the domain; `rules.rs` and `rules/` check the answer.
//! - In the instance: `engine.rs` (settings and interrupts), `instance_state.rs`, `imports.rs` (the parts
//!   of WASI), `memory.rs` (the limit). `warm.rs` and `warming.rs` make instances ahead.
//! - Afterwards: `error.rs` says who is at fault, `frames.rs` shows where a guest failed. `usage.rs`,
//!   `history.rs` and `watch.rs` measure and show calls.
//! - For tests and benchmarks only: `hostile.rs`, `test_rng.rs`, `bench.rs`.

mod abi;
pub mod bench;
mod bounded_queue;
mod breaker;
mod budget;
mod caller;
mod calls;
mod compile;
pub mod core_module;
mod engine;
mod error;
mod frames;
mod function_cache;
mod golden;
mod guest_log;
mod hashed_file;
mod history;
#[cfg(test)]
mod hostile;
mod imports;
pub mod inbox;
mod instance;
mod instance_state;
pub mod interfaces;
mod libraries;
mod load;
mod memory;
mod module_shape;
mod prelude;
mod registry;
mod replies;
pub mod rules;
mod runtime;
mod schedule;
pub mod signature;
#[cfg(test)]
mod test_rng;
mod trial;
mod usage;
mod version;
mod warm;
mod warming;
mod watch;

pub use self::bounded_queue::BoundedQueue;
pub use self::breaker::OpenCircuit;
pub use self::budget::CallBudget;
pub use self::caller::{TRIAL_LANE, current as current_caller, on_behalf_of};
pub use self::compile::{
    Compiler, EXIT_INVALID as COMPILE_EXIT_INVALID, translate as compile_component,
};
pub use self::engine::CodeUse;
pub use self::error::{CallError, CallOutcome, EngineError, LoadError, NotInstalled};
pub use self::frames::{with_innermost_place, without_place};
pub use self::golden::{CaseAnswer, carried_cases};
pub use self::history::{CallCounts, VersionCalls};
pub use self::load::PreparedVersion;
pub use self::registry::InstalledVersion;
pub use self::runtime::{FINGERPRINT, Plugins, contracts};
pub use self::schedule::{give_way, lower_priority};
pub use self::trial::Trial;
pub use self::usage::CallUsage;
pub use self::version::Loaded;
pub use self::warm::WarmLoad;
pub use self::watch::{Watched, WatchedCall, WatchedOutput, WatchedSend};
