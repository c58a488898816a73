//! All names of a workspace: a base segment that was built in one go, and a small overlay
//! with the changes since. A change makes a new index that shares the base segment with the
//! previous one, so searches in progress are not disturbed. Past a share of changes a
//! rebuild pays off, and it needs nothing but the index.
//!
//! The result is the same whether a name lies in the base or in the overlay: matches and
//! their ranking are as if all names had been built in one go.

use std::collections::HashMap;
use std::sync::Arc;

use super::builder::IndexBuilder;
use super::fold;
use super::segment::IndexSegment;
use leadhost_domain::id::ProductId;

/// The index of the names of one workspace.
pub struct Index {
    pub(super) base: Arc<IndexSegment>,
    pub(super) over: IndexSegment,
    /// For each name of `over`, the number of names in `base` that come before it.
    pub(super) places: Box<[u32]>,
    /// Names of `base` that are removed, ascending.
    pub(super) removed: Box<[u32]>,
    /// The changes that `over` was built from: folded names that differ from the ones in `base`. An empty
    /// name is removed.
    changes: HashMap<ProductId, Box<str>>,
    /// Bytes of the names in `changes`, cached because they are read more often than they
    /// change.
    letters: usize,
}

/// A number of changes that never makes a rebuild worthwhile, and the divisor of all names
/// above which it does.
const FEW: usize = 2_048;
const SHARE: usize = 32;

/// Bytes of overhead for each change.
const CHANGE_BYTES: usize = 48;

impl IndexBuilder {
    pub fn build(self) -> Index {
        Index::new(self.into_segment())
    }
}

impl Index {
    pub(super) fn new(base: IndexSegment) -> Self {
        Self::over(Arc::new(base), HashMap::new())
    }

    fn over(base: Arc<IndexSegment>, changes: HashMap<ProductId, Box<str>>) -> Self {
        let mut builder = IndexBuilder::default();
        for (id, name) in &changes {
            builder.set_folded(*id, name);
        }
        let over = builder.into_segment();
        let mut removed: Box<[u32]> = changes.keys().filter_map(|id| base.find(*id)).collect();
        removed.sort_unstable();
        let texts = over.words.texts();
        let placed: Vec<_> = texts.iter().map(|word| base.words.place(word)).collect();
        let mut places = Vec::with_capacity(over.count() as usize);
        over.for_each(|number, words| {
            let words: Vec<_> = words.iter().map(|word| placed[*word as usize]).collect();
            places.push(base.place(&words, over.id(number)));
        });
        Self {
            base,
            over,
            places: places.into_boxed_slice(),
            removed,
            letters: changes.values().map(|name| name.len()).sum(),
            changes,
        }
    }

    pub fn count(&self) -> usize {
        self.base.count() as usize - self.removed.len() + self.over.count() as usize
    }

    pub fn bytes(&self) -> usize {
        self.base.bytes()
            + self.over.bytes()
            + size_of_val(&*self.places)
            + size_of_val(&*self.removed)
            + self.changes.len() * CHANGE_BYTES
            + self.letters
    }

    /// Returns an index with these products changed; `None` removes a product.
    pub fn changed<'a>(
        &self,
        products: impl IntoIterator<Item = (ProductId, Option<&'a str>)>,
    ) -> Self {
        let mut changes = self.changes.clone();
        for (id, name) in products {
            let name = name.map(fold::fold).unwrap_or_default();
            if self.is_in_base(id, &name) {
                changes.remove(&id);
            } else {
                changes.insert(id, name.into_boxed_str());
            }
        }
        Self::over(Arc::clone(&self.base), changes)
    }

    /// Returns whether there are so many changes that a rebuild pays off.
    pub fn is_worn(&self) -> bool {
        self.changes.len() > FEW.max(self.base.count() as usize / SHARE)
    }

    /// Returns the same index, built in one go.
    pub fn rebuilt(&self) -> Self {
        let mut builder = IndexBuilder::default();
        let texts = self.base.words.texts();
        let mut name = String::new();
        let mut removed = self.removed.iter().peekable();
        self.base.for_each(|number, words| {
            if removed.next_if(|removed| **removed == number).is_some() {
                return;
            }
            name.clear();
            for word in words {
                if !name.is_empty() {
                    name.push(' ');
                }
                name.push_str(&texts[*word as usize]);
            }
            builder.set_folded(self.base.id(number), &name);
        });
        for (id, name) in &self.changes {
            builder.set_folded(*id, name);
        }
        Self::new(builder.into_segment())
    }

    /// Returns whether the base has the product with this name, or neither has it.
    fn is_in_base(&self, id: ProductId, folded: &str) -> bool {
        let Some(number) = self.base.find(id) else {
            return folded.is_empty();
        };
        let mut words = Vec::new();
        self.base.read(number, &mut words);
        let theirs = words.iter().copied().map(Some);
        theirs.eq(fold::words(folded).map(|word| self.base.words.number(word)))
    }
}
