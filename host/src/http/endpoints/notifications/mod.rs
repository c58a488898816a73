//! `POST /send-notification`: a template message to somebody, now. Every error
//! of it has `success: false`; what is wrong with the body is told all at once,
//! as Zod 3 tells it.

pub(super) mod body;
pub(super) mod instance;
pub mod schema;
mod send;

pub use send::run as send;
