//! Reading of rollups, the same in both stores. A metric set, a slot and the measures are read as
//! the store's smaller number.

use uuid::Uuid;

use super::RowColumns;
use crate::decide::cubes::CubeRow;
use crate::decide::rollup::{BuildPosition, BuildState, CountedRow, Fact, FeedChange};
use crate::{Build, RollupState, StoreError, ZoneUse};
use leadhost_domain::analytics::{CountKey, MeasureBits, MetricSet, TimeSlot};
use leadhost_domain::time::Micros;

/// Reads `workspace_id`, `metric_set` and `build`.
pub fn build(row: &impl RowColumns) -> Result<Build, StoreError> {
    Ok(Build {
        workspace: row.id("workspace_id")?,
        set: set(row)?,
        number: row.number("build")?,
    })
}

/// Reads `metric_set`, the code of a metric set.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if no metric set has this code, and [`StoreError`] if the
/// column does not hold a number.
pub fn set(row: &impl RowColumns) -> Result<MetricSet, StoreError> {
    let code: i64 = row.small("metric_set")?;
    MetricSet::coded(code).ok_or_else(|| super::unread("metric_set".into(), code))
}

/// Reads a build with the clock of the feed that it follows. The clock is 0 if there is none.
pub fn place(row: &impl RowColumns) -> Result<BuildPosition, StoreError> {
    Ok(BuildPosition {
        state: row.word("rollup_builds", "state", BuildState::from_text)?,
        after: row.number("after_us")?,
        began: row.number("began_us")?,
        step: row.number("step")?,
        clock: row.number("last_us")?,
        forgotten: row.number("forgotten_us")?,
    })
}

/// Reads a change of the feed. Columns are read by index, since a page has many rows: stamp, id,
/// whether it counts, when it began, the agent's type, agent, source, and when each measure but the
/// first was met. A change counts unless it belongs to a test lead. Only the stamp and the id of a
/// removed row are known.
pub fn change(set: MetricSet, row: &impl RowColumns) -> Result<FeedChange, StoreError> {
    let began: Option<Micros> = row.time_if(3)?;
    let began = match row.flag(2)? {
        true => began,
        false => None,
    };
    let counted = began
        .map(|began| {
            let mut met = vec![true];
            for place in 1..set.measures().len() {
                met.push(row.time_if(6 + place)?.is_some());
            }
            Ok::<_, StoreError>(CountedRow {
                slot: TimeSlot::containing(began),
                key: CountKey::new(row.text_if(4)?, row.number_if(5)?, row.text_if(6)?),
                measured: MeasureBits::from_flags(&met),
            })
        })
        .transpose()?;
    Ok(FeedChange {
        stamp: row.number(0)?,
        id: row.id(1)?,
        counted,
    })
}

/// Reads a key and its number, `key`. '' and 0 stand for none.
pub fn key(row: &impl RowColumns) -> Result<(i64, CountKey), StoreError> {
    let key = CountKey::new(
        row.text_if("agent_type")?,
        row.number_if("agent_id")?,
        row.text_if("source")?,
    );
    Ok((row.number("key")?, key))
}

/// Reads columns by index: id, slot, key, measured.
pub fn fact(row: &impl RowColumns) -> Result<(Uuid, Fact), StoreError> {
    let fact = Fact {
        slot: TimeSlot(row.small(1)?),
        key: row.number(2)?,
        measured: MeasureBits(row.small(3)?),
    };
    Ok((row.id(0)?, fact))
}

/// Reads `zone`, `tzdata` and `filled_slot`.
pub fn cube(row: &impl RowColumns) -> Result<CubeRow, StoreError> {
    Ok(CubeRow {
        zone: row.text("zone")?,
        tzdata: row.text("tzdata")?,
        filled: TimeSlot(row.small("filled_slot")?),
    })
}

/// Reads a zone and how it is used.
pub fn zone_use(row: &impl RowColumns) -> Result<ZoneUse, StoreError> {
    Ok(ZoneUse {
        workspace: row.id("workspace_id")?,
        zone: row.text("zone")?,
        requests: row.number("requests")?,
        used_at: row.time("used_at")?,
    })
}

/// Reads the state that an answer is based on: `build` and `version` of the serving build, `as_of`,
/// and `internal`, a JSON list of agents.
pub fn state(row: &impl RowColumns) -> Result<RollupState, StoreError> {
    let build: Option<i64> = row.number_if("build")?;
    let Some(build) = build else {
        return Ok(RollupState {
            internal: row.json("internal")?,
            ..RollupState::default()
        });
    };
    Ok(RollupState {
        version: Some((build, row.number("version")?)),
        as_of: row.time_if("as_of")?,
        internal: row.json("internal")?,
    })
}
