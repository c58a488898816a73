//! Outgoing calls: connections are reused, and an error says whether the
//! request may have been sent.

mod far_end;
mod reuse;
mod tls;
mod wrong;
