//! `/ingest-lead/{connection}`: deliveries of lead sources, and the handshakes by which sources
//! verify the address.

mod handshake;
pub mod inbound;
mod origins;
mod post;

pub(super) use handshake::answer as answer_handshake;
pub use handshake::run as handshake;
pub use origins::preflight;
pub use post::{IngestAnswer, run as receive};
pub(super) use post::{filled, take};
