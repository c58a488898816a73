//! Calls to the outside: connections are used again, and what goes wrong tells
//! whether the request may have gone out.

mod far;
mod kept;
mod tls;
mod wrong;
