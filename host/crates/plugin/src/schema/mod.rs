//! Checks configurations against the schema that their plugin describes. A plugin supplies
//! the schema, so nothing of it runs before its work is bounded (`bounds`). Then a child
//! process evaluates it under limits of its own (`checker`) and reports what does not fit
//! (`faults`).

mod bounds;
mod checker;
mod evaluation;
mod faults;
#[cfg(test)]
mod hostile;

pub use self::bounds::BoundedSchema;
pub use self::checker::{SchemaCheckError, SchemaChecker};
pub use self::evaluation::{SchemaCheckRequest, SchemaCheckResponse, check};
pub use self::faults::ConfigFault;
