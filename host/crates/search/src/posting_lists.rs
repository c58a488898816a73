//! The posting list of each word: the names that contain it. Names have ascending numbers,
//! stored as the differences from one to the next if they are few, and as one bit for each
//! name if they are many. So a word that every name contains takes an eighth of a byte for
//! each name.

use std::ops::Range;

use super::varint;

pub(super) struct PostingLists {
    bytes: Box<[u8]>,
    /// The end of the list of each word.
    ends: Box<[u32]>,
    names: u32,
}

/// The posting list of one word.
pub(super) enum PostingList<'a> {
    Deltas(DeltaList<'a>),
    /// One bit for each name; the lowest bit of the first byte is the first name.
    Bits(&'a [u8]),
}

/// The differences between successive names.
pub(super) struct DeltaList<'a>(&'a [u8]);

/// If more than one name in this many has the word, bits take less memory than
/// differences.
const SPARSE: u32 = 8;

impl PostingLists {
    /// Builds the lists. `of` calls its argument with every name and its words, in the
    /// order of names, and does the same at each call.
    pub fn build(words: usize, names: u32, of: impl Fn(&mut dyn FnMut(u32, &[u32]))) -> Self {
        let mut starts = vec![0u32; words + 1];
        of(&mut |_, name| {
            for &word in name {
                starts[word as usize + 1] += 1;
            }
        });
        for word in 0..words {
            starts[word + 1] += starts[word];
        }
        let mut flat = vec![0u32; starts[words] as usize];
        let mut nexts = starts[..words].to_vec();
        of(&mut |number, name| {
            for &word in name {
                let (start, next) = (starts[word as usize], &mut nexts[word as usize]);
                // A name that contains the word twice is listed once.
                if *next == start || flat[*next as usize - 1] != number {
                    flat[*next as usize] = number;
                    *next += 1;
                }
            }
        });
        let mut bytes = Vec::with_capacity(flat.len());
        let ends = (0..words).map(|word| {
            let list = &flat[starts[word] as usize..nexts[word] as usize];
            encode(&mut bytes, list, names);
            u32::try_from(bytes.len()).expect("an index is bounded far below")
        });
        let ends = ends.collect();
        Self {
            bytes: bytes.into_boxed_slice(),
            ends,
            names,
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ends)
    }

    /// Returns the cost of reading the lists of these words, in bytes.
    pub fn cost(&self, words: &Range<u32>) -> usize {
        self.start(words.end) - self.start(words.start)
    }

    pub fn list(&self, word: u32) -> PostingList<'_> {
        let mut list = &self.bytes[self.start(word)..self.start(word + 1)];
        let count = varint::read(&mut list);
        if is_dense(count, self.names) {
            PostingList::Bits(list)
        } else {
            PostingList::Deltas(DeltaList(list))
        }
    }

    fn start(&self, word: u32) -> usize {
        match word.checked_sub(1) {
            Some(before) => self.ends[before as usize] as usize,
            None => 0,
        }
    }
}

fn is_dense(count: u32, names: u32) -> bool {
    count > names / SPARSE
}

fn encode(bytes: &mut Vec<u8>, list: &[u32], names: u32) {
    let count = u32::try_from(list.len()).expect("name numbers have 32 bits");
    varint::write(bytes, count);
    if is_dense(count, names) {
        let begin = bytes.len();
        bytes.resize(begin + (names as usize).div_ceil(8), 0);
        for &name in list {
            bytes[begin + name as usize / 8] |= 1 << (name % 8);
        }
        return;
    }
    let mut last = 0;
    for &name in list {
        varint::write(bytes, name - last);
        last = name;
    }
}

impl PostingList<'_> {
    /// Calls `each` with the number of each name, ascending.
    pub fn for_each(&self, mut each: impl FnMut(u32)) {
        match self {
            Self::Deltas(deltas) => deltas.for_each(each),
            Self::Bits(bits) => {
                for (byte, bits) in (0..).zip(*bits) {
                    (0..8)
                        .filter(|bit| bits & (1 << bit) != 0)
                        .for_each(|bit| each(byte * 8 + bit));
                }
            }
        }
    }
}

impl DeltaList<'_> {
    /// Calls `each` with the number of each name, ascending.
    #[inline]
    pub fn for_each(&self, mut each: impl FnMut(u32)) {
        let mut rest = self.0;
        let mut name = 0;
        while !rest.is_empty() {
            name += varint::read(&mut rest);
            each(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_back_whether_they_are_short_or_long() {
        let names = 1_000;
        let words_of = |name: u32| {
            let mut words = vec![0, 0];
            if name.is_multiple_of(3) {
                words.push(1);
            }
            if name % 97 == 5 {
                words.push(2);
            }
            words
        };
        let lists = PostingLists::build(4, names, |each| {
            (0..names).for_each(|name| each(name, &words_of(name)));
        });
        let read = |word| {
            let mut read = Vec::new();
            match lists.list(word) {
                PostingList::Deltas(deltas) => deltas.for_each(|name| read.push(name)),
                PostingList::Bits(bits) => {
                    let has = |name: &u32| bits[*name as usize / 8] & (1 << (name % 8)) != 0;
                    read.extend((0..names).filter(has));
                }
            }
            read
        };
        assert_eq!(read(0), (0..names).collect::<Vec<_>>());
        assert_eq!(read(1), (0..names).step_by(3).collect::<Vec<_>>());
        assert_eq!(read(2), (5..names).step_by(97).collect::<Vec<_>>());
        assert_eq!(read(3), Vec::<u32>::new());
        assert!(matches!(lists.list(0), PostingList::Bits(_)));
        assert!(matches!(lists.list(2), PostingList::Deltas(_)));
    }
}
