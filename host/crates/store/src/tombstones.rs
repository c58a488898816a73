//! Removed rows of one workspace, and rows that change because of the removal, in one
//! transaction. This module only assigns a stamp to each of them; the store removes and
//! writes the rows.

use crate::prelude::*;

#[derive(Default)]
pub struct Removal {
    /// Rows to remove. Each one leaves a tombstone.
    removed: BTreeMap<Entity, Vec<Uuid>>,
    /// Rows that stay and get a new stamp.
    changed: BTreeMap<Entity, Vec<Uuid>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampedRow {
    pub entity: Entity,
    pub stamp: i64,
    pub id: Uuid,
}

impl Removal {
    /// Adds rows to remove. Each one leaves a tombstone.
    pub fn remove(&mut self, entity: Entity, ids: &[Uuid]) {
        self.removed.entry(entity).or_default().extend(ids);
    }

    /// Adds rows that stay and get a new stamp.
    pub fn change(&mut self, entity: Entity, ids: &[Uuid]) {
        self.changed.entry(entity).or_default().extend(ids);
    }

    /// Returns the number of stamps that each feed needs. Feeds without rows are left
    /// out.
    pub fn counts(&self, workspace: WorkspaceId) -> BTreeMap<(WorkspaceId, Entity), i64> {
        let mut counts = BTreeMap::new();
        for (entity, ids) in self.removed.iter().chain(&self.changed) {
            let rows = i64::try_from(ids.len()).unwrap_or(i64::MAX);
            if rows > 0 {
                *counts.entry((workspace, *entity)).or_default() += rows;
            }
        }
        counts
    }

    /// Assigns a stamp to each row, from the first stamp of each feed on. Returns the
    /// removed and the changed rows.
    pub fn stamped(
        &self,
        mut next: BTreeMap<Entity, i64>,
    ) -> Result<(Vec<StampedRow>, Vec<StampedRow>), StoreError> {
        let mut give = |rows: &BTreeMap<Entity, Vec<Uuid>>| -> Result<Vec<StampedRow>, StoreError> {
            let mut stamped = Vec::new();
            for (entity, ids) in rows {
                for id in ids {
                    let stamp = next
                        .get_mut(entity)
                        .ok_or_else(|| StoreError::Inconsistent {
                            what: format!(
                                "no stamp is reserved for a changed or removed row of {}",
                                entity.as_str()
                            ),
                        })?;
                    stamped.push(StampedRow {
                        entity: *entity,
                        stamp: *stamp,
                        id: *id,
                    });
                    *stamp += 1;
                }
            }
            Ok(stamped)
        };
        Ok((give(&self.removed)?, give(&self.changed)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_removed_or_changed_row_gets_its_own_stamp() {
        let ids: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();
        let workspace = WorkspaceId(Uuid::nil());
        let mut gone = Removal::default();
        gone.remove(Entity::Deals, &ids[..2]);
        gone.remove(Entity::Tickets, &[]);
        gone.change(Entity::Deals, &ids[2..]);
        let counts = gone.counts(workspace);
        assert_eq!(counts, BTreeMap::from([((workspace, Entity::Deals), 3)]));
        let (removed, changed) = gone
            .stamped(BTreeMap::from([(Entity::Deals, 7)]))
            .expect("there are stamps");
        let stamps = |rows: &[StampedRow]| rows.iter().map(|row| row.stamp).collect::<Vec<_>>();
        assert_eq!(stamps(&removed), [7, 8]);
        assert_eq!(stamps(&changed), [9]);
        assert!(gone.stamped(BTreeMap::new()).is_err());
    }
}
