//! Outgoing calls: connections are reused, and an error says whether the
//! request may have been sent.

mod far;
mod kept;
mod tls;
mod wrong;
