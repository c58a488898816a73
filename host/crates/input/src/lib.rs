//! Checks values against a schema and finds everything that is wrong, each with its path. The schemas
//! describe the configurations of plugins and the requests of the interface; the part of JSON Schema 2020-12
//! that these use is supported. A schema may be written by an attacker: a part of it checks a value once,
//! however often it is reached, and one check takes a bounded number of steps. No IO.
//!
//! In reading order:
//!
//! - `schema.rs`: a schema as it is read, with its bounds; `pattern.rs`, its regular expressions.
//! - `check.rs`: the check of a value.
//! - `issue.rs`: what is wrong with a value; `words.rs`, the same for the person who wrote the value.

mod check;
#[cfg(test)]
mod hostile;
mod issue;
mod pattern;
mod schema;
mod words;

pub use self::issue::Issue;
pub use self::schema::Schema;
pub use self::words::Fault;
