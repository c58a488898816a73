//! Opaque cursors. The cursor of a pull holds its position, its end, and what it belongs
//! to. It holds stamps only, so it survives restarts and a move to another store that takes
//! the clocks along. The cursor of a list, newest first, holds the row before which the
//! next page begins. The checksum detects damage, not forgery: a forged cursor shows its
//! holder's own rows and no others.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::id::WorkspaceId;

/// A position in a feed: after this stamp and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub workspace: WorkspaceId,
    /// The feed: a number for each feed, and another one for the ids of each.
    pub feed: u8,
    /// The store that issued the cursor: after a restore, stamps stand for other rows.
    pub store: Uuid,
    /// The next rows have a stamp above this one.
    pub after: i64,
    /// The pull ends with the rows of this stamp.
    pub upper: i64,
    /// The filter of the rows, in the feed's own words; empty if there is none.
    pub filter: String,
}

/// A text that is not a cursor, or that is damaged.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("The cursor was not issued by this service, or it is damaged; start again without it")]
pub struct BrokenCursor;

/// A position in a list that is newest first: before this row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListCursor {
    pub workspace: WorkspaceId,
    /// The list: each has a number of its own.
    pub list: u8,
    pub before: Uuid,
    /// The filter of the rows, in the list's own words; empty if there is none.
    pub filter: String,
}

/// Format bytes: a pull without a filter, a pull with a filter, a list.
const PLAIN: u8 = 1;
const FILTERED: u8 = 2;
const LIST: u8 = 3;
const BODY: usize = 1 + 1 + 16 + 16 + 8 + 8;
const LIST_BODY: usize = 1 + 1 + 16 + 16;
const SUM: usize = 6;

/// Bound of a filter in bytes, above the longest ids of channels. A longer filter is not
/// put into a cursor.
pub const LONGEST_FILTER: usize = 4_096;

impl Cursor {
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(BODY + self.filter.len() + SUM);
        bytes.push(if self.filter.is_empty() {
            PLAIN
        } else {
            FILTERED
        });
        bytes.push(self.feed);
        bytes.extend_from_slice(self.workspace.0.as_bytes());
        bytes.extend_from_slice(self.store.as_bytes());
        bytes.extend_from_slice(&self.after.to_be_bytes());
        bytes.extend_from_slice(&self.upper.to_be_bytes());
        bytes.extend_from_slice(self.filter.as_bytes());
        with_sum(bytes)
    }

    pub fn decode(text: &str) -> Result<Self, BrokenCursor> {
        let bytes = without_sum(text)?;
        let end = bytes.len();
        let known = match bytes.first() {
            Some(&PLAIN) => end == BODY,
            Some(&FILTERED) => end > BODY && end <= BODY + LONGEST_FILTER,
            _ => false,
        };
        if !known {
            return Err(BrokenCursor);
        }
        let filter = str::from_utf8(&bytes[BODY..]).map_err(|_| BrokenCursor)?;
        let number =
            |at: usize| i64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Ok(Self {
            workspace: WorkspaceId(uuid(&bytes, 2)),
            feed: bytes[1],
            store: uuid(&bytes, 18),
            after: number(34),
            upper: number(42),
            filter: filter.to_owned(),
        })
    }
}

impl ListCursor {
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(LIST_BODY + self.filter.len() + SUM);
        bytes.push(LIST);
        bytes.push(self.list);
        bytes.extend_from_slice(self.workspace.0.as_bytes());
        bytes.extend_from_slice(self.before.as_bytes());
        bytes.extend_from_slice(self.filter.as_bytes());
        with_sum(bytes)
    }

    pub fn decode(text: &str) -> Result<Self, BrokenCursor> {
        let bytes = without_sum(text)?;
        if bytes.len() < LIST_BODY || bytes[0] != LIST {
            return Err(BrokenCursor);
        }
        let filter = str::from_utf8(&bytes[LIST_BODY..]).map_err(|_| BrokenCursor)?;
        Ok(Self {
            list: bytes[1],
            workspace: WorkspaceId(uuid(&bytes, 2)),
            before: uuid(&bytes, 18),
            filter: filter.to_owned(),
        })
    }
}

fn uuid(bytes: &[u8], at: usize) -> Uuid {
    Uuid::from_slice(&bytes[at..at + 16]).expect("sixteen bytes")
}

fn with_sum(mut bytes: Vec<u8>) -> String {
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn without_sum(text: &str) -> Result<Vec<u8>, BrokenCursor> {
    // Longer than every cursor: refused before it is decoded.
    if text.len() > 2 * (BODY + LONGEST_FILTER + SUM) {
        return Err(BrokenCursor);
    }
    let mut bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BrokenCursor)?;
    let end = bytes.len().checked_sub(SUM).ok_or(BrokenCursor)?;
    if checksum(&bytes[..end]) != bytes[end..] {
        return Err(BrokenCursor);
    }
    bytes.truncate(end);
    Ok(bytes)
}

fn checksum(bytes: &[u8]) -> [u8; SUM] {
    let mut hash = Sha256::new();
    hash.update(b"leadhost-cursor");
    hash.update(bytes);
    hash.finalize()[..SUM]
        .try_into()
        .expect("six of thirty-two bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Micros;

    fn cursor() -> Cursor {
        Cursor {
            workspace: WorkspaceId::new(Micros(1)),
            feed: 2,
            store: Uuid::nil(),
            after: 5,
            upper: 9,
            filter: String::new(),
        }
    }

    fn list_cursor() -> ListCursor {
        ListCursor {
            workspace: WorkspaceId::new(Micros(1)),
            list: 1,
            before: Uuid::from_u128(7),
            filter: "open".to_owned(),
        }
    }

    #[test]
    fn any_damage_is_refused() {
        let refused = |text: &str| {
            Cursor::decode(text) == Err(BrokenCursor)
                && ListCursor::decode(text) == Err(BrokenCursor)
        };
        for text in [cursor().encode(), list_cursor().encode()] {
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                let damaged = String::from_utf8(bytes).expect("ascii");
                assert!(refused(&damaged), "{at}");
            }
            assert!(refused(&text[1..]));
        }
        for wrong in ["", "null", "💥", &"A".repeat(20_000)] {
            assert!(refused(wrong));
        }
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::proptest::prelude::any;
    use leadhost_fuzz::{damaged_text, holds, text};

    use super::*;

    fn filter() -> impl leadhost_fuzz::proptest::strategy::Strategy<Value = String> {
        text(&["open", "assistant:7"])
    }

    #[test]
    fn fuzz_cursors_read_back() {
        let numbers = (any::<u8>(), any::<[u128; 2]>(), any::<[i64; 2]>());
        holds(2_000, (numbers, filter()), |(numbers, filter)| {
            let (number, [one, other], [after, upper]) = numbers;
            let mut filter = filter.clone();
            filter.truncate(filter.floor_char_boundary(LONGEST_FILTER));
            let workspace = WorkspaceId(Uuid::from_u128(*one));
            let cursor = Cursor {
                workspace,
                feed: *number,
                store: Uuid::from_u128(*other),
                after: *after,
                upper: *upper,
                filter: filter.clone(),
            };
            assert_eq!(Cursor::decode(&cursor.encode()).as_ref(), Ok(&cursor));
            let cursor = ListCursor {
                workspace,
                list: *number,
                before: Uuid::from_u128(*other),
                filter,
            };
            assert_eq!(ListCursor::decode(&cursor.encode()).as_ref(), Ok(&cursor));
        });
    }

    #[test]
    fn fuzz_a_cursor_has_one_text_and_one_kind() {
        let cursor = Cursor {
            workspace: WorkspaceId(Uuid::from_u128(1)),
            feed: 2,
            store: Uuid::from_u128(3),
            after: 4,
            upper: 5,
            filter: String::new(),
        };
        let filtered = Cursor {
            filter: "open".to_owned(),
            ..cursor.clone()
        };
        let list = ListCursor {
            workspace: cursor.workspace,
            list: 1,
            before: cursor.store,
            filter: "open".to_owned(),
        };
        let seeds = [cursor.encode(), filtered.encode(), list.encode()];
        // With a corrected checksum, so that the contents are checked too.
        let with_right_sum = |text: &str| {
            let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            bytes.truncate(bytes.len().saturating_sub(SUM));
            Some(with_sum(bytes))
        };
        let texts = damaged_text(seeds, &["A", "-", "_", "=", "AQ", "Aw"]);
        holds(4_000, texts, |text| {
            for text in [Some(text.clone()), with_right_sum(text)]
                .into_iter()
                .flatten()
            {
                let (pull, list) = (Cursor::decode(&text), ListCursor::decode(&text));
                assert!(pull.is_err() || list.is_err());
                for read in [pull.map(|it| it.encode()), list.map(|it| it.encode())] {
                    assert!(read.is_err() || read.as_ref() == Ok(&text), "{text}");
                }
            }
        });
    }
}
