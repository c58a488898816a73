//! Moves a whole store from a SQLite file into a PostgreSQL database.
//!
//! Both have the same tables and columns, which `schema` describes. Every table is copied
//! in pages, and each page commits together with the record of the progress: a move that
//! is interrupted anywhere continues there. After copying, both sides are read again and
//! compared. Only then does the database become the store, with the same id, clocks and
//! numbers, so that clients of the feeds continue with their cursors. Until then it is
//! not served, and the file is not changed.

mod source;
pub mod tables;
mod target;
mod value;

use std::time::Instant;

use self::source::{Counters, MoveSource};
use self::tables::moved as moved_tables;
use self::target::{MoveTarget, TargetState};
use self::value::Sum;
use super::schema::table::TableSchema;
use crate::prelude::*;
use leadhost_config::StoreUrl;
use leadhost_domain::clock::Clock;

pub struct MoveOptions<'a> {
    /// A SQLite file that no service is using.
    pub from: &'a Path,
    pub to: &'a StoreUrl,
    /// Rows per transaction.
    pub rows: u32,
    /// Discard what an earlier move brought first, if no host has served it.
    pub again: bool,
    /// The id of the key that seals the secrets of the source.
    pub sealing_key: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub enum MoveProgress<'a> {
    /// The move continues where an earlier run ended.
    GoesOn,
    Copying {
        table: &'a str,
        rows: u64,
        of: u64,
        /// Rows per second in this run.
        speed: u64,
    },
    Copied {
        table: &'a str,
        rows: u64,
        took: Duration,
    },
    Comparing {
        table: &'a str,
        rows: u64,
        of: u64,
    },
}

#[derive(Clone, Debug)]
pub struct Moved {
    pub store: Uuid,
    /// The store had been moved before. Nothing was done now.
    pub before: bool,
    pub tables: Vec<MovedTable>,
}

#[derive(Clone, Debug)]
pub struct MovedTable {
    pub name: &'static str,
    pub rows: u64,
    /// The sum over the rows, equal on both sides.
    pub digest: String,
    /// Characters that PostgreSQL cannot hold, each replaced by U+FFFD.
    pub replaced: u64,
}

/// Moves the store, or continues an interrupted move.
pub async fn run(
    options: &MoveOptions<'_>,
    clock: &dyn Clock,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<Moved, StoreError> {
    let source = MoveSource::open(options.from, clock).await?;
    let counters = source.counters().await?;
    let (id, to) = (source.id, options.to.to_string());
    let mut target = match MoveTarget::open(options.to, id, &counters, options.again).await? {
        TargetState::Done(at, progress) => {
            unchanged(&source, &counters, &at, &progress, watch).await?;
            source.leave(&to)?;
            return Ok(moved(id, true, &progress));
        }
        TargetState::Ready(target, went_on) => {
            if went_on {
                watch(MoveProgress::GoesOn);
            }
            target
        }
    };
    for table in moved_tables() {
        copy(&source, &mut target, table, options.rows, watch).await?;
    }
    for table in moved_tables() {
        compare(&source, &mut target, table, watch).await?;
    }
    let progress = target.finish(id, options.sealing_key).await?;
    source.leave(&to)?;
    Ok(moved(id, false, &progress))
}

async fn copy(
    source: &MoveSource,
    target: &mut MoveTarget,
    table: &'static TableSchema,
    rows: u32,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<(), StoreError> {
    let begun = target.progress(table);
    if begun.copied {
        return Ok(());
    }
    let of = source.count(table).await?;
    let started = Instant::now();
    let mut pages = source.pages(table, begun.last.clone(), rows);
    loop {
        let known = target.progress(table);
        if known.copied {
            break;
        }
        let here = (known.rows - begun.rows) as f64;
        watch(MoveProgress::Copying {
            table: table.name,
            rows: known.rows,
            of,
            speed: (here / started.elapsed().as_secs_f64().max(0.001)) as u64,
        });
        target.put(table, &pages.next().await?).await?;
    }
    watch(MoveProgress::Copied {
        table: table.name,
        rows: target.progress(table).rows,
        took: started.elapsed(),
    });
    Ok(())
}

async fn compare(
    source: &MoveSource,
    target: &mut MoveTarget,
    table: &'static TableSchema,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<(), StoreError> {
    let known = target.progress(table);
    if known.checked.is_some() {
        return Ok(());
    }
    // Reading each side is half of the work.
    let of = known.rows * 2;
    let mut watched = |rows| {
        watch(MoveProgress::Comparing {
            table: table.name,
            rows,
            of,
        });
    };
    let wanted = sum(source, table, &mut watched).await?;
    let found = target
        .sum(table, |rows| watched(wanted.rows + rows))
        .await?;
    if found != wanted {
        return Err(StoreError::Inconsistent {
            what: format!(
                "{}: the source has {} rows with digest {}, but the database has {} with digest {}. If the source was served before the move was finished, start over with --restart",
                table.name,
                wanted.rows,
                wanted.text(),
                found.rows,
                found.text(),
            ),
        });
    }
    target.checked(table, &found).await
}

async fn sum(
    source: &MoveSource,
    table: &'static TableSchema,
    watched: &mut dyn FnMut(u64),
) -> Result<Sum, StoreError> {
    watched(0);
    let mut sum = Sum::default();
    let mut pages = source.pages(table, None, limits::MOVED_ROWS);
    loop {
        let page = pages.next().await?;
        page.rows.iter().for_each(|row| sum.add(row));
        watched(sum.rows);
        if page.last.is_none() {
            return Ok(sum);
        }
    }
}

/// Repeating a finished move is a no-op, but only if every row of the source is
/// unchanged: otherwise new rows would be left behind.
async fn unchanged(
    source: &MoveSource,
    counters: &Counters,
    done_at: &str,
    progress: &target::MoveRecord,
    watch: &mut dyn FnMut(MoveProgress<'_>),
) -> Result<(), StoreError> {
    let mut same = progress.source == *counters;
    for table in moved_tables() {
        if !same {
            break;
        }
        // An earlier release did not move it.
        let Some(known) = progress.tables.get(table.name) else {
            continue;
        };
        let mut watched = |rows| {
            watch(MoveProgress::Comparing {
                table: table.name,
                rows,
                of: known.rows,
            });
        };
        let found = sum(source, table, &mut watched).await?;
        same = known.checked == Some(found.text());
    }
    if same {
        return Ok(());
    }
    let deals = progress.tables.get("deals").map_or(0, |deals| deals.rows);
    Err(StoreError::Refused(format!(
        "the database holds an earlier move of the store {} (done at {done_at}, {deals} deals, {} deliveries), and the content of the file has changed since ({} deliveries). Nothing was done now, and the new content of the file is not moved. Move into another, empty database; or, if no host has served this one since, empty it and start over with --restart",
        source.id, progress.source.deliveries, counters.deliveries,
    )))
}

fn moved(store: Uuid, before: bool, progress: &target::MoveRecord) -> Moved {
    let of = |table: &TableSchema| {
        let known = progress.tables.get(table.name)?;
        Some(MovedTable {
            name: table.name,
            rows: known.rows,
            digest: known.checked.clone()?,
            replaced: known.replaced,
        })
    };
    Moved {
        store,
        before,
        tables: moved_tables().filter_map(of).collect(),
    }
}
