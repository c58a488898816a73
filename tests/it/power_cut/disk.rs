//! A disk that loses power: each write that was not synced may be there, be missing, or be
//! there in part.
//!
//! Assumptions about the disk and its file system:
//!
//! - Everything written to a file before a sync of it began is there once the sync has
//!   ended, and so is the length that the file had then.
//! - A sector of 512 bytes is there as it was at some moment, never a mixture of two;
//!   sectors reach the disk in any order. So each sector shows some prefix of the unsynced
//!   writes that touch it.
//! - The length of a file is independent: the disk may record it before or after the data.
//!   A part within the length that was never written reads as zeros, or as something else.
//! - A name that was created, changed or removed is durable once a later sync of the
//!   folder has ended; before that, each change may be there or not, independently. A file
//!   system need not keep their order, although most do.
//! - A sync of a new file makes its name durable too, as in all journaling file systems
//!   that Linux hosts use. This is not assumed for a name that it got by renaming.

use std::collections::{BTreeMap, BTreeSet};

use leadhost_tests::Random;

use super::record::{Deed, FileId, Record};

const SECTOR: u64 = 512;

/// The files of a folder by their names.
pub type Folder = BTreeMap<String, Vec<u8>>;

/// The certain and the possible contents of the disk.
pub struct Disk<'a> {
    record: &'a Record,
    /// Deeds so far.
    done: usize,
    /// Syncs that end from this deed on are acknowledged but not done.
    ignores_syncs_from: usize,
    files: BTreeMap<FileId, Contents>,
    names: BTreeMap<String, FileId>,
    pending_names: Vec<usize>,
    /// When each sync began, and its target.
    syncs: BTreeMap<u64, (usize, Option<FileId>)>,
}

#[derive(Clone, Default)]
struct Contents {
    durable: Vec<u8>,
    pending: Vec<usize>,
}

impl<'a> Disk<'a> {
    pub fn new(record: &'a Record) -> Self {
        Self::ignoring_syncs_from(record, usize::MAX)
    }

    pub fn ignoring_syncs_from(record: &'a Record, deed: usize) -> Self {
        Self {
            record,
            done: 0,
            ignores_syncs_from: deed,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            pending_names: Vec::new(),
            syncs: BTreeMap::new(),
        }
    }

    /// Advances to this number of deeds.
    pub fn advance(&mut self, to: usize) {
        let record = self.record;
        for (at, deed) in record.deeds.iter().enumerate().take(to).skip(self.done) {
            match deed {
                Deed::Wrote { file, .. } | Deed::Cut { file, .. } => {
                    self.files.entry(*file).or_default().pending.push(at);
                }
                Deed::Named { .. } | Deed::Renamed { .. } | Deed::Removed { .. } => {
                    self.pending_names.push(at);
                }
                Deed::SyncBegan { of, number } => {
                    self.syncs.insert(*number, (at, *of));
                }
                Deed::SyncEnded { number } => {
                    let began = self.syncs.remove(number);
                    let (began, of) = began.expect("a sync that ends has begun");
                    if at < self.ignores_syncs_from {
                        self.sync(began, of);
                    }
                }
            }
        }
        self.done = self.done.max(to);
    }

    /// Makes everything before this deed durable: of a file including its own name, or of
    /// the folder all names.
    fn sync(&mut self, began: usize, of: Option<FileId>) {
        let record = self.record;
        if let Some(file) = of {
            let contents = self.files.entry(file).or_default();
            let later = contents.pending.partition_point(|at| *at < began);
            for at in contents.pending.drain(..later) {
                apply(record, at, &mut contents.durable);
            }
        }
        let names = &mut self.names;
        self.pending_names.retain(|at| {
            let deed = &record.deeds[*at];
            let kept = match (of, deed) {
                (None, _) => true,
                (Some(file), Deed::Named { file: named, .. }) => file == *named,
                _ => false,
            };
            let durable = kept && *at < began;
            if durable {
                rename(deed, names);
            }
            !durable
        });
    }

    /// The folder as the program sees it.
    pub fn as_seen(&self) -> Folder {
        let mut names = self.names.clone();
        for at in &self.pending_names {
            rename(&self.record.deeds[*at], &mut names);
        }
        self.folder(names, |contents| {
            let mut bytes = contents.durable.clone();
            for at in &contents.pending {
                apply(self.record, *at, &mut bytes);
            }
            bytes
        })
    }

    /// The folder as the disk may have it when the power comes back.
    pub fn after_a_cut(&self, random: &mut Random) -> Folder {
        let mut names = self.names.clone();
        let kept = KeptChanges::any(random, self.pending_names.len());
        for (at, deed) in self.pending_names.iter().enumerate() {
            if kept.keeps(at, random) {
                rename(&self.record.deeds[*deed], &mut names);
            }
        }
        self.folder(names, |contents| self.torn(contents, random))
    }

    fn folder(
        &self,
        names: BTreeMap<String, FileId>,
        mut contents_of: impl FnMut(&Contents) -> Vec<u8>,
    ) -> Folder {
        let none = Contents::default();
        let named = names.into_iter().map(|(name, file)| {
            let contents = self.files.get(&file).unwrap_or(&none);
            (name, contents_of(contents))
        });
        named.collect()
    }

    fn torn(&self, contents: &Contents, random: &mut Random) -> Vec<u8> {
        let pending = &contents.pending;
        let mut bytes = contents.durable.clone();
        if pending.is_empty() {
            return bytes;
        }
        let kept = KeptChanges::any(random, pending.len());
        // The file has the length that it had after this many changes.
        let known = kept.length(pending.len(), random);
        let filling = if random.one_in(4) { 0x5a } else { 0 };
        // Sectors that got none of the later changes.
        let mut stopped = BTreeSet::new();
        for (number, at) in pending.iter().enumerate() {
            let is_known = number < known;
            match &self.record.deeds[*at] {
                Deed::Cut { length, .. } => {
                    let length = size(*length);
                    if is_known {
                        bytes.resize(length, filling);
                        // A sector past the end is a new one if it is written again.
                        stopped.retain(|sector| sector * SECTOR < length as u64);
                    } else {
                        // Later data lies past the length that reached the disk.
                        let behind = (length as u64).div_ceil(SECTOR);
                        stopped.extend(behind..(bytes.len() as u64).div_ceil(SECTOR));
                    }
                }
                Deed::Wrote {
                    at, bytes: range, ..
                } => {
                    let written = self.record.bytes(range);
                    let end = at + written.len() as u64;
                    if is_known && size(end) > bytes.len() {
                        bytes.resize(size(end), filling);
                    }
                    let whole = kept.whole(number);
                    for sector in at / SECTOR..end.div_ceil(SECTOR) {
                        let keeps = whole.unwrap_or_else(|| random.one_in(2));
                        if stopped.contains(&sector) || !keeps {
                            stopped.insert(sector);
                            continue;
                        }
                        let from = (sector * SECTOR).max(*at);
                        let to = ((sector + 1) * SECTOR).min(end).min(bytes.len() as u64);
                        if from < to {
                            bytes[size(from)..size(to)]
                                .copy_from_slice(&written[size(from - at)..size(to - at)]);
                        }
                    }
                }
                _ => {}
            }
        }
        bytes
    }
}

/// Which of several unsynced changes the disk has.
enum KeptChanges {
    Nothing,
    Everything,
    /// This many, and a part of the next.
    First(usize),
    /// All but this one.
    AllBut(usize),
    /// For each, whether.
    Each(Vec<bool>),
    /// A part of each.
    Parts,
}

impl KeptChanges {
    fn any(random: &mut Random, count: usize) -> Self {
        match random.below(6) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 => Self::First(random.count(count + 1)),
            3 => Self::AllBut(random.count(count + 1)),
            4 => Self::Each((0..count).map(|_| random.one_in(2)).collect()),
            _ => Self::Parts,
        }
    }

    /// Whether a change is there whole or not at all; `None`: a part of it.
    fn whole(&self, number: usize) -> Option<bool> {
        match self {
            Self::Nothing => Some(false),
            Self::Everything => Some(true),
            Self::First(count) if number == *count => None,
            Self::First(count) => Some(number < *count),
            Self::AllBut(one) => Some(number != *one),
            Self::Each(kept) => Some(kept[number]),
            Self::Parts => None,
        }
    }

    /// The same for changes that have no parts.
    fn keeps(&self, number: usize, random: &mut Random) -> bool {
        self.whole(number).unwrap_or_else(|| random.one_in(2))
    }

    fn length(&self, count: usize, random: &mut Random) -> usize {
        match self {
            Self::Nothing if random.one_in(2) => 0,
            Self::Everything => count,
            Self::First(first) if random.one_in(2) => *first,
            _ => random.count(count + 1),
        }
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).expect("it is in memory")
}

fn apply(record: &Record, at: usize, contents: &mut Vec<u8>) {
    match &record.deeds[at] {
        Deed::Cut { length, .. } => contents.resize(size(*length), 0),
        Deed::Wrote { at, bytes, .. } => {
            let (from, written) = (size(*at), record.bytes(bytes));
            let end = from + written.len();
            if contents.len() < end {
                contents.resize(end, 0);
            }
            contents[from..end].copy_from_slice(written);
        }
        _ => {}
    }
}

fn rename(deed: &Deed, names: &mut BTreeMap<String, FileId>) {
    match deed {
        Deed::Named { name, file } => {
            names.insert(name.clone(), *file);
        }
        Deed::Renamed { from, to, file } => {
            if names.get(from) == Some(file) {
                names.remove(from);
            }
            names.insert(to.clone(), *file);
        }
        Deed::Removed { name, file } if names.get(name) == Some(file) => {
            names.remove(name);
        }
        _ => {}
    }
}

#[test]
fn any_part_of_an_unsynced_write_may_be_on_the_disk() {
    let record = Record::from_deeds(
        vec![
            Deed::Named {
                name: "a".to_owned(),
                file: 1,
            },
            Deed::Wrote {
                file: 1,
                at: 0,
                bytes: 0..1024,
            },
            Deed::SyncBegan {
                of: Some(1),
                number: 7,
            },
            Deed::SyncEnded { number: 7 },
            Deed::Wrote {
                file: 1,
                at: 500,
                bytes: 1024..1536,
            },
        ],
        [vec![b'o'; 1024], vec![b'n'; 512]].concat(),
    );
    let mut disk = Disk::new(&record);
    disk.advance(1);
    let mut random = Random::from_seed(1, 1);
    let mut found = BTreeSet::new();
    for _ in 0..100 {
        found.insert(disk.after_a_cut(&mut random).get("a").cloned());
    }
    assert_eq!(found, BTreeSet::from([None, Some(Vec::new())]));
    disk.advance(5);
    let mut found = BTreeSet::new();
    for _ in 0..400 {
        let folder = disk.after_a_cut(&mut random);
        let bytes = &folder["a"];
        assert_eq!(bytes.len(), 1024);
        assert_eq!(bytes[..500], [b'o'; 500]);
        assert!(bytes[500..512].iter().all(|byte| *byte == bytes[500]));
        assert!(bytes[512..1012].iter().all(|byte| *byte == bytes[512]));
        found.insert((bytes[500], bytes[512]));
    }
    assert_eq!(found.len(), 4, "each sector goes its own way");
}
