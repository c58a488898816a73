//! Rows of feeds, a file for each kind: the type that a batch decides on, its table, and how it is
//! read and written.

mod contact;
mod conversation;
mod deal;
mod message;
mod message_error;
pub mod record;
mod ticket;

pub use self::contact::{CONTACTS, ContactRecord};
pub use self::conversation::{CONVERSATIONS, ConversationRecord};
pub use self::deal::{DEALS, DealRecord};
pub use self::message::{MESSAGES, MessageRecord};
pub use self::message_error::{MESSAGE_ERRORS, MessageErrorRecord};
pub use self::ticket::{TICKETS, TicketRecord};
