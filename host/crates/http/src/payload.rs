//! The body of an answer: bytes as a whole, or pieces that are made as the client reads them,
//! so that a large answer is in memory once.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

use super::budget::{BudgetShare, Short};

#[derive(Default)]
pub struct Payload {
    content: PayloadContent,
    /// The room that it takes until it is sent.
    _share: Option<BudgetShare>,
}

#[derive(Default)]
enum PayloadContent {
    #[default]
    Nothing,
    Whole(Bytes),
    Pieces {
        left: usize,
        pieces: Box<dyn Iterator<Item = Bytes> + Send>,
    },
    /// Ends when its sender does.
    Live(mpsc::Receiver<Bytes>),
}

impl Payload {
    /// Returns a payload that is sent in one piece. It may be empty.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self {
            content: if bytes.is_empty() {
                PayloadContent::Nothing
            } else {
                PayloadContent::Whole(bytes)
            },
            _share: None,
        }
    }

    /// `bytes` is the length of all pieces together.
    pub fn pieces(bytes: usize, pieces: impl Iterator<Item = Bytes> + Send + 'static) -> Self {
        Self {
            content: PayloadContent::Pieces {
                left: bytes,
                pieces: Box::new(pieces),
            },
            _share: None,
        }
    }

    /// Returns a payload of unknown length, which ends when the sender is dropped.
    pub fn live(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self {
            content: PayloadContent::Live(pieces),
            _share: None,
        }
    }

    /// Returns the number of bytes that have not been sent, as far as they exist yet.
    pub fn bytes(&self) -> usize {
        match &self.content {
            PayloadContent::Nothing | PayloadContent::Live(_) => 0,
            PayloadContent::Whole(bytes) => bytes.len(),
            PayloadContent::Pieces { left, .. } => *left,
        }
    }

    /// Takes room for it until it is sent.
    pub fn keep(self, mut share: BudgetShare) -> Result<Self, Short> {
        match self.content {
            // The connection takes all of it at once, and holds it until it is sent.
            PayloadContent::Whole(bytes) => Ok(Self::whole(share.keep(bytes)?)),
            content => {
                let kept = Self {
                    content,
                    _share: None,
                };
                share.take_for_answer(kept.bytes())?;
                Ok(Self {
                    _share: Some(share),
                    ..kept
                })
            }
        }
    }
}

impl Iterator for Payload {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        match std::mem::take(&mut self.content) {
            PayloadContent::Nothing => None,
            PayloadContent::Whole(bytes) => Some(bytes),
            PayloadContent::Pieces { left, mut pieces } => {
                let piece = pieces.next()?;
                debug_assert!(piece.len() <= left);
                let left = left.saturating_sub(piece.len());
                if left > 0 {
                    self.content = PayloadContent::Pieces { left, pieces };
                }
                Some(piece)
            }
            PayloadContent::Live(mut pieces) => {
                let piece = pieces.try_recv().ok()?;
                self.content = PayloadContent::Live(pieces);
                Some(piece)
            }
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let PayloadContent::Live(pieces) = &mut self.content {
            return pieces
                .poll_recv(cx)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece))));
        }
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, PayloadContent::Nothing)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            PayloadContent::Live(_) => SizeHint::default(),
            _ => SizeHint::with_exact(self.bytes() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_order_and_their_length_is_known_in_advance() {
        let pieces = ["one", "two", "three"].map(Bytes::from);
        let mut payload = Payload::pieces(11, pieces.into_iter());
        assert_eq!((payload.bytes(), payload.is_end_stream()), (11, false));
        assert_eq!(payload.next().as_deref(), Some(&b"one"[..]));
        assert_eq!(payload.bytes(), 8);
        let rest: Vec<u8> = payload.by_ref().flatten().collect();
        assert_eq!(rest, b"twothree");
        assert_eq!((payload.bytes(), payload.is_end_stream()), (0, true));
    }

    #[test]
    fn an_empty_payload_ends_at_once() {
        assert!(Payload::whole(Bytes::new()).is_end_stream());
        assert!(Payload::default().is_end_stream());
        assert_eq!(Payload::whole("a").flatten().collect::<Vec<u8>>(), b"a");
    }
}
