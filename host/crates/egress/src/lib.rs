//! Outgoing calls on behalf of plugins: their allowed hosts, their secrets and their
//! deadlines. The allow-list is checked before a slot is filled. Before every new
//! connection, the addresses that the name resolves to are checked, and the connection goes
//! to one of them. Redirects are not followed.
//!
//! Connections are kept and reused. An error shows whether the request may have gone out: a
//! message for which that is unknown must not be sent twice. A request that certainly did
//! not go out, because the remote server had closed the kept connection, is sent on another
//! connection without the caller noticing.

mod client;
mod connection;
mod error;
mod operator;
mod pool;
mod request;
pub mod seal;
pub mod slots;
mod target;

pub use self::client::{Egress, EgressSettings};
pub use self::error::EgressError;
pub use self::operator::OperatorEndpoint;
pub use self::pool::ConnectionCounts;
pub use self::target::{is_public, split_authority};
