//! Names that were built in one go, numbered in the order that they have with equal points.
//! So no name is kept as text, and among names with equal points those with the smallest
//! numbers come first.

use std::cmp::Ordering;
use std::ops::Range;

use fst::{Map, MapBuilder, Streamer as _};

use super::names::{self, NameTable};
use super::posting_lists::PostingLists;
use leadhost_domain::id::ProductId;

/// Immutable names with their words and products.
pub(super) struct IndexSegment {
    pub words: Words,
    pub lists: PostingLists,
    names: NameTable,
    /// Ids, by the number of the name.
    ids: Box<[ProductId]>,
    /// The numbers of names, in the order of ids.
    by_id: Box<[u32]>,
}

impl IndexSegment {
    /// Builds a segment from ordered words and ordered names.
    pub fn build<'a>(
        words: Words,
        ids: Box<[ProductId]>,
        ordered: impl Iterator<Item = &'a [u32]>,
    ) -> Self {
        let names = NameTable::build(ordered);
        let lists = PostingLists::build(words.count(), names.count(), |each| names.for_each(each));
        let mut by_id: Box<[u32]> = (0..names.count()).collect();
        by_id.sort_unstable_by_key(|number| ids[*number as usize]);
        Self {
            words,
            lists,
            names,
            ids,
            by_id,
        }
    }

    pub fn count(&self) -> u32 {
        self.names.count()
    }

    pub fn bytes(&self) -> usize {
        self.words.bytes()
            + self.lists.bytes()
            + self.names.bytes()
            + size_of_val(&*self.ids)
            + size_of_val(&*self.by_id)
    }

    pub fn id(&self, number: u32) -> ProductId {
        self.ids[number as usize]
    }

    /// Returns the number of the name of a product. `None` if the segment does not have the
    /// product.
    pub fn find(&self, id: ProductId) -> Option<u32> {
        let at = |number: &u32| self.ids[*number as usize].cmp(&id);
        let found = self.by_id.binary_search_by(at).ok()?;
        Some(self.by_id[found])
    }

    /// Replaces the content of `into` by the words of this name.
    pub fn read(&self, number: u32, into: &mut Vec<u32>) {
        self.names.read(number, into);
    }

    /// Calls `each` with the number and the words of each name, in order.
    pub fn for_each(&self, each: impl FnMut(u32, &[u32])) {
        self.names.for_each(each);
    }

    /// Returns how many names of the segment come before a name that is not in it. The
    /// words of that name are given as positions from [`Words::place`].
    pub fn place(&self, name: &[u64], id: ProductId) -> u32 {
        let (mut low, mut high) = (0, self.count());
        let mut words = Vec::new();
        while low < high {
            let middle = low + (high - low) / 2;
            self.read(middle, &mut words);
            let theirs = words.iter().copied().map(Words::placed);
            let order = words.len().cmp(&name.len());
            let order = order.then_with(|| theirs.cmp(name.iter().copied()));
            let order = order.then_with(|| self.id(middle).cmp(&id));
            if order == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

pub(super) struct Words(Map<Vec<u8>>);

impl Words {
    /// Builds the map from ordered, distinct words.
    pub fn build<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut builder = MapBuilder::memory();
        for (number, word) in (0..).zip(words) {
            builder
                .insert(word, number)
                .expect("words come in order, and writing to memory cannot fail");
        }
        let mut bytes = builder.into_inner().expect("writing to memory cannot fail");
        bytes.shrink_to_fit();
        Self(Map::new(bytes).expect("it was just built"))
    }

    pub fn map(&self) -> &Map<Vec<u8>> {
        &self.0
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self) -> usize {
        self.0.as_fst().as_bytes().len()
    }

    pub fn number(&self, word: &str) -> Option<u32> {
        self.0.get(word).map(number)
    }

    /// Returns the words that begin with this one, including itself.
    pub fn beginning_with(&self, word: &str) -> Range<u32> {
        // No byte of UTF-8 text is as great.
        let past = [word.as_bytes(), &[0xff]].concat();
        self.first_from(word.as_bytes())..self.first_from(&past)
    }

    /// Returns the position of a word, whether it is one of these words or not.
    pub fn place(&self, word: &str) -> u64 {
        let first = self.first_from(word.as_bytes());
        match self.number(word) {
            Some(number) => Self::placed(number),
            None => Self::placed(first) - 1,
        }
    }

    /// Returns the position of one of these words. There is a position before each for
    /// words that are not among them.
    pub fn placed(number: u32) -> u64 {
        2 * u64::from(number) + 1
    }

    pub fn texts(&self) -> Vec<Box<str>> {
        let mut texts = Vec::with_capacity(self.count());
        let mut stream = self.0.stream();
        while let Some((word, _)) = stream.next() {
            texts.push(str::from_utf8(word).expect("words are texts").into());
        }
        texts
    }

    fn first_from(&self, bytes: &[u8]) -> u32 {
        let mut stream = fst::IntoStreamer::into_stream(self.0.range().ge(bytes));
        match stream.next() {
            Some((_, first)) => number(first),
            None => number(self.count() as u64),
        }
    }
}

fn number(value: u64) -> u32 {
    u32::try_from(value).expect("an index is bounded far below")
}

/// The order of two names whose words have the same numbering.
pub(super) fn order(a: (&[u32], ProductId), b: (&[u32], ProductId)) -> Ordering {
    names::compare(a.0, b.0).then_with(|| a.1.cmp(&b.1))
}
