//! The part of the tasks that the tests use: doubles of lead sources and
//! messaging providers, which are servers on the loopback interface and need only
//! the standard library's sockets; the misbehaving guests; the call of Cargo; shared compiled code; and
//! the location of PostgreSQL's programs.

pub mod cargo;
pub mod compiled;
pub mod double;
pub mod misbehave;
pub mod postgres_programs;
