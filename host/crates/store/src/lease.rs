//! The number by which a host proves that it still holds the work that it claimed.

/// The fencing token of a lease: a number that grows with every claim of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(pub i64);
