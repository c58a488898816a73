//! The methods that all rows of feeds share.

use crate::StoreError;
use crate::change::RowChange;
use crate::sql::{Arg, Sql};
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;

/// A row of a feed, and how it is written.
pub trait Fed<const N: usize> {
    type Id: Copy;
    const FEED: Entity;
    /// Returns the workspace whose feed the row belongs to.
    fn workspace(&self) -> WorkspaceId;
    /// Returns how the batch changed the row.
    fn change(&self) -> RowChange;
    /// Whether the row is finished, so that another one of its kind may be created.
    fn is_over(&self) -> bool {
        false
    }
    /// Whether another host may create the same row at the same time.
    const MAY_MEET: bool;
    /// Returns the statement that inserts rows with all columns.
    fn insert() -> &'static Sql;
    /// Returns the statement that updates all columns except the key and the fixed ones.
    fn update() -> &'static Sql;
    /// Returns the values of all columns. `at` is the time of the write.
    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; N], StoreError>;
}

/// The methods that all rows of feeds share, with the statements of their table. Fixed columns are
/// never updated.
macro_rules! written {
    ($table:ident, $met:expr, fixed: [$($fixed:literal),* $(,)?]) => {
        fn workspace(&self) -> leadhost_domain::id::WorkspaceId {
            self.workspace
        }

        fn change(&self) -> RowChange {
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

pub(super) use written;
