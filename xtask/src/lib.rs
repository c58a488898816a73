//! What the tasks share with the tests: doubles of the far ends that leads
//! come from. They are servers on the loopback interface and need nothing
//! but the standard library's sockets.

pub mod double;
