//! Finds the names with enough points, counts them all, and returns a page of them in
//! order.
//!
//! Each name has a cell of points, to which the lists of the term's words are added. Words
//! that together cannot make a name match (usually the words of most names) come last, and
//! are added only to names that already have another word. Names are numbered in their
//! order, so the count of names for each number of points determines where the page begins;
//! the cost is the same for every page.

use std::ops::Range;

use super::index::Index;
use super::posting_lists::PostingList;
use super::segment::IndexSegment;
use super::term::{Term, WordMatch};
use leadhost_domain::id::ProductId;

/// A page of the products that a search has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResults {
    /// All matches, not only the page's.
    pub total: u64,
    pub page: Vec<Hit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    pub id: ProductId,
    /// The share of the term's points, in ten-thousandths.
    pub score: u32,
}

/// The low bits of a cell hold the last word of the term that was counted, so that no word
/// is counted twice. The points are above them.
const MARK: u32 = 4;
const MARKS: u16 = (1 << MARK) - 1;

impl Index {
    /// Returns the matches from position `from` on, at most `count` of them. The product
    /// `named` matches the whole term, whatever its name is.
    pub fn search(
        &self,
        term: &Term,
        named: Option<ProductId>,
        from: u64,
        count: usize,
    ) -> SearchResults {
        let whole = term.points();
        let [in_base, in_over] = [&self.base, &self.over].map(|segment| matches(segment, term));
        let known: Vec<_> = in_base
            .iter()
            .zip(&in_over)
            .map(|(base, over)| {
                is_in(&self.base, base, &self.removed) || is_in(&self.over, over, &[])
            })
            .collect();
        let least = term.least(&known);
        let mut base = cells(&self.base, in_base, least);
        for removed in &self.removed {
            base[*removed as usize] = 0;
        }
        let mut over = cells(&self.over, in_over, least);
        if let Some(id) = named {
            let in_base = self.base.find(id);
            let in_base = in_base.filter(|number| self.removed.binary_search(number).is_err());
            match (self.over.find(id), in_base) {
                (Some(number), _) => over[number as usize] = cell_of(whole),
                (None, Some(number)) => base[number as usize] = cell_of(whole),
                (None, None) => {}
            }
        }
        let cells = ScoreCells {
            base: &base,
            over: &over,
            places: &self.places,
        };
        let worth = cells.count(least, whole);
        let total = worth.iter().sum();
        let page = page(&worth, from, count as u64);
        let mut hits = cells.take(&page);
        // Matches with equal points are in order already.
        hits.sort_by(|(a, _), (b, _)| b.cmp(a));
        let page = hits.into_iter().map(|(points, place)| Hit {
            id: match place {
                NameRef::Base(number) => self.base.id(number),
                NameRef::Over(number) => self.over.id(number),
            },
            score: score(u32::from(points), whole),
        });
        SearchResults {
            total,
            page: page.collect(),
        }
    }
}

/// Returns the score in ten-thousandths, rounded half up.
fn score(points: u32, whole: u32) -> u32 {
    (points * 20_000 + whole) / (2 * whole)
}

/// A word of the term, and its matches in a segment.
struct WordMatches {
    mark: u16,
    most: u32,
    matches: Vec<WordMatch>,
    cost: usize,
}

/// The cost of reading a name's words, in bytes of lists.
const READING: usize = 64;

/// Returns the matches of each word of the term in a segment.
fn matches(segment: &IndexSegment, term: &Term) -> Vec<WordMatches> {
    let parts = (1..).zip(term.words()).map(|(mark, word)| {
        let matches = word.matches(&segment.words);
        let costs = matches.iter().map(|found| {
            let beside = found
                .beside
                .map(|word| segment.lists.cost(&(word..word + 1)));
            segment.lists.cost(&found.words) + beside.unwrap_or(0)
        });
        WordMatches {
            mark,
            most: word.most(),
            cost: costs.sum(),
            matches,
        }
    });
    parts.collect()
}

/// Returns whether a name that is not removed matches the word.
fn is_in(segment: &IndexSegment, part: &WordMatches, removed: &[u32]) -> bool {
    let is_live = |name: u32| removed.binary_search(&name).is_err();
    let has_live = |word: u32| {
        let mut is_any = false;
        let list = segment.lists.list(word);
        list.for_each(|name| is_any = is_any || is_live(name));
        is_any
    };
    let (alone, beside): (Vec<_>, Vec<_>) =
        part.matches.iter().partition(|one| one.beside.is_none());
    let is_alone = |found: &&WordMatch| removed.is_empty() || found.words.clone().any(has_live);
    // Two words of one name are looked for only if no word is enough.
    alone.iter().any(is_alone)
        || beside.iter().any(|found| {
            let other = found.beside.expect("it is a pair");
            let both = with_both(segment, found.words.start, other);
            both.into_iter().any(is_live)
        })
}

/// Returns a cell for each name of a segment. Names that cannot reach `least` may have
/// fewer points than they are worth.
fn cells(segment: &IndexSegment, mut parts: Vec<WordMatches>, least: u32) -> Vec<u16> {
    let mut cells = vec![0u16; segment.count() as usize];
    if cells.is_empty() {
        return cells;
    }
    parts.sort_by_key(|part| part.cost);
    let mut rest: u32 = parts.iter().map(|part| part.most).sum();
    let mut candidates: Option<Vec<u32>> = None;
    for part in &parts {
        // A name without points stays below `least` if the remaining words are worth less.
        if rest < least {
            let lacking = cell_of(least - rest);
            let few = match candidates.take() {
                None => with_least(&cells, lacking),
                Some(mut few) => {
                    few.retain(|name| cells[*name as usize] >= lacking);
                    few
                }
            };
            if few.len() * READING < part.cost {
                add_to(segment, part, &mut cells, &few);
            } else {
                add(segment, part, &mut cells);
            }
            candidates = Some(few);
        } else {
            add(segment, part, &mut cells);
        }
        rest -= part.most;
    }
    cells
}

/// Adds a word's points to the names that have it.
fn add(segment: &IndexSegment, part: &WordMatches, cells: &mut [u16]) {
    for found in &part.matches {
        let add = cell_of(found.points) + part.mark;
        let add_one = |cell: &mut u16| {
            if *cell & MARKS != part.mark {
                *cell = (*cell & !MARKS) + add;
            }
        };
        if let Some(beside) = found.beside {
            for name in with_both(segment, found.words.start, beside) {
                add_one(&mut cells[name as usize]);
            }
            continue;
        }
        for word in found.words.clone() {
            match segment.lists.list(word) {
                PostingList::Bits(bits) => add_bits(bits, part.mark, add, cells),
                PostingList::Deltas(deltas) => {
                    deltas.for_each(|name| add_one(&mut cells[name as usize]));
                }
            }
        }
    }
}

/// Returns the names that contain both words.
fn with_both(segment: &IndexSegment, first: u32, second: u32) -> Vec<u32> {
    let mut has = vec![0u8; (segment.count() as usize).div_ceil(8)];
    match segment.lists.list(first) {
        PostingList::Bits(bits) => has.copy_from_slice(bits),
        PostingList::Deltas(deltas) => {
            deltas.for_each(|name| has[name as usize / 8] |= 1 << (name % 8));
        }
    }
    let mut both = Vec::new();
    segment.lists.list(second).for_each(|name| {
        if has[name as usize / 8] & (1 << (name % 8)) != 0 {
            both.push(name);
        }
    });
    both
}

/// Adds points to eight names at a time and without a branch: a word that every name
/// contains must not cost a million steps.
fn add_bits(bits: &[u8], mark: u16, add: u16, cells: &mut [u16]) {
    for (byte, cells) in bits.iter().zip(cells.chunks_mut(8)) {
        let has = &SPREAD[usize::from(*byte)];
        for (cell, has) in cells.iter_mut().zip(has) {
            let is_counted = *cell & MARKS == mark;
            let is_new = if is_counted { 0 } else { *has };
            let new = (*cell & !MARKS) + add;
            *cell = (*cell & !is_new) | (new & is_new);
        }
    }
}

/// The bits of each byte, spread over eight cells.
static SPREAD: [[u16; 8]; 256] = {
    let mut spread = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte & (1 << bit) != 0 {
                spread[byte][bit] = u16::MAX;
            }
            bit += 1;
        }
        byte += 1;
    }
    spread
};

/// Adds a word's points to the names that have it.
fn add_to(segment: &IndexSegment, part: &WordMatches, cells: &mut [u16], names: &[u32]) {
    let mut words = Vec::new();
    for &name in names {
        segment.read(name, &mut words);
        // The best match comes first.
        let found = part.matches.iter().find(|found| {
            let is_like = |word| found.words.contains(word);
            words.iter().any(is_like) && found.beside.is_none_or(|beside| words.contains(&beside))
        });
        if let Some(found) = found {
            let cell = &mut cells[name as usize];
            *cell = (*cell & !MARKS) + cell_of(found.points) + part.mark;
        }
    }
}

/// Converts points to the form of a cell, without a mark.
fn cell_of(points: u32) -> u16 {
    u16::try_from(points << MARK).expect("a term is short")
}

/// Returns the names whose cells are at least `least`.
fn with_least(cells: &[u16], least: u16) -> Vec<u32> {
    let mut names = Vec::new();
    for_each_from(cells, least, |name, _| names.push(name));
    names
}

/// Calls `each` with the names whose cells are at least `least`, and these cells, in order.
/// Usually they are few, so names are skipped in chunks.
fn for_each_from(cells: &[u16], least: u16, mut each: impl FnMut(u32, u16)) {
    const ONCE: usize = 64;
    for (first, cells) in (0..).step_by(ONCE).zip(cells.chunks(ONCE)) {
        let below = least.saturating_sub(1);
        if cells
            .iter()
            .fold(0, |any, cell| any | cell.saturating_sub(below))
            == 0
        {
            continue;
        }
        for (name, &cell) in (first..).zip(cells) {
            if cell >= least {
                each(name, cell);
            }
        }
    }
}

/// The cells of both segments.
struct ScoreCells<'a> {
    base: &'a [u16],
    over: &'a [u16],
    places: &'a [u32],
}

/// A name of the base segment or of the overlay, by its number there.
#[derive(Clone, Copy)]
enum NameRef {
    Base(u32),
    Over(u32),
}

/// The matches that make up a page: those with `points`, without the first ones of the best
/// points and with only some of the worst. Empty if `points` is empty.
#[derive(Debug, PartialEq, Eq)]
struct PageRange {
    points: Range<u16>,
    skipped: u64,
    /// The number of matches with the worst points that the page has, from the first on; if
    /// these are also the best points, after the skipped ones.
    taken: u64,
}

impl ScoreCells<'_> {
    /// Counts the names for each number of points, from `least` to `whole`.
    fn count(&self, least: u32, whole: u32) -> Vec<u64> {
        let mut worth = vec![0u64; whole as usize + 1];
        for cells in [self.base, self.over] {
            for_each_from(cells, cell_of(least), |_, cell| {
                worth[usize::from(cell >> MARK)] += 1;
            });
        }
        worth
    }

    /// Returns the matches of the page, in the order of names with equal points.
    fn take(&self, page: &PageRange) -> Vec<(u16, NameRef)> {
        let Range { start, end } = page.points;
        let mut taken = Vec::new();
        if start >= end {
            return taken;
        }
        let (mut to_skip, mut of_worst) = (page.skipped, 0);
        let mut take = |cell: u16, place: NameRef| {
            let points = cell >> MARK;
            if points >= end {
                return;
            }
            if points == end - 1 && to_skip > 0 {
                to_skip -= 1;
                return;
            }
            if points == start {
                if of_worst == page.taken {
                    return;
                }
                of_worst += 1;
            }
            taken.push((points, place));
        };
        let least = start << MARK;
        let mut over = Vec::new();
        for_each_from(self.over, least, |name, cell| over.push((name, cell)));
        let mut over = over.into_iter().peekable();
        for_each_from(self.base, least, |name, cell| {
            let before = |(over, _): &(u32, u16)| self.places[*over as usize] <= name;
            while let Some((over, cell)) = over.next_if(before) {
                take(cell, NameRef::Over(over));
            }
            take(cell, NameRef::Base(name));
        });
        for (name, cell) in over {
            take(cell, NameRef::Over(name));
        }
        taken
    }
}

/// Returns where a page lies, given the number of names for each number of points.
fn page(worth: &[u64], from: u64, count: u64) -> PageRange {
    let mut before = 0;
    let mut page = PageRange {
        points: 0..0,
        skipped: 0,
        taken: 0,
    };
    let end = from.saturating_add(count);
    for (points, &here) in worth.iter().enumerate().rev() {
        let points = u16::try_from(points).expect("a term is short");
        let after = before + here;
        if here > 0 && after > from && before < end {
            if page.points.is_empty() {
                page.points.end = points + 1;
                page.skipped = from - before;
            }
            page.points.start = points;
            page.taken = after.min(end) - before.max(from);
        }
        before = after;
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_rounded_to_four_decimals() {
        assert_eq!(score(6, 6), 10_000);
        assert_eq!(score(1, 3), 3_333);
        assert_eq!(score(2, 3), 6_667);
        assert_eq!(score(399, 400), 9_975);
    }

    #[test]
    fn a_page_is_located_by_the_counts() {
        let worth = [0, 0, 5, 0, 3];
        let check = |from, count, points: Range<u16>, skipped, taken| {
            let expect = PageRange {
                points,
                skipped,
                taken,
            };
            assert_eq!(page(&worth, from, count), expect, "{from} {count}");
        };
        check(0, 2, 4..5, 0, 2);
        check(1, 2, 4..5, 1, 2);
        check(1, 4, 2..5, 1, 2);
        check(4, 10, 2..3, 1, 4);
        check(8, 10, 0..0, 0, 0);
        check(u64::MAX, 10, 0..0, 0, 0);
    }
}
