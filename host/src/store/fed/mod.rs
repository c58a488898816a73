//! Rows of feeds, a file for each kind: what a batch decides on, the table that it is in, how
//! it is read and how it is written.

mod contact;
mod conversation;
mod deal;
mod message;
mod message_error;
mod ticket;

pub use self::contact::{CONTACTS, Contact};
pub use self::conversation::{CONVERSATIONS, Conversation};
pub use self::deal::{DEALS, Deal};
pub use self::message::{MESSAGES, Message};
pub use self::message_error::{MESSAGE_ERRORS, MessageError};
pub use self::ticket::{TICKETS, Ticket};
use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::decide::Change;
use crate::store::sql::{Arg, Sql};

/// A row of a feed: how it is written.
pub trait Fed<const N: usize> {
    type Id: Copy;
    const FEED: Entity;
    fn workspace(&self) -> WorkspaceId;
    fn change(&self) -> Change;
    /// Whether it makes room for another one of its kind.
    fn is_over(&self) -> bool {
        false
    }
    /// Whether another host may make one of the same at the same time.
    const MAY_MEET: bool;
    fn insert() -> &'static Sql;
    fn update() -> &'static Sql;
    /// All of its columns; `at` is when it is written.
    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; N], StoreError>;
}

/// What is the same for all rows of feeds, and the statements of a table of one. What is
/// fixed is never written again.
macro_rules! written {
    ($table:ident, $met:expr, fixed: [$($fixed:literal),* $(,)?]) => {
        fn workspace(&self) -> crate::domain::id::WorkspaceId {
            self.workspace
        }

        fn change(&self) -> Change {
            self.change
        }

        fn insert() -> &'static Sql {
            static INSERT: Sql = made(|| $table.insert(&[], $met));
            &INSERT
        }

        fn update() -> &'static Sql {
            static UPDATE: Sql = made(|| $table.update_but(&[$($fixed),*]));
            &UPDATE
        }
    };
}

use written;
