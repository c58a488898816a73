//! How rows of feeds are written.

use crate::prelude::*;
use crate::sql::{Arg, Sql};

/// A row of a feed, and how it is written.
pub trait Fed<const N: usize> {
    type Id: Copy;
    const FEED: Entity;
    /// Whether another host may create the same row at the same time.
    const MAY_MEET: bool;
    fn workspace(&self) -> WorkspaceId;
    fn change(&self) -> RowChange;
    /// Whether the row is finished, so that another one of its kind may be created.
    fn is_over(&self) -> bool;
    fn insert() -> &'static Sql;
    fn update() -> &'static Sql;
    /// Returns the values of all columns. `at` is the time of the write.
    fn values(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; N], StoreError>;
}

/// Implements [`Fed`] for a record of `table!`, whose `args` take its id, its stamp and the time:
/// `fed!(Record: Id in TABLE of Entity, may_meet: false, is_over: |row| false)`.
macro_rules! fed {
    (
        $record:ident: $id:ident in $table:ident of $entity:ident,
        may_meet: $may_meet:literal, is_over: |$row:ident| $over:expr
    ) => {
        impl $crate::fed::record::Fed<{ $record::WIDTH }> for $record {
            type Id = $id;
            const FEED: leadhost_domain::row::Entity = leadhost_domain::row::Entity::$entity;
            const MAY_MEET: bool = $may_meet;

            fn workspace(&self) -> WorkspaceId {
                self.workspace
            }

            fn change(&self) -> RowChange {
                self.change
            }

            fn is_over(&self) -> bool {
                let $row = self;
                $over
            }

            fn insert() -> &'static $crate::sql::Sql {
                static INSERT: $crate::sql::Sql = $crate::sql::made(|| {
                    use $crate::schema::table::OnConflict;
                    $table.insert(
                        &[],
                        if $may_meet {
                            OnConflict::Skip
                        } else {
                            OnConflict::Fail
                        },
                    )
                });
                &INSERT
            }

            fn update() -> &'static $crate::sql::Sql {
                static UPDATE: $crate::sql::Sql =
                    $crate::sql::made(|| $table.update(&$table.changed()));
                &UPDATE
            }

            fn values(
                &self,
                id: $id,
                cursor_us: i64,
                at: Micros,
            ) -> Result<[$crate::sql::Arg<'_>; $record::WIDTH], $crate::StoreError> {
                self.args(id, cursor_us, at)
            }
        }
    };
}

pub(super) use fed;
