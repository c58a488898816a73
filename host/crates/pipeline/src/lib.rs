//! The paths of leads and messages through the service. `intake` takes in deliveries, `notify`
//! outgoing messages; `deals` applies partners' changes to deals, `worker` runs queued work,
//! `fetch` completes pointers, `send` sends messages, `templates` follows the providers' template
//! lists, `deploy` activates plugins, `verify` compares a version with the one that serves, `fleet`
//! coordinates hosts that share a store, `import` imports catalogues, `catalogue` keeps product
//! names in memory for searching, `rollup` keeps analytics counted, `source_changes` detects when
//! sources change their payloads, `redrive` and `replay` repeat conversions after an activation or
//! for an operator, `repair` replays all that a version converted, `erase` erases a person. The
//! other modules are steps that these share.

pub mod activity;
pub mod answering;
pub mod apply;
mod backoff;
pub mod catalogue;
pub mod check;
pub mod connections;
pub mod convert;
pub mod core;
pub mod deals;
pub mod delivery_turns;
pub mod deploy;
pub mod desk;
pub mod erase;
pub mod events;
mod failure;
pub mod fetch;
pub mod fleet;
pub mod greeting;
pub mod import;
pub mod intake;
pub mod key_uses;
pub mod keys;
pub mod lease;
mod live_traffic;
pub mod local_rate;
pub mod mask;
pub mod normalise;
pub mod notify;
pub mod offload;
pub mod parts;
mod plugin_log;
mod prelude;
pub mod proof;
mod props;
pub mod redrive;
pub mod repair;
pub mod replay;
pub mod replay_answers;
pub mod rollout;
pub mod rollup;
mod rounds;
pub mod routing;
pub mod search_keys;
pub mod send;
mod source_changes;
mod start;
mod state;
pub mod sweep;
pub mod templates;
pub mod troubles;
pub mod unanswered;
pub mod verify;
mod versions;
pub mod waiting_deliveries;
pub mod worker;

pub use start::start;
pub use state::Pipeline;
