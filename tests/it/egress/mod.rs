//! Outgoing calls: connections are reused, and an error says whether the
//! request may have been sent.

mod remote_server;
mod reuse;
mod tls;
mod wrong;
