//! The jobs that count analytics.
