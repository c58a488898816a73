//! Analytics end to end: the API, the rounds that count, the operators' view, and all
//! answers against a recomputation.

mod api;
mod commands;
mod job;
mod oracle;
