//! `POST /send-notification`: sends a template message to a contact at once. Its errors have
//! `success: false`. All issues of a body are reported together, in the format of Zod 3.

pub mod answer;
pub(super) mod body;
pub(super) mod instance;
pub mod schema;
pub mod send;
