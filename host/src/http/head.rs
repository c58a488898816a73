//! The heads of requests as they come in: what the parser behind would take although
//! it is no HTTP, and what it refuses without a word. It looks at lines where they lie
//! and copies nothing.
//!
//! Bodies whose length a head says are passed over, so that heads behind them are
//! looked at too, also in the same packet. Behind a body in chunks the next head
//! begins where [`Head::may_begin`] says so.

/// A line that ends with a line feed alone: two readers may not agree on where
/// such a head ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareLineFeed {
    /// Of the bytes looked at, so many are of requests before.
    pub before: usize,
}

#[derive(Debug)]
pub struct Head {
    at: At,
    /// Bytes of the line that has not ended yet.
    carried: usize,
    last: u8,
    /// A line was there: an empty one ends the head.
    begun: bool,
    body: Length,
    /// It names a transfer coding that is not served.
    odd_coding: bool,
}

/// Where the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Head,
    /// So many bytes more.
    Body(u64),
    /// Nobody knows here where the body ends.
    Somewhere,
}

/// What is known of the body's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Nothing,
    Said(u64),
    Unknown,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            at: At::Head,
            carried: 0,
            last: 0,
            begun: false,
            body: Length::Nothing,
            odd_coding: false,
        }
    }
}

impl Head {
    /// Looks at what came.
    pub fn look(&mut self, bytes: &[u8]) -> Result<(), BareLineFeed> {
        let mut rest = bytes;
        // Where the present head begins.
        let mut before = 0;
        loop {
            match self.at {
                At::Somewhere => return Ok(()),
                At::Body(left) => {
                    let here = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    rest = &rest[here..];
                    let left = left - here as u64;
                    if left > 0 {
                        self.at = At::Body(left);
                        return Ok(());
                    }
                    *self = Self::default();
                    before = bytes.len() - rest.len();
                }
                At::Head => {
                    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                        if let Some(last) = rest.last() {
                            self.last = *last;
                            self.carried += rest.len();
                        }
                        return Ok(());
                    };
                    let last = end.checked_sub(1).map_or(self.last, |last| rest[last]);
                    if last != b'\r' {
                        return Err(BareLineFeed { before });
                    }
                    self.line(rest, end);
                    rest = &rest[end + 1..];
                }
            }
        }
    }

    /// A line ends at `end`; what came of it earlier is not there any more.
    fn line(&mut self, rest: &[u8], end: usize) {
        let length = self.carried + end - 1;
        if length > 0 {
            if self.carried == 0 {
                self.field(&rest[..length]);
            } else if self.begun {
                // One that came in pieces is left to the parser.
                self.body = Length::Unknown;
            }
            self.begun = true;
        } else if self.begun {
            self.at = match self.body {
                Length::Nothing => At::Body(0),
                Length::Said(bytes) => At::Body(bytes),
                Length::Unknown => At::Somewhere,
            };
        }
        self.carried = 0;
        self.last = b'\n';
    }

    fn field(&mut self, line: &[u8]) {
        if let Some(value) = value_of(line, b"transfer-encoding:") {
            self.odd_coding |= is_odd_coding(value);
            self.body = Length::Unknown;
        } else if let Some(value) = value_of(line, b"content-length:") {
            let text = std::str::from_utf8(value.trim_ascii()).ok();
            let bytes = text.and_then(|text| text.parse().ok());
            self.body = match (self.body, bytes) {
                (Length::Nothing, Some(bytes)) => Length::Said(bytes),
                _ => Length::Unknown,
            };
        }
    }

    /// The request before has ended: what comes is a head.
    pub fn may_begin(&mut self) {
        if self.at == At::Somewhere {
            *self = Self::default();
        }
    }

    pub fn has_odd_coding(&self) -> bool {
        self.odd_coding
    }
}

fn value_of<'line>(line: &'line [u8], name: &[u8]) -> Option<&'line [u8]> {
    let (there, value) = line.split_at_checked(name.len())?;
    there.eq_ignore_ascii_case(name).then_some(value)
}

/// Whether a value of `Transfer-Encoding` names anything but `chunked`, once.
pub fn is_odd_coding(value: &[u8]) -> bool {
    !value.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "\r\nPOST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\n2\n";

    #[test]
    fn a_head_is_looked_at_to_its_end_in_whatever_pieces_it_comes() {
        for cut in 0..GOOD.len() {
            let (first, second) = GOOD.as_bytes().split_at(cut);
            let mut head = Head::default();
            assert_eq!(head.look(first), Ok(()), "{cut}");
            assert_eq!(head.look(second), Ok(()), "{cut}");
            assert!(head.at == At::Somewhere && !head.has_odd_coding(), "{cut}");
        }
    }

    #[test]
    fn a_line_feed_alone_is_found_wherever_it_stands() {
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
                let found = Err(BareLineFeed { before: 0 });
                assert_eq!(looked, found, "{text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_head_behind_another_request_is_looked_at_too() {
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
            assert_eq!(looked, Err(BareLineFeed { before }), "{text:?}");
            let (there, rest) = text.as_bytes().split_at(before + 3);
            let mut head = Head::default();
            assert_eq!(head.look(there), Ok(()), "{text:?}");
            let looked = head.look(rest);
            assert_eq!(looked, Err(BareLineFeed { before: 0 }), "{text:?}");
        }
    }

    #[test]
    fn behind_a_body_of_unknown_length_a_head_begins_when_it_may() {
        for lengths in [
            "Transfer-Encoding: chunked\r\n",
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: one\r\n",
        ] {
            let text = format!("POST / HTTP/1.1\r\n{lengths}\r\n1\na\n");
            let mut head = Head::default();
            assert_eq!(head.look(text.as_bytes()), Ok(()), "{lengths}");
            head.may_begin();
            let looked = head.look(b"GET / HTTP/1.1\n");
            assert_eq!(looked, Err(BareLineFeed { before: 0 }), "{lengths}");
        }
    }

    #[test]
    fn a_coding_that_is_not_served_is_seen() {
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
