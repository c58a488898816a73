//! The head of a request as it comes in: what the parser behind would take
//! although it is no HTTP, and what it refuses without a word. It looks at lines
//! where they lie and copies nothing.
//!
//! A head that comes right behind another request's body, in the same packet,
//! is not looked at: nobody who waits for answers sends it so.

/// A line that ends with a line feed alone: two readers may not agree on where
/// such a head ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareLineFeed;

#[derive(Debug, Default)]
pub struct Head {
    /// Bytes of the line that has not ended yet.
    carried: usize,
    last: u8,
    /// A line was there: an empty one ends the head.
    begun: bool,
    over: bool,
    /// It names a transfer coding that is not served.
    odd_coding: bool,
}

impl Head {
    /// Looks at what came. Behind the end of the head it looks at nothing.
    pub fn look(&mut self, bytes: &[u8]) -> Result<(), BareLineFeed> {
        let mut rest = bytes;
        while !self.over
            && let Some(at) = rest.iter().position(|byte| *byte == b'\n')
        {
            let before = at.checked_sub(1).map_or(self.last, |before| rest[before]);
            if before != b'\r' {
                return Err(BareLineFeed);
            }
            let length = self.carried + at - 1;
            if length > 0 {
                self.begun = true;
                // One that came in pieces is left to the parser.
                if self.carried == 0 {
                    self.odd_coding |= names_odd_coding(&rest[..length]);
                }
            } else if self.begun {
                self.over = true;
            }
            self.carried = 0;
            self.last = b'\n';
            rest = &rest[at + 1..];
        }
        if let Some(last) = rest.last() {
            self.last = *last;
            self.carried += rest.len();
        }
        Ok(())
    }

    pub fn has_odd_coding(&self) -> bool {
        self.odd_coding
    }
}

fn names_odd_coding(line: &[u8]) -> bool {
    const NAME: &[u8] = b"transfer-encoding:";
    line.get(..NAME.len())
        .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
        && is_odd_coding(&line[NAME.len()..])
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
            assert!(head.over && !head.has_odd_coding(), "{cut}");
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
                assert_eq!(looked, Err(BareLineFeed), "{text:?} cut at {cut}");
            }
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
            let text = format!("POST / HTTP/1.1\r\ntransfer-ENCODING:{value}\r\n\r\n");
            let mut head = Head::default();
            assert_eq!(head.look(text.as_bytes()), Ok(()));
            assert_eq!(head.has_odd_coding(), odd, "{value:?}");
        }
    }
}
