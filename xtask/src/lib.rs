//! What the tasks share with the tests: doubles of the far ends that leads
//! come from and that messages go out by, which are servers on the loopback
//! interface and need nothing but the standard library's sockets, the guests that
//! misbehave, how Cargo is called, and where PostgreSQL's programs are.

pub mod cargo;
pub mod double;
pub mod misbehave;
pub mod postgres_programs;
