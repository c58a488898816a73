//! `/ingest-lead/{connection}`: deliveries of lead sources, and the handshakes by which sources
//! verify the address.

pub mod handshake;
pub mod inbound;
pub mod origins;
pub mod post;
