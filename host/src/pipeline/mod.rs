//! The stories of the service, step by step.

pub mod apply;
