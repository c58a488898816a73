//! The loaded versions, and which of them are active. Readers see one consistent table; a
//! change makes a new table and swaps it in. A call keeps the version that it began with.

use arc_swap::ArcSwap;

use super::error::NotInstalled;
use crate::prelude::*;

#[derive(Default)]
pub struct Registry {
    table: ArcSwap<VersionTable>,
}

#[derive(Clone, Default)]
struct VersionTable {
    by_digest: HashMap<Digest, Arc<Loaded>>,
    active: HashMap<String, Arc<Loaded>>,
}

#[derive(Clone)]
pub struct InstalledVersion {
    pub loaded: Arc<Loaded>,
    pub active: bool,
}

impl Registry {
    pub fn install(&self, loaded: &Arc<Loaded>) {
        self.table.rcu(|table| {
            let mut table = VersionTable::clone(table);
            table
                .by_digest
                .insert(loaded.digest.clone(), Arc::clone(loaded));
            table
        });
    }

    /// Makes an installed version the active one of its name. Returns the version that was
    /// active before.
    pub fn activate(
        &self,
        name: &str,
        digest: &Digest,
    ) -> Result<Option<Arc<Loaded>>, NotInstalled> {
        let loaded = self
            .by_digest(digest)
            .ok_or_else(|| NotInstalled(digest.clone()))?;
        let before = self.table.rcu(|table| {
            let mut table = VersionTable::clone(table);
            table.active.insert(name.to_owned(), Arc::clone(&loaded));
            table
        });
        Ok(before.active.get(name).cloned())
    }

    pub fn active(&self, name: &str) -> Option<Arc<Loaded>> {
        self.table.load().active.get(name).cloned()
    }

    pub fn by_digest(&self, digest: &Digest) -> Option<Arc<Loaded>> {
        self.table.load().by_digest.get(digest).cloned()
    }

    pub fn retire(&self, digest: &Digest) -> Option<Arc<Loaded>> {
        let before = self.table.rcu(|table| {
            let mut table = VersionTable::clone(table);
            table.by_digest.remove(digest);
            table.active.retain(|_, loaded| loaded.digest != *digest);
            table
        });
        before.by_digest.get(digest).cloned()
    }

    pub fn list(&self) -> Vec<InstalledVersion> {
        let table = self.table.load();
        let mut list: Vec<InstalledVersion> = table
            .by_digest
            .values()
            .map(|loaded| InstalledVersion {
                loaded: Arc::clone(loaded),
                active: table
                    .active
                    .values()
                    .any(|active| active.digest == loaded.digest),
            })
            .collect();
        list.sort_by(|a, b| {
            let key = |listed: &InstalledVersion| {
                let description = &listed.loaded.description;
                (
                    description.name.clone(),
                    semver::Version::parse(&description.version).ok(),
                    listed.loaded.digest.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        list
    }
}
