//! A transaction of either database, and the rows that it reads.

use serde::de::DeserializeOwned;
use sqlx::postgres::PgRow;

use super::statement::{Dialect, Sql, Together};
use super::stored::Stored;
use super::value::Arg;
use crate::postgres::db::Transaction as PostgresTransaction;
use crate::postgres::run as on_postgres;
use crate::prelude::*;
use crate::row::{ColumnRef, RowColumns};
use crate::sqlite::run as on_sqlite;

/// The place where the statements of an operation run: a transaction that writes, a snapshot that
/// reads, or, on PostgreSQL, a connection on which each statement stands alone.
pub enum Tx {
    Sqlite(rusqlite::Connection),
    Postgres(PostgresTransaction),
}

/// Runs the steps of an operation in a transaction: `steps!(self.database.read(Of(&[workspace])), |tx| tx.run(..).await)`,
/// where `Of` is one of [`VisibleRows`](crate::postgres::VisibleRows). Without a database, only wraps them.
macro_rules! steps {
    ($($how:ident).+(), |$tx:ident| $steps:expr) => {
        $($how).+($crate::sql::steps!(|$tx| $steps))
    };
    ($($how:ident).+($($rows:tt)+), |$tx:ident| $steps:expr) => {
        $($how).+($crate::postgres::VisibleRows::$($rows)+, $crate::sql::steps!(|$tx| $steps))
    };
    (|$tx:ident| $steps:expr) => {
        move |$tx| Box::pin(async move { $steps })
    };
}

pub(crate) use steps;

pub enum SqlRow<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r PgRow),
}

impl Tx {
    /// From now on, the transaction sees only rows of these workspaces, which replace any named before. On
    /// SQLite the transaction always sees all rows.
    pub async fn name(&mut self, workspaces: &[WorkspaceId]) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(transaction) => transaction.name(workspaces).await,
        }
    }

    /// Runs a statement and returns how many rows it changed. A statement that is only for the
    /// other database changes none.
    pub async fn run(&mut self, sql: &'static Sql, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(connection) => {
                on_sqlite::execute(connection, sql.text(Dialect::Sqlite), args)
            }
            Self::Postgres(transaction) => {
                on_postgres::execute(transaction, sql.text(Dialect::Postgres), args).await
            }
        }
    }

    /// Returns the rows of a statement, each converted by `read`.
    pub async fn rows<T: Send>(
        &mut self,
        sql: &'static Sql,
        args: &[Arg<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        match self {
            Self::Sqlite(connection) => {
                let mut found = Vec::new();
                let text = sql.text(Dialect::Sqlite);
                on_sqlite::query(connection, text, args, &mut |row| {
                    found.push(read(&SqlRow::Sqlite(row))?);
                    Ok(true)
                })?;
                Ok(found)
            }
            Self::Postgres(transaction) => {
                let text = sql.text(Dialect::Postgres);
                let rows = on_postgres::query(transaction, text, args).await?;
                rows.iter()
                    .map(|row| read(&SqlRow::Postgres(row)))
                    .collect()
            }
        }
    }

    /// Passes the rows of a statement to `read` until it returns false. The remaining rows are not
    /// read.
    pub async fn rows_while(
        &mut self,
        sql: &'static Sql,
        args: &[Arg<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<bool, StoreError> + Send,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => {
                let text = sql.text(Dialect::Sqlite);
                on_sqlite::query(connection, text, args, &mut |row| {
                    read(&SqlRow::Sqlite(row))
                })
            }
            Self::Postgres(transaction) => {
                let text = sql.text(Dialect::Postgres);
                let read = |row: &PgRow| read(&SqlRow::Postgres(row));
                on_postgres::query_while(transaction, text, args, read).await
            }
        }
    }

    /// Returns the first row of a statement. `None` means that the statement yields no row.
    pub async fn row<T: Send>(
        &mut self,
        sql: &'static Sql,
        args: &[Arg<'_>],
        read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.rows(sql, args, read).await?.into_iter().next())
    }

    /// Returns the row of a statement that always yields one.
    pub async fn only<T: Send>(
        &mut self,
        sql: &'static Sql,
        args: &[Arg<'_>],
        read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let row = self.row(sql, args, read).await?;
        row.ok_or_else(|| StoreError::Inconsistent {
            what: format!(
                "a statement returned no row: {}",
                sql.text(Dialect::Sqlite).sql
            ),
        })
    }

    /// Runs a statement for each of these rows, which it reads from `each`, and returns how many
    /// rows it changed. If `rows` is empty, the statement does not run. No two may change the same row of
    /// the database: PostgreSQL would take either.
    pub async fn run_each<const N: usize>(
        &mut self,
        sql: &'static Sql,
        rows: &[[Arg<'_>; N]],
    ) -> Result<u64, StoreError> {
        if rows.is_empty() {
            return Ok(0);
        }
        match self {
            Self::Sqlite(connection) => {
                let rows = rows.iter().map(<[_; N]>::as_slice);
                on_sqlite::execute_each(connection, sql.text(Dialect::Sqlite), rows)
            }
            Self::Postgres(transaction) => {
                let text = sql.text(Dialect::Postgres);
                on_postgres::execute_each(transaction, text, rows).await
            }
        }
    }

    /// Runs statements that change different rows, each for its own rows, and returns how many rows
    /// each of them changed. Statements without rows do not run.
    pub async fn run_together<const N: usize>(
        &mut self,
        together: &'static Together,
        rows: [Vec<&[Arg<'_>]>; N],
    ) -> Result<[u64; N], StoreError> {
        let mut changed = [0; N];
        let is_run: [bool; N] = std::array::from_fn(|at| !rows[at].is_empty());
        let run = changed.iter_mut().zip(rows).enumerate();
        let run = run.filter(|(at, _)| is_run[*at]);
        match self {
            Self::Sqlite(connection) => {
                for (at, (changed, rows)) in run {
                    let text = together.statements()[at].text(Dialect::Sqlite);
                    *changed = on_sqlite::execute_each(connection, text, rows.into_iter())?;
                }
            }
            Self::Postgres(transaction) => {
                let (counts, rows): (Vec<_>, Vec<_>) = run.map(|(_, counted)| counted).unzip();
                if rows.is_empty() {
                    return Ok(changed);
                }
                let text = together.text(|at| is_run[at]);
                let found = on_postgres::execute_together(transaction, text, &rows).await?;
                for (changed, found) in counts.into_iter().zip(found) {
                    *changed = found;
                }
            }
        }
        Ok(changed)
    }

    /// Returns the rows of a statement for each of these rows, which it reads from `each`.
    pub async fn rows_each<const N: usize, T: Send>(
        &mut self,
        sql: &'static Sql,
        rows: &[[Arg<'_>; N]],
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        match self {
            Self::Sqlite(connection) => {
                let mut found = Vec::new();
                let text = sql.text(Dialect::Sqlite);
                let rows = rows.iter().map(<[_; N]>::as_slice);
                on_sqlite::query_each(connection, text, rows, &mut |row| {
                    found.push(read(&SqlRow::Sqlite(row))?);
                    Ok(true)
                })?;
                Ok(found)
            }
            Self::Postgres(transaction) => {
                let text = sql.text(Dialect::Postgres);
                let rows = on_postgres::query_each(transaction, text, rows).await?;
                rows.iter()
                    .map(|row| read(&SqlRow::Postgres(row)))
                    .collect()
            }
        }
    }
}

/// Forwards a call to the row of either database.
macro_rules! of_either {
    ($self:ident, $row:ident => $read:expr) => {
        match $self {
            SqlRow::Sqlite($row) => $read,
            SqlRow::Postgres($row) => $read,
        }
    };
}

impl SqlRow<'_> {
    /// Reads a column, by its name, or by its index if many rows are read.
    pub fn get<T: Stored>(&self, column: impl Into<ColumnRef>) -> Result<T, StoreError> {
        T::read(self, column.into())
    }
}

impl RowColumns for SqlRow<'_> {
    fn str_if(&self, column: ColumnRef) -> Result<Option<&str>, StoreError> {
        of_either!(self, row => row.str_if(column))
    }

    fn uuid_if(&self, column: ColumnRef) -> Result<Option<Uuid>, StoreError> {
        of_either!(self, row => row.uuid_if(column))
    }

    fn micros_if(&self, column: ColumnRef) -> Result<Option<Micros>, StoreError> {
        of_either!(self, row => row.micros_if(column))
    }

    fn number_if(&self, column: ColumnRef) -> Result<Option<i64>, StoreError> {
        of_either!(self, row => row.number_if(column))
    }

    fn truth_if(&self, column: ColumnRef) -> Result<Option<bool>, StoreError> {
        of_either!(self, row => row.truth_if(column))
    }

    fn bytes_if(&self, column: ColumnRef) -> Result<Option<Vec<u8>>, StoreError> {
        of_either!(self, row => row.bytes_if(column))
    }

    fn json_if<T: DeserializeOwned>(&self, column: ColumnRef) -> Result<Option<T>, StoreError> {
        of_either!(self, row => row.json_if(column))
    }
}
