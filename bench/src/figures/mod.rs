//! One file a figure: what is measured, what was aimed at, what came.

pub mod conversion;
pub mod export;
pub mod export_stores;
pub mod ingest;
pub mod ingest_postgres;
pub mod start;
pub mod swap;
pub mod swap_fleet;
