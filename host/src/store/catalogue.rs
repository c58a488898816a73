//! Products as they are imported, and as the product index follows them.

use crate::domain::id::ProductId;
use crate::domain::time::Micros;

/// A product as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    pub id: ProductId,
    pub external_id: String,
    pub name: String,
    pub description: Option<String>,
}

/// What the index is told of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductChange {
    pub stamp: i64,
    pub id: ProductId,
    /// None: it is gone.
    pub name: Option<String>,
}

/// Changes in stamp order.
#[derive(Clone, Debug)]
pub struct ProductChanges {
    pub changes: Vec<ProductChange>,
    /// The feed clock in the same snapshot. With fewer changes than were asked for,
    /// everything up to it has been told.
    pub clock: i64,
    /// Removals with a stamp up to this one may be told no more.
    pub forgotten: i64,
}

impl ProductChanges {
    /// Whether a removal may be missing to somebody who has seen everything up to
    /// this stamp, and so has to begin anew. Who is still reading from the beginning
    /// counts as having seen everything up to the clock of the first page: what was
    /// gone by then is on none of the pages.
    pub fn misses_removals(&self, seen: i64) -> bool {
        seen < self.forgotten
    }
}

/// One import of a workspace's products: when it began. Products are marked with
/// the greatest that named them; what a declared workspace names is marked with
/// its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportId(pub Micros);

/// What a part of an import became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub created: u64,
    pub changed: u64,
    /// They were so before.
    pub kept: u64,
    /// External ids that this import has named before: they were left alone.
    pub repeated: Vec<String>,
}

/// One step through products that an import may not have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    pub removed: u64,
    /// Where the next step begins; `None`: this was the last.
    pub next: Option<i64>,
}
