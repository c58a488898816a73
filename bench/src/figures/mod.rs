//! One file per figure: its measurement, its aims, its report.

pub mod analytics;
pub mod console;
pub mod conversion;
pub mod deals;
pub mod export;
pub mod export_peer;
pub mod guests;
pub mod ingest;
pub mod memory;
pub mod messages;
pub mod neighbours;
pub mod rollout;
pub mod search;
pub mod start;
pub mod swap;
pub mod swap_fleet;
pub mod traces;
mod ways;
