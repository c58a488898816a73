//! The changes of the program to its data folder, as `record.c` records them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use leadhost_tests::Service;
use leadhost_tests::program::binary;

/// A recorder for one data folder. Its own files are elsewhere.
pub struct Recorder {
    library: PathBuf,
    record: PathBuf,
    ends: PathBuf,
    folder: PathBuf,
}

impl Recorder {
    /// # Panics
    /// If there is no C compiler, which Rust's linker needs too.
    #[track_caller]
    pub fn new(tools: &Path, folder: &Path) -> Self {
        let library = tools.join("record.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/it/power_cut/record.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .arg(source)
            .arg("-ldl")
            .status()
            .expect("a C compiler");
        assert!(built.success(), "{source} compiles");
        Self {
            library,
            record: tools.join("record"),
            ends: tools.join("ends"),
            folder: folder.canonicalize().expect("it is there"),
        }
    }

    /// The service, which appends its changes to the record.
    pub fn program(&self) -> Command {
        let mut program = Command::new(binary());
        program
            .env("LD_PRELOAD", &self.library)
            .env("RECORD", &self.record)
            .env("RECORD_ENDS", &self.ends)
            .env("RECORDED_FOLDER", &self.folder);
        program
    }

    /// The length of the record so far, in bytes.
    pub fn length(&self) -> u64 {
        let record = std::fs::metadata(&self.record);
        record.map_or(0, |record| record.len())
    }

    /// Kills the service at its next change, so that its files contain nothing
    /// that is not in the record.
    pub fn kill(&self, mut service: Service) {
        std::fs::write(&self.ends, "").expect("a file");
        service.wait();
        std::fs::remove_file(&self.ends).expect("it is there");
    }

    pub fn read(&self) -> Record {
        Record::parse(std::fs::read(&self.record).expect("there is a record"))
    }
}

/// Identifies a file in the whole record: an inode number that was used for
/// another file before is a different file here.
pub type FileId = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The file has this name: it was created or linked.
    Named {
        name: String,
        file: FileId,
    },
    Wrote {
        file: FileId,
        at: u64,
        bytes: Range<usize>,
    },
    /// The file was truncated or extended to this length.
    Cut {
        file: FileId,
        length: u64,
    },
    Renamed {
        from: String,
        to: String,
        file: FileId,
    },
    Removed {
        name: String,
        file: FileId,
    },
    /// A sync of a file, or of the folder itself, began.
    SyncBegan {
        of: Option<FileId>,
        number: u64,
    },
    SyncEnded {
        number: u64,
    },
}

pub struct Record {
    bytes: Vec<u8>,
    pub deeds: Vec<Deed>,
    /// The end of each deed in the record.
    ends: Vec<u64>,
}

const HEAD: usize = 32;

impl Record {
    #[track_caller]
    fn parse(bytes: Vec<u8>) -> Self {
        let mut files = RecordedFiles::default();
        let mut deeds = Vec::new();
        let mut ends = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let number = |from: usize, length: usize| {
                let mut whole = [0; 8];
                whole[..length].copy_from_slice(&bytes[at + from..at + from + length]);
                u64::from_ne_bytes(whole)
            };
            let size = |number: u64| usize::try_from(number).expect("it is in memory");
            let (kind, inode, value) = (number(0, 4), number(8, 8), number(16, 8));
            let name_ends = at + HEAD + size(number(4, 4));
            let end = name_ends + size(number(24, 8));
            let text = |range: Range<usize>| {
                String::from_utf8(bytes[range].to_vec()).expect("a name of ours")
            };
            let name = text(at + HEAD..name_ends);
            let deed = match kind {
                1 => files.named(name, inode),
                2 => Some(Deed::Wrote {
                    file: files.file(inode),
                    at: value,
                    bytes: name_ends..end,
                }),
                3 => Some(Deed::Cut {
                    file: files.file(inode),
                    length: value,
                }),
                4 => Some(files.renamed(text(name_ends..end), name, inode)),
                5 => Some(files.removed(name, inode)),
                6 => Some(Deed::SyncBegan {
                    of: (inode != FOLDER).then(|| files.file(inode)),
                    number: value,
                }),
                7 => Some(Deed::SyncEnded { number: value }),
                other => panic!("{other} is no kind of a deed"),
            };
            if let Some(deed) = deed {
                deeds.push(deed);
                ends.push(end as u64);
            }
            at = end;
        }
        Self { bytes, deeds, ends }
    }

    /// A record that was made by hand.
    pub fn from_deeds(deeds: Vec<Deed>, bytes: Vec<u8>) -> Self {
        let ends = (1..=deeds.len() as u64).collect();
        Self { bytes, deeds, ends }
    }

    pub fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.clone()]
    }

    /// The number of deeds when the record had this length.
    pub fn deeds_at(&self, length: u64) -> usize {
        self.ends.partition_point(|end| *end <= length)
    }
}

/// The number that `record.c` gives the folder itself.
const FOLDER: u64 = 0;

/// The files as the program sees them.
#[derive(Default)]
struct RecordedFiles {
    count: usize,
    names: BTreeMap<String, FileId>,
    inodes: BTreeMap<u64, FileId>,
}

impl RecordedFiles {
    #[track_caller]
    fn file(&self, inode: u64) -> FileId {
        let file = self.inodes.get(&inode);
        *file.unwrap_or_else(|| panic!("file {inode} was there before the record"))
    }

    /// `None` if it had the name already.
    fn named(&mut self, name: String, inode: u64) -> Option<Deed> {
        let known = self.inodes.get(&inode).copied();
        let linked = known.filter(|file| self.names.values().any(|other| other == file));
        let file = linked.unwrap_or_else(|| {
            self.count += 1;
            self.count
        });
        self.inodes.insert(inode, file);
        let before = self.names.insert(name.clone(), file);
        (before != Some(file)).then_some(Deed::Named { name, file })
    }

    fn renamed(&mut self, from: String, to: String, inode: u64) -> Deed {
        let file = self.file(inode);
        self.names.remove(&from);
        self.names.insert(to.clone(), file);
        Deed::Renamed { from, to, file }
    }

    fn removed(&mut self, name: String, inode: u64) -> Deed {
        self.names.remove(&name);
        let file = self.file(inode);
        Deed::Removed { name, file }
    }
}
