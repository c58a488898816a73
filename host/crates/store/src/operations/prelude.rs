//! What most files of statements use.

pub use crate::Store;
pub use crate::database::Database;
pub use crate::decide::{ReadSet, WorkingSet};
pub(crate) use crate::postgres::VisibleRows;
pub use crate::prelude::*;
pub(crate) use crate::row::{FromRow as _, with_id};
pub(crate) use crate::row::{cells, from_row, read};
pub use crate::schema;
pub use crate::schema::table::OnConflict;
pub(crate) use crate::schema::table::reading;
pub use crate::sql::{Arg, Sql, json, made, sql};
pub(crate) use crate::sql::{args, statements, steps};
