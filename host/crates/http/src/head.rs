//! Scans the heads of requests as they arrive, for two things: what hyper's parser accepts
//! although it is not HTTP, and what it refuses without an explanation. Lines are scanned in
//! place.
//!
//! Bodies are skipped, chunked ones too, so that the heads after them are scanned, even in the
//! same packet. If the length of a body cannot be determined here, the next head begins where
//! [`Head::may_begin`] says so.

/// A line that ends with a bare line feed. Two readers may not agree on where such a head, or
/// such a chunked body, ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareLineFeed {
    /// The number of scanned bytes before it: bytes of other requests, or, if it is in a body, also
    /// of its own.
    pub before: usize,
    pub in_body: bool,
}

#[derive(Debug)]
pub struct Head {
    at: At,
    /// The line that has not ended yet, as much of it as matters.
    held: Vec<u8>,
    /// The bytes of that line so far.
    carried: usize,
    last: u8,
    /// The head has a line: the next empty one ends it.
    begun: bool,
    body: BodyLength,
    /// The head names a transfer coding that is not supported.
    odd_coding: bool,
}

/// The part of a request that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Head,
    /// This many more bytes.
    Body(u64),
    /// The line with the length of the next chunk.
    Size,
    /// This many more bytes, including the end of their line.
    Chunk(u64),
    /// The lines after the last chunk, up to an empty one.
    Trailer,
    /// The end of the body cannot be determined here.
    Somewhere,
}

/// The body's length, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyLength {
    Nothing,
    Said(u64),
    Chunks,
    Unknown,
}

/// The bytes that are kept of a line that arrives in pieces. The fields that matter here are
/// shorter.
const HELD: usize = 128;

impl Default for Head {
    fn default() -> Self {
        Self {
            at: At::Head,
            held: Vec::new(),
            carried: 0,
            last: 0,
            begun: false,
            body: BodyLength::Nothing,
            odd_coding: false,
        }
    }
}

impl Head {
    pub fn look(&mut self, bytes: &[u8]) -> Result<(), BareLineFeed> {
        let mut rest = bytes;
        // The beginning of the current head.
        let mut before = 0;
        loop {
            match self.at {
                At::Somewhere => return Ok(()),
                At::Body(left) | At::Chunk(left) => {
                    let here = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    rest = &rest[here..];
                    let left = left - here as u64;
                    let in_chunks = matches!(self.at, At::Chunk(_));
                    match (in_chunks, left) {
                        (true, 0) => self.at = At::Size,
                        (true, left) => self.at = At::Chunk(left),
                        (false, 0) => {
                            *self = Self::default();
                            before = bytes.len() - rest.len();
                        }
                        (false, left) => self.at = At::Body(left),
                    }
                    if left > 0 {
                        return Ok(());
                    }
                }
                At::Head | At::Size | At::Trailer => {
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        self.carry(rest);
                        return Ok(());
                    };
                    let last = end.checked_sub(1).map_or(self.last, |last| rest[last]);
                    if last != b'\r' {
                        let in_body = self.at != At::Head;
                        if in_body {
                            before = bytes.len() - rest.len();
                        }
                        return Err(BareLineFeed { before, in_body });
                    }
                    self.line(&rest[..=end]);
                    rest = &rest[end + 1..];
                }
            }
        }
    }

    fn carry(&mut self, piece: &[u8]) {
        if let Some(last) = piece.last() {
            self.last = *last;
            self.carried += piece.len();
            let room = HELD.saturating_sub(self.held.len());
            self.held.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    fn line(&mut self, piece: &[u8]) {
        if self.carried == 0 {
            let line = &piece[..piece.len() - 2];
            // Cut the line to the length that a scan in pieces holds, so that both scans decide
            // alike.
            match line.get(..HELD) {
                Some(begin) if line.len() > HELD => self.long_line(begin),
                _ => self.whole_line(line),
            }
        } else {
            self.carry(piece);
            let length = self.carried - 2;
            let mut held = std::mem::take(&mut self.held);
            held.truncate(length);
            if held.len() == length {
                self.whole_line(&held);
            } else {
                self.long_line(&held);
            }
        }
        self.carried = 0;
        self.last = b'\n';
    }

    fn whole_line(&mut self, line: &[u8]) {
        match self.at {
            At::Size => self.at = after_size(line),
            At::Trailer if line.is_empty() => self.at = At::Body(0),
            At::Head if !line.is_empty() => {
                self.field(line);
                self.begun = true;
            }
            At::Head if self.begun => {
                self.at = match self.body {
                    BodyLength::Nothing => At::Body(0),
                    BodyLength::Said(bytes) => At::Body(bytes),
                    BodyLength::Chunks => At::Size,
                    BodyLength::Unknown => At::Somewhere,
                };
            }
            _ => {}
        }
    }

    fn long_line(&mut self, begin: &[u8]) {
        match self.at {
            At::Size => self.at = At::Somewhere,
            At::Head => {
                let coding = value_of(begin, CODING);
                self.odd_coding |= coding.is_some_and(is_odd_coding);
                if coding.is_some() || value_of(begin, LENGTH).is_some() {
                    self.body = BodyLength::Unknown;
                }
                self.begun = true;
            }
            _ => {}
        }
    }

    fn field(&mut self, line: &[u8]) {
        if let Some(value) = value_of(line, CODING) {
            let odd = is_odd_coding(value);
            self.odd_coding |= odd;
            self.body = match self.body {
                BodyLength::Nothing if !odd => BodyLength::Chunks,
                _ => BodyLength::Unknown,
            };
        } else if let Some(value) = value_of(line, LENGTH) {
            let text = std::str::from_utf8(value.trim_ascii()).ok();
            let bytes = text.and_then(|text| text.parse().ok());
            self.body = match (self.body, bytes) {
                (BodyLength::Nothing, Some(bytes)) => BodyLength::Said(bytes),
                _ => BodyLength::Unknown,
            };
        }
    }

    /// Marks the end of the previous request: the next bytes are a head.
    pub fn may_begin(&mut self) {
        if self.at == At::Somewhere {
            *self = Self::default();
        }
    }

    pub fn has_odd_coding(&self) -> bool {
        self.odd_coding
    }
}

const CODING: &[u8] = b"transfer-encoding:";
const LENGTH: &[u8] = b"content-length:";

fn after_size(line: &[u8]) -> At {
    let number = line.split(|byte| *byte == b';').next().unwrap_or(line);
    let number = std::str::from_utf8(number.trim_ascii()).ok();
    let bytes = number.and_then(|number| u64::from_str_radix(number, 16).ok());
    match bytes {
        Some(0) => At::Trailer,
        // Including the end of its line.
        Some(bytes) => bytes.checked_add(2).map_or(At::Somewhere, At::Chunk),
        None => At::Somewhere,
    }
}

fn value_of<'line>(line: &'line [u8], name: &[u8]) -> Option<&'line [u8]> {
    let (there, value) = line.split_at_checked(name.len())?;
    there.eq_ignore_ascii_case(name).then_some(value)
}

/// Returns whether a value of `Transfer-Encoding` is anything but a single `chunked`.
pub fn is_odd_coding(value: &[u8]) -> bool {
    !value.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_head(before: usize) -> BareLineFeed {
        BareLineFeed {
            before,
            in_body: false,
        }
    }

    const GOOD: &str = "\r\nPOST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1\n2\n3";

    #[test]
    fn a_head_is_scanned_to_its_end_in_any_pieces() {
        for cut in 0..GOOD.len() {
            let (first, second) = GOOD.as_bytes().split_at(cut);
            let mut head = Head::default();
            assert_eq!(head.look(first), Ok(()), "{cut}");
            assert_eq!(head.look(second), Ok(()), "{cut}");
            assert!(head.at == At::Head && !head.begun, "{cut}");
        }
    }

    #[test]
    fn a_bare_line_feed_is_found_anywhere() {
        for text in [
            "\nGET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
        ] {
            for cut in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut head = Head::default();
                let looked = head.look(first).and_then(|()| head.look(second));
                let found = Err(in_head(0));
                assert_eq!(looked, found, "{text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_head_after_another_request_is_scanned_too() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\na\n\nb";
        let bad = "GET / HTTP/1.1\nHost: a\r\n\r\n";
        for first in [
            get.to_owned(),
            post.to_owned(),
            format!("{get}{post}{post}"),
        ] {
            let text = format!("{first}{bad}");
            let before = first.len();
            let looked = Head::default().look(text.as_bytes());
            assert_eq!(looked, Err(in_head(before)), "{text:?}");
            let (there, rest) = text.as_bytes().split_at(before + 3);
            let mut head = Head::default();
            assert_eq!(head.look(there), Ok(()), "{text:?}");
            let looked = head.look(rest);
            assert_eq!(looked, Err(in_head(0)), "{text:?}");
        }
    }

    #[test]
    fn a_chunked_body_is_skipped_in_any_pieces() {
        let long = "x".repeat(2 * HELD);
        let text = format!(
            "POST / HTTP/1.1\r\nLong: {long}\r\nTransfer-Encoding: chunked\r\n\r\n\
             4;a=b\r\na\n\nb\r\n0\r\nSum: {long}\r\n\r\nGET / HTTP/1.1\n"
        );
        for cut in 0..text.len() - 1 {
            let (first, second) = text.as_bytes().split_at(cut);
            let mut head = Head::default();
            assert_eq!(head.look(first), Ok(()), "{cut}");
            assert!(head.look(second).is_err(), "{cut}");
        }
        // One byte at a time.
        let mut head = Head::default();
        let mut looks = text.bytes().map(|byte| head.look(&[byte]));
        assert_eq!(
            looks.position(|looked| looked.is_err()),
            Some(text.len() - 1)
        );
    }

    #[test]
    fn a_bare_line_feed_in_chunk_lines_is_found() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (body, sound) in [("1\na\r\n", 0), ("0\r\nT: v\n\r\n", 3), ("0\r\n\n", 3)] {
            let found = |before| {
                Err(BareLineFeed {
                    before,
                    in_body: true,
                })
            };
            let mut looks = Head::default();
            assert_eq!(looks.look(head.as_bytes()), Ok(()));
            let looked = looks.look(body.as_bytes());
            assert_eq!(looked, found(sound), "{body:?}");
            let looked = Head::default().look(format!("{head}{body}").as_bytes());
            assert_eq!(looked, found(head.len() + sound), "{body:?}");
        }
    }

    #[test]
    fn after_a_body_of_unknown_length_a_head_begins_when_announced() {
        for lengths in [
            "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: one\r\n",
        ] {
            let text = format!("POST / HTTP/1.1\r\n{lengths}\r\n1\na\n");
            let mut head = Head::default();
            assert_eq!(head.look(text.as_bytes()), Ok(()), "{lengths}");
            head.may_begin();
            let looked = head.look(b"GET / HTTP/1.1\n");
            assert_eq!(looked, Err(in_head(0)), "{lengths}");
        }
    }

    #[test]
    fn a_long_line_is_scanned_alike_whole_and_in_pieces() {
        let spaces = " ".repeat(HELD);
        for (field, odd) in [
            (format!("Transfer-Encoding: gzip,{spaces}chunked"), true),
            (format!("Transfer-Encoding: chunked{spaces}"), false),
            (format!("Content-Length: 1{spaces}"), false),
        ] {
            let text = format!("POST / HTTP/1.1\r\n{field}\r\n\r\n");
            for cut in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut head = Head::default();
                let looked = head.look(first).and_then(|()| head.look(second));
                assert_eq!(looked, Ok(()), "{field} cut at {cut}");
                assert_eq!(head.at, At::Somewhere, "{field} cut at {cut}");
                assert_eq!(head.has_odd_coding(), odd, "{field} cut at {cut}");
            }
        }
    }

    #[test]
    fn an_unsupported_transfer_coding_is_found() {
        for (value, odd) in [
            ("chunked", false),
            (" Chunked ", false),
            ("gzip", true),
            ("gzip, chunked", true),
            ("chunked, chunked", true),
            ("", true),
        ] {
            let text = format!("POST / HTTP/1.1\r\ntransfer-ENCODING:{value}\r\n");
            let mut head = Head::default();
            assert_eq!(head.look(text.as_bytes()), Ok(()));
            assert_eq!(head.has_odd_coding(), odd, "{value:?}");
        }
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{cuts, damaged, holds, pieces};

    use super::*;

    const WORDS: [&str; 12] = [
        "\n",
        "\r\n",
        "\r\n\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding: gzip\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "0\r\n\r\n",
        "ffffffffffffffff\r\n",
        ";a=b",
        // Longer than what is kept of a line.
        "                                                                                                                                            ",
        ":",
    ];

    fn verdict(parts: &[&[u8]]) -> (Option<BareLineFeed>, Head) {
        let mut head = Head::default();
        let mut seen = 0;
        for part in parts {
            if let Err(mut found) = head.look(part) {
                found.before += seen;
                return (Some(found), head);
            }
            seen += part.len();
        }
        (None, head)
    }

    #[test]
    fn fuzz_heads_and_bodies_in_any_pieces_have_one_verdict() {
        let seeds = [
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n1\n2\n3GET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\na\n\nb\r\n0\r\nSum: 1\r\n\r\nGET / HTTP/1.1\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\na",
        ];
        let inputs = (damaged(seeds, &WORDS), cuts());
        holds(6_000, inputs, |(bytes, cuts)| {
            let (whole, known) = verdict(&[&bytes.0]);
            let parts = pieces(bytes, cuts);
            let (found, after) = verdict(&parts);
            match (whole, found) {
                (Some(whole), Some(found)) => {
                    assert_eq!(found.in_body, whole.in_body);
                    // A scan in pieces counts at least as many bytes before the fault as a scan
                    // of the whole.
                    assert!(found.before >= whole.before, "{found:?} {whole:?}");
                }
                (None, None) => {
                    assert_eq!((after.at, after.body), (known.at, known.body));
                    assert_eq!(after.begun, known.begun);
                    assert_eq!(after.odd_coding, known.odd_coding);
                    assert!(after.held.len() <= HELD);
                }
                (whole, found) => panic!("whole: {whole:?}; in pieces: {found:?}"),
            }
        });
    }
}
