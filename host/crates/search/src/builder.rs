//! Products that are collected for an index: each with its name, in any order; the last
//! name of each product wins. The collected data takes two to three times the memory of the
//! finished index, and is bounded.

use std::collections::HashMap;

use super::fold;
use super::segment::{self, IndexSegment, Words};
use leadhost_domain::id::ProductId;

/// The names do not fit into the memory bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index would take more than {bound} bytes")]
pub struct TooLarge {
    pub bound: usize,
}

/// Bytes of overhead for each distinct word while names are gathered.
const WORD_BYTES: usize = 56;

/// Most words of all names in one index: the numbers derived from them have 32 bits.
const MOST: usize = 1 << 28;

/// Collects the names of products for an index.
#[derive(Default)]
pub struct IndexBuilder {
    known: HashMap<Box<str>, u32>,
    letters: usize,
    ids: Vec<ProductId>,
    /// The end of the words of each name. A name without words is removed or has none.
    ends: Vec<u32>,
    words: Vec<u32>,
}

impl IndexBuilder {
    /// Sets a product's name, or removes it with `None`.
    pub fn set(&mut self, id: ProductId, name: Option<&str>) {
        match name {
            Some(name) => self.set_folded(id, &fold::fold(name)),
            None => self.set_folded(id, ""),
        }
    }

    pub(super) fn set_folded(&mut self, id: ProductId, folded: &str) {
        for word in fold::words(folded) {
            let number = match self.known.get(word) {
                Some(number) => *number,
                None => {
                    let number = small(self.known.len());
                    self.known.insert(word.into(), number);
                    self.letters += word.len();
                    number
                }
            };
            self.words.push(number);
        }
        self.ids.push(id);
        self.ends.push(small(self.words.len()));
    }

    pub fn bytes(&self) -> usize {
        self.known.len() * WORD_BYTES
            + self.letters
            + size_of_val(&*self.ids)
            + size_of_val(&*self.ends)
            + size_of_val(&*self.words)
    }

    /// Returns whether the memory bound allows no more names. The index takes about half of
    /// the gathered bytes.
    pub fn is_past(&self, bound: usize) -> bool {
        self.words.len() >= MOST || self.bytes() / 2 > bound
    }

    /// Builds a segment from the last name of each product. Products without words are left
    /// out.
    pub(super) fn into_segment(mut self) -> IndexSegment {
        let words = self.number_in_order();
        let mut kept = self.latest();
        kept.sort_unstable_by(|&a, &b| {
            let a = (self.name(a), self.ids[a as usize]);
            segment::order(a, (self.name(b), self.ids[b as usize]))
        });
        let ids = kept.iter().map(|at| self.ids[*at as usize]).collect();
        IndexSegment::build(words, ids, kept.iter().map(|at| self.name(*at)))
    }

    /// Renumbers the words in alphabetical order, instead of the order in which they came.
    fn number_in_order(&mut self) -> Words {
        let mut ordered: Vec<_> = std::mem::take(&mut self.known).into_iter().collect();
        ordered.sort_unstable();
        let mut renamed = vec![0; ordered.len()];
        for (number, (_, before)) in (0..).zip(&ordered) {
            renamed[*before as usize] = number;
        }
        for word in &mut self.words {
            *word = renamed[*word as usize];
        }
        Words::build(ordered.iter().map(|(word, _)| &**word))
    }

    /// Returns the last entry of each product, if it has words.
    fn latest(&self) -> Vec<u32> {
        let mut all: Vec<u32> = (0..small(self.ids.len())).collect();
        all.sort_unstable_by_key(|at| (self.ids[*at as usize], std::cmp::Reverse(*at)));
        all.dedup_by_key(|at| self.ids[*at as usize]);
        all.retain(|at| !self.name(*at).is_empty());
        all
    }

    fn name(&self, at: u32) -> &[u32] {
        let at = at as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.words[start as usize..self.ends[at] as usize]
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).expect("gathered names are bounded far below")
}
