//! The names as the numbers of their words, in the order of names. Each name stores only
//! what differs from the prefix that it shares with the one before. Names are stored in
//! blocks of a few, and each block can be read alone.

use std::cmp::Ordering;

use super::varint;

/// Names in one block.
const BLOCK: u32 = 16;

pub(super) struct NameTable {
    bytes: Box<[u8]>,
    /// The position at which each block begins.
    blocks: Box<[u32]>,
    count: u32,
}

impl NameTable {
    /// Builds the names from the numbers of their words. They must be in the order of
    /// `compare`.
    pub fn build<'a>(names: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut bytes = Vec::new();
        let mut blocks = Vec::new();
        let mut last: &[u32] = &[];
        let mut count = 0;
        for name in names {
            if count % BLOCK == 0 {
                blocks.push(u32::try_from(bytes.len()).expect("an index is bounded far below"));
                last = &[];
            }
            let same = last.iter().zip(name).take_while(|(a, b)| a == b).count();
            varint::write(&mut bytes, small(same));
            varint::write(&mut bytes, small(name.len()));
            for &word in &name[same..] {
                varint::write(&mut bytes, word);
            }
            last = name;
            count += 1;
        }
        Self {
            bytes: bytes.into_boxed_slice(),
            blocks: blocks.into_boxed_slice(),
            count,
        }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.blocks)
    }

    pub fn read(&self, name: u32, into: &mut Vec<u32>) {
        let mut rest = &self.bytes[self.blocks[(name / BLOCK) as usize] as usize..];
        into.clear();
        for _ in 0..=name % BLOCK {
            next(&mut rest, into);
        }
    }

    /// Calls `each` with the number and the words of each name, in order.
    pub fn for_each(&self, mut each: impl FnMut(u32, &[u32])) {
        let mut rest = &*self.bytes;
        let mut words = Vec::new();
        for name in 0..self.count {
            next(&mut rest, &mut words);
            each(name, &words);
        }
    }
}

fn next(rest: &mut &[u8], words: &mut Vec<u32>) {
    let same = varint::read(rest) as usize;
    let all = varint::read(rest) as usize;
    words.truncate(same);
    for _ in same..all {
        words.push(varint::read(rest));
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).expect("a name has a bounded number of words")
}

/// The order of names with equal points. Words are numbered in alphabetical order, and a
/// blank sorts before every letter, so this is the order of the texts.
pub(super) fn compare(a: &[u32], b: &[u32]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_one_by_one_and_in_sequence() {
        let mut given: Vec<Vec<u32>> = (0..100u32)
            .map(|n| vec![n / 20, n / 5, n * 1_000].split_off((n % 2) as usize))
            .collect();
        given.sort_by(|a, b| compare(a, b));
        let names = NameTable::build(given.iter().map(Vec::as_slice));
        let mut read = Vec::new();
        for (number, name) in (0..).zip(&given) {
            names.read(number, &mut read);
            assert_eq!(&read, name);
        }
        let mut row = Vec::new();
        names.for_each(|_, name| row.push(name.to_vec()));
        assert_eq!(row, given);
    }
}
