//! The part of the tasks that the tests use: doubles of lead sources and
//! messaging providers, which are servers on the loopback interface and need only
//! the standard library's sockets; the misbehaving guests; the call of Cargo; shared compiled code; and
//! PostgreSQL's programs with a server of our own.

pub mod cargo;
pub mod compiled;
pub mod double;
pub mod misbehave;
pub mod postgres_cluster;
pub mod postgres_programs;
