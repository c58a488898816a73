//! A list in an answer, a piece at a time as the client reads it. Each item is turned into
//! bytes in its piece, and dropped there.

use crate::prelude::*;

pub struct StreamedList<T> {
    bytes: usize,
    begin: &'static [u8],
    between: u8,
    items: std::vec::IntoIter<T>,
    write: fn(&T, &mut Vec<u8>),
    /// Empty once it is sent.
    end: Vec<u8>,
}

/// The bytes around the items and between them. The end is not empty.
pub struct ListFrame {
    pub begin: &'static [u8],
    pub between: u8,
    pub end: Vec<u8>,
}

impl<T: Send + 'static> StreamedList<T> {
    /// `length` returns how many bytes `write` adds for an item.
    pub fn new(
        frame: ListFrame,
        items: Vec<T>,
        length: fn(&T) -> usize,
        write: fn(&T, &mut Vec<u8>),
    ) -> Self {
        let ListFrame {
            begin,
            between,
            end,
        } = frame;
        let of_items: usize = items.iter().map(length).sum();
        Self {
            bytes: begin.len() + of_items + items.len().saturating_sub(1) + end.len(),
            begin,
            between,
            items: items.into_iter(),
            write,
            end,
        }
    }

    /// Returns the list as the body of an answer. Its length in bytes is known in advance.
    pub fn into_payload(self) -> Payload {
        Payload::pieces(self.bytes, self)
    }
}

impl<T> Iterator for StreamedList<T> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.end.is_empty() {
            return None;
        }
        let mut piece = std::mem::take(&mut self.begin).to_vec();
        while piece.len() < limits::PIECE_BYTES {
            let Some(item) = self.items.next() else {
                piece.append(&mut self.end);
                break;
            };
            (self.write)(&item, &mut piece);
            if !self.items.as_slice().is_empty() {
                piece.push(self.between);
            }
        }
        Some(piece.into())
    }
}
