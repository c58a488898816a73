//! The way of a lead and of a message, as stories: `intake` takes a delivery in,
//! `notify` a message that is to go out, `deals` what partners do to deals, `worker` does what waits, `fetch` gets
//! what a pointer points at, `send` sends, `templates` keeps what providers have
//! approved, `deploy` makes a plugin serve, `fleet` keeps hosts that share a
//! store together, `import` takes catalogues in, `catalogue` keeps product names in memory for searching, `rollup` keeps
//! analytics counted, `redrive` and `replay` convert again what failed or what an
//! operator asks for, `erase` forgets a person. Plain steps they share stand beside them.

pub mod answering;
pub mod apply;
mod backoff;
pub mod catalogue;
pub mod check;
pub mod connections;
pub mod convert;
pub mod deals;
pub mod deploy;
pub mod desk;
pub mod erase;
pub mod events;
mod failure;
pub mod fetch;
pub mod fleet;
pub mod greeting;
pub mod held;
pub mod import;
pub mod intake;
pub mod key_uses;
pub mod keys;
pub mod mask;
pub mod normalise;
pub mod notify;
pub mod parts;
pub mod proof;
mod props;
pub mod redrive;
pub mod replay;
pub mod replay_answers;
pub mod rollup;
pub mod routing;
pub mod send;
mod start;
mod state;
pub mod sweep;
pub mod templates;
pub mod turns;
pub mod unanswered;
mod versions;
pub mod waiting;
pub mod worker;

pub use start::start;
pub use state::Pipeline;
