//! Reading of rollups, the same in both stores. A metric set, a slot and the measures are read as
//! the store's smaller number.

use super::from_row;
use crate::decide::cubes::CubeRow;
use crate::decide::rollup::{BuildPosition, CountedRow, Fact, FeedChange};
use crate::prelude::*;
use crate::{Build, RollupState, ZoneUse};
use leadhost_domain::analytics::{CountKey, MeasureBits, MetricSet, TimeSlot};

from_row! {
    Build |row| { workspace: "workspace_id", set: "metric_set", number: "build" }

    // With the clock of the feed that it follows. The clock is 0 if there is none.
    BuildPosition |row| {
        state, after: "after_us", began: "began_us", step, clock: "last_us", forgotten: "forgotten_us",
    }

    CubeRow |row| { zone, tzdata, filled: "filled_slot" }

    ZoneUse |row| { workspace: "workspace_id", zone, requests, used_at }
}

/// Reads a change of the feed. Columns are read by index, since a page has many rows: stamp, id,
/// whether it counts, when it began, the agent's type, agent, source, and when each measure but the
/// first was met. A change counts unless it belongs to a test lead. Only the stamp and the id of a
/// removed row are known.
pub fn change(set: MetricSet, row: &SqlRow<'_>) -> Result<FeedChange, StoreError> {
    let began: Option<Micros> = row.get(3)?;
    let began = if row.get(2)? { began } else { None };
    let counted = began
        .map(|began| {
            let mut met = vec![true];
            for place in 1..set.measures().len() {
                met.push(row.get::<Option<Micros>>(6 + place)?.is_some());
            }
            Ok::<_, StoreError>(CountedRow {
                slot: TimeSlot::containing(began),
                key: CountKey::new(row.get(4)?, row.get(5)?, row.get(6)?),
                measured: MeasureBits::from_flags(&met),
            })
        })
        .transpose()?;
    Ok(FeedChange {
        stamp: row.get(0)?,
        id: row.get(1)?,
        counted,
    })
}

/// Reads a key and its number, `key`. '' and 0 stand for none.
pub fn key(row: &SqlRow<'_>) -> Result<(i64, CountKey), StoreError> {
    let key = CountKey::new(
        row.get("agent_type")?,
        row.get("agent_id")?,
        row.get("source")?,
    );
    Ok((row.get("key")?, key))
}

/// Reads columns by index: id, slot, key, measured.
pub fn fact(row: &SqlRow<'_>) -> Result<(Uuid, Fact), StoreError> {
    let fact = Fact {
        slot: row.get(1)?,
        key: row.get(2)?,
        measured: row.get(3)?,
    };
    Ok((row.get(0)?, fact))
}

/// Reads the state that an answer is based on: `build` and `version` of the serving build, `as_of`,
/// and `internal`, a JSON list of agents.
pub fn state(row: &SqlRow<'_>) -> Result<RollupState, StoreError> {
    let build: Option<i64> = row.get("build")?;
    let Some(build) = build else {
        return Ok(RollupState {
            internal: row.get("internal")?,
            ..RollupState::default()
        });
    };
    Ok(RollupState {
        version: Some((build, row.get("version")?)),
        as_of: row.get("as_of")?,
        internal: row.get("internal")?,
    })
}
