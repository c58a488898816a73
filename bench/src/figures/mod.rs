//! One file a figure: what is measured, what was aimed at, what came.

pub mod conversion;
pub mod export;
pub mod ingest;
pub mod start;
pub mod swap;
