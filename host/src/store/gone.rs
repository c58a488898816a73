//! Rows of one workspace that go, or change because others went, in one
//! transaction: what each feed has to stamp for it. A store removes and writes the
//! rows; here is only which stamp each of them gets.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::StoreError;
use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;

#[derive(Default)]
pub struct Gone {
    /// A tombstone each.
    removed: BTreeMap<Entity, Vec<Uuid>>,
    /// They stay, and are stamped anew.
    changed: BTreeMap<Entity, Vec<Uuid>>,
}

/// A row and its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    pub entity: Entity,
    pub stamp: i64,
    pub id: Uuid,
}

impl Gone {
    pub fn remove(&mut self, entity: Entity, ids: &[Uuid]) {
        self.removed.entry(entity).or_default().extend(ids);
    }

    pub fn change(&mut self, entity: Entity, ids: &[Uuid]) {
        self.changed.entry(entity).or_default().extend(ids);
    }

    /// How many stamps of each feed it takes; none of a feed without rows.
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

    /// Gives each row its stamp, from the first of each feed on: those that go, and
    /// those that change.
    pub fn stamped(
        &self,
        mut next: BTreeMap<Entity, i64>,
    ) -> Result<(Vec<Stamped>, Vec<Stamped>), StoreError> {
        let mut give = |rows: &BTreeMap<Entity, Vec<Uuid>>| -> Result<Vec<Stamped>, StoreError> {
            let mut stamped = Vec::new();
            for (entity, ids) in rows {
                for id in ids {
                    let stamp = next
                        .get_mut(entity)
                        .ok_or_else(|| StoreError::Inconsistent {
                            what: format!("no stamp for {} that go", entity.as_str()),
                        })?;
                    stamped.push(Stamped {
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
    fn every_row_that_goes_or_changes_has_a_stamp_of_its_own() {
        let ids: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();
        let workspace = WorkspaceId(Uuid::nil());
        let mut gone = Gone::default();
        gone.remove(Entity::Deals, &ids[..2]);
        gone.remove(Entity::Tickets, &[]);
        gone.change(Entity::Deals, &ids[2..]);
        let counts = gone.counts(workspace);
        assert_eq!(counts, BTreeMap::from([((workspace, Entity::Deals), 3)]));
        let (removed, changed) = gone
            .stamped(BTreeMap::from([(Entity::Deals, 7)]))
            .expect("there are stamps");
        let stamps = |rows: &[Stamped]| rows.iter().map(|row| row.stamp).collect::<Vec<_>>();
        assert_eq!(stamps(&removed), [7, 8]);
        assert_eq!(stamps(&changed), [9]);
        assert!(gone.stamped(BTreeMap::new()).is_err());
    }
}
