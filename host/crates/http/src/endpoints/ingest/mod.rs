pub mod handshake;
pub mod inbound;
pub mod origins;
pub mod post;
