//! Products as an import writes them and as the product index follows them.

use leadhost_domain::id::ProductId;
use leadhost_domain::time::Micros;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    pub id: ProductId,
    pub external_id: String,
    pub name: String,
    pub description: Option<String>,
}

/// A change of a product, as the product index reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductChange {
    pub stamp: i64,
    pub id: ProductId,
    /// None: the product was removed.
    pub name: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ProductChanges {
    pub changes: Vec<ProductChange>,
    /// The feed clock in the same snapshot. If there are fewer changes than were asked
    /// for, the page is complete up to this clock.
    pub clock: i64,
    /// The feed may no longer report removals with a stamp up to this one.
    pub forgotten: i64,
}

impl ProductChanges {
    /// Returns whether a reader that has seen everything up to this stamp may have missed
    /// a removal, and must start over. A reader that is still reading from the beginning
    /// counts as having seen everything up to the clock of the first page: a product that
    /// was removed by then is on none of the pages.
    pub fn misses_removals(&self, seen: i64) -> bool {
        seen < self.forgotten
    }
}

/// One import of a workspace's products, identified by the time when it began. Each
/// product is marked with the greatest import that named it. Products that a declared
/// workspace names are marked with the time of the declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportId(pub Micros);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub created: u64,
    pub changed: u64,
    pub kept: u64,
    /// External ids that this import has named before. Their products were left alone.
    pub repeated: Vec<String>,
}

/// One step of removing products that an import may not have named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    pub removed: u64,
    /// The beginning of the next step. `None`: this was the last step.
    pub next: Option<i64>,
}
