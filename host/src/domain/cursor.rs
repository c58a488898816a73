//! The opaque cursor of a pull: where it stands, where it ends, and what it
//! belongs to. It holds stamps only, so it outlives restarts and moves to
//! another store that carries the clocks along. The checksum catches damage,
//! not forgery: a forged cursor shows its holder's own rows and no others.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::id::WorkspaceId;

/// A position in a feed: after this stamp and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub workspace: WorkspaceId,
    /// `Entity::code`, or a report's number.
    pub feed: u8,
    /// The store that handed it out: after a restore stamps mean other rows.
    pub store: Uuid,
    /// Rows with a stamp above this one come next.
    pub after: i64,
    /// The pull ends with rows of this stamp.
    pub upper: i64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the cursor is not one that this service gave, or it was damaged; start again without it")]
pub struct BrokenCursor;

const VERSION: u8 = 1;
const BODY: usize = 1 + 1 + 16 + 16 + 8 + 8;
const SUM: usize = 6;

impl Cursor {
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(BODY + SUM);
        bytes.push(VERSION);
        bytes.push(self.feed);
        bytes.extend_from_slice(self.workspace.0.as_bytes());
        bytes.extend_from_slice(self.store.as_bytes());
        bytes.extend_from_slice(&self.after.to_be_bytes());
        bytes.extend_from_slice(&self.upper.to_be_bytes());
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub fn decode(text: &str) -> Result<Self, BrokenCursor> {
        // Longer than any cursor of ours: refused before it is decoded.
        if text.len() > 128 {
            return Err(BrokenCursor);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BrokenCursor)?;
        if bytes.len() != BODY + SUM
            || bytes[0] != VERSION
            || checksum(&bytes[..BODY]) != bytes[BODY..]
        {
            return Err(BrokenCursor);
        }
        let uuid = |at: usize| Uuid::from_slice(&bytes[at..at + 16]).expect("sixteen bytes");
        let number =
            |at: usize| i64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Ok(Self {
            workspace: WorkspaceId(uuid(2)),
            feed: bytes[1],
            store: uuid(18),
            after: number(34),
            upper: number(42),
        })
    }
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
    use crate::domain::time::Micros;

    fn cursor() -> Cursor {
        Cursor {
            workspace: WorkspaceId::new(Micros(1)),
            feed: 2,
            store: Uuid::nil(),
            after: 5,
            upper: 9,
        }
    }

    #[test]
    fn a_cursor_reads_back() {
        let cursor = cursor();
        assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
    }

    #[test]
    fn any_damage_is_refused() {
        let text = cursor().encode();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(bytes).expect("ascii");
            assert_eq!(Cursor::decode(&damaged), Err(BrokenCursor), "{at}");
        }
        for wrong in ["", "null", "💥", &text[1..], &"A".repeat(4096)] {
            assert_eq!(Cursor::decode(wrong), Err(BrokenCursor));
        }
    }
}
