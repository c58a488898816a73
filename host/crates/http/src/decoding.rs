//! Decompresses bodies that their senders compressed with gzip, deflate or zstd, within the
//! bounds of bodies that arrive uncompressed.

use std::io::{self, Cursor, Read};

use flate2::{Decompress, FlushDecompress, Status};

use super::body;
use super::budget::BudgetShare;
use crate::prelude::*;
use leadhost_domain::content_coding::ContentCoding;
use leadhost_plugin::{CallError, give_way};

/// Returns the decompressed body and its share of the budget, which grows with it. `None`: it cannot be
/// decompressed. The work runs in the lane of the connection or of the client, as a plugin's work on a body does.
pub async fn decode(
    http: &Http,
    lane: &str,
    coding: ContentCoding,
    sent: Bytes,
    limit: usize,
    held: BudgetShare,
) -> Result<(Option<Vec<u8>>, BudgetShare), ApiError> {
    // Which plugin will read it does not matter here: the work counts for the lane.
    let nobodys = Digest::compute(&[]);
    let work = read(coding, sent, limit, held);
    match http.core.plugins.compute(lane, &nobodys, work).await {
        Ok(Ok((whole, held))) => Ok((Some(whole), held)),
        Ok(Err(Failed::Unreadable(error, held))) => {
            tracing::debug!(%error, "body cannot be decompressed");
            Ok((None, held))
        }
        Ok(Err(Failed::TooLarge)) => Err(ApiError::BodyTooLarge { limit }),
        Ok(Err(Failed::Short(short))) => Err(body::refusal(short)),
        Err(CallError::ShuttingDown) => Err(ApiError::Overloaded {
            shed: Shed::Stopping,
            what: "The service is shutting down; send this one again.",
            retry_after: Duration::from_secs(1),
        }),
        Err(_) => Err(ApiError::Overloaded {
            shed: Shed::Plugins,
            what: "Too many compressed bodies are waiting; send this one again.",
            retry_after: Duration::from_secs(1),
        }),
    }
}

enum Failed {
    Unreadable(io::Error, BudgetShare),
    TooLarge,
    Short(super::budget::Short),
}

async fn read(
    coding: ContentCoding,
    sent: Bytes,
    limit: usize,
    mut held: BudgetShare,
) -> Result<(Vec<u8>, BudgetShare), Failed> {
    let mut decoder = match decoder(coding, sent) {
        Ok(decoder) => decoder,
        Err(error) => return Err(Failed::Unreadable(error, held)),
    };
    let mut whole = Vec::new();
    let mut piece = vec![0; limits::PIECE_BYTES];
    loop {
        let length = match decoder.read(&mut piece) {
            Ok(0) => return Ok((whole, held)),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failed::Unreadable(error, held)),
        };
        if whole.len() + length > limit {
            return Err(Failed::TooLarge);
        }
        held.take(length).map_err(Failed::Short)?;
        whole.extend_from_slice(&piece[..length]);
        give_way().await;
    }
}

fn decoder(coding: ContentCoding, sent: Bytes) -> io::Result<Box<dyn Read + Send>> {
    let is_zlib = sent.len() >= 2
        && sent[0] & 0x0f == 8
        && u16::from_be_bytes([sent[0], sent[1]]).is_multiple_of(31);
    Ok(match coding {
        ContentCoding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(Cursor::new(sent))),
        // Some senders leave out the frame that the standard requires.
        ContentCoding::Deflate => Box::new(Inflate {
            sent,
            at: 0,
            inflate: Decompress::new(is_zlib),
            has_ended: false,
        }),
        ContentCoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(Cursor::new(sent))?;
            decoder.window_log_max(limits::ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    })
}

/// Decompresses deflate. The library's own reader takes a truncated stream for a complete one.
struct Inflate {
    sent: Bytes,
    at: usize,
    inflate: Decompress,
    has_ended: bool,
}

impl Read for Inflate {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if self.has_ended || piece.is_empty() {
            return Ok(0);
        }
        let (taken, made) = (self.inflate.total_in(), self.inflate.total_out());
        let rest = &self.sent[self.at..];
        let status = self
            .inflate
            .decompress(rest, piece, FlushDecompress::None)?;
        let counted = |count: u64| usize::try_from(count).map_err(io::Error::other);
        self.at += counted(self.inflate.total_in() - taken)?;
        let made = counted(self.inflate.total_out() - made)?;
        self.has_ended = status == Status::StreamEnd;
        if made == 0 && !self.has_ended {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Without a frame, nearly any bytes are a valid beginning.
        if self.has_ended && self.at < self.sent.len() {
            return Err(io::Error::other("data follows the end of the stream"));
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::budget::ByteBudget;

    fn share(bytes: usize) -> BudgetShare {
        Arc::new(ByteBudget::whole(bytes)).share([192, 0, 2, 1].into())
    }

    fn packed(coding: ContentCoding, text: &[u8]) -> Bytes {
        let level = flate2::Compression::new(4);
        let packed = match coding {
            ContentCoding::Gzip => {
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
                gzip.write_all(text).expect("it fits");
                gzip.finish()
            }
            ContentCoding::Deflate => {
                let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
                zlib.write_all(text).expect("it fits");
                zlib.finish()
            }
            ContentCoding::Zstd => zstd::stream::encode_all(text, 3),
        };
        packed.expect("it packs").into()
    }

    fn unpacked(
        coding: ContentCoding,
        sent: Bytes,
        limit: usize,
        room: usize,
    ) -> Result<(Vec<u8>, usize), Failed> {
        let mut work = pin!(read(coding, sent, limit, share(room)));
        loop {
            let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(result) = polled {
                return result.map(|(whole, held)| (whole, held.bytes()));
            }
        }
    }

    #[test]
    fn each_coding_is_decompressed_and_counts_its_full_size() {
        let text = "a lead after a lead ".repeat(20_000);
        for coding in [
            ContentCoding::Gzip,
            ContentCoding::Deflate,
            ContentCoding::Zstd,
        ] {
            let sent = packed(coding, text.as_bytes());
            assert!(sent.len() < text.len() / 10);
            let (whole, held) = unpacked(coding, sent, text.len(), text.len())
                .ok()
                .expect("it reads");
            assert!(whole == text.as_bytes(), "{coding:?}");
            assert_eq!(held, text.len(), "{coding:?}");
        }
    }

    #[test]
    fn deflate_is_read_without_its_frame_and_gzip_in_parts() {
        let level = flate2::Compression::new(4);
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), level);
        bare.write_all(b"one lead").expect("it fits");
        let bare = bare.finish().expect("it packs").into();
        let read = unpacked(ContentCoding::Deflate, bare, 100, 100)
            .ok()
            .expect("it reads");
        assert_eq!(read.0, b"one lead");
        let parts = [
            packed(ContentCoding::Gzip, b"one "),
            packed(ContentCoding::Gzip, b"lead"),
        ];
        let read = unpacked(ContentCoding::Gzip, parts.concat().into(), 100, 100)
            .ok()
            .expect("it reads");
        assert_eq!(read.0, b"one lead");
    }

    #[test]
    fn a_body_too_large_or_broken_or_without_room_is_refused() {
        let text = vec![0; 1 << 20];
        for coding in [
            ContentCoding::Gzip,
            ContentCoding::Deflate,
            ContentCoding::Zstd,
        ] {
            let sent = packed(coding, &text);
            let most = text.len();
            let large = unpacked(coding, sent.clone(), most - 1, most);
            assert!(matches!(large, Err(Failed::TooLarge)), "{coding:?}");
            let full = unpacked(coding, sent.clone(), most, most / 2);
            assert!(matches!(full, Err(Failed::Short(_))), "{coding:?}");
            let cut = sent.slice(..sent.len() - 8);
            let broken = unpacked(coding, cut, most, most);
            assert!(matches!(broken, Err(Failed::Unreadable(..))), "{coding:?}");
            let junk = unpacked(
                coding,
                Bytes::from_static(b"\x07 no block begins so"),
                100,
                100,
            );
            assert!(matches!(junk, Err(Failed::Unreadable(..))), "{coding:?}");
        }
    }

    #[test]
    fn a_window_that_would_take_much_memory_is_refused() {
        let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
        zstd.window_log(limits::ZSTD_WINDOW_LOG + 1)
            .expect("a window");
        zstd.write_all(b"one lead").expect("it fits");
        let sent = zstd.finish().expect("it packs").into();
        let read = unpacked(ContentCoding::Zstd, sent, 100, 100);
        assert!(matches!(read, Err(Failed::Unreadable(..))));
    }
}
