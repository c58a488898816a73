//! Texts without the escapes in which senders write them: escapes of JSON and of programs (`\u0040`, `\x40`,
//! `\100`, `\/`), of forms and addresses (`%40`, `%u0040`), and of XML and HTML (`&#64;`, `&eacute;`). A form in JSON
//! in a form has several layers, so all are removed until none is left, in one pass: what a removed escape
//! completes is looked at again, and each one that is removed makes the text shorter.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr3;

/// Bytes of the longest reference, such as `&#x1F600;` and `&thetasym;`.
const REFERENCE_BYTES: usize = 12;

/// A text without its escapes, and where each of its bytes is written.
pub struct Decoded {
    pub text: Vec<u8>,
    /// Where the escape of each byte begins, or the byte itself. Texts are much shorter than 4 GiB.
    starts: Vec<u32>,
    /// The length of the text as it is written.
    written: usize,
}

/// Returns whether a text may have escapes.
pub fn may_be_in(text: &[u8]) -> bool {
    memchr3(b'\\', b'%', b'&', text).is_some()
}

impl Decoded {
    pub fn new(written: &[u8]) -> Self {
        let mut decoded = Self {
            text: Vec::with_capacity(written.len()),
            starts: Vec::with_capacity(written.len()),
            written: written.len(),
        };
        for (at, byte) in written.iter().enumerate() {
            decoded.push(&[*byte], at);
            while let Some((length, meant)) = escape_at_end(&decoded.text) {
                let begin = decoded.text.len() - length;
                let at = decoded.starts[begin] as usize;
                decoded.text.truncate(begin);
                decoded.starts.truncate(begin);
                match meant {
                    Meant::Byte(byte) => decoded.push(&[byte], at),
                    Meant::Character(one) => {
                        decoded.push(one.encode_utf8(&mut [0; 4]).as_bytes(), at);
                    }
                }
            }
        }
        decoded
    }

    fn push(&mut self, bytes: &[u8], at: usize) {
        self.text.extend_from_slice(bytes);
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.starts.extend(bytes.iter().map(|_| at));
    }

    /// Returns where a part of the text is written.
    pub fn written(&self, part: Range<usize>) -> Range<usize> {
        let at = |place: usize| {
            let start = self.starts.get(place);
            start.map_or(self.written, |start| *start as usize)
        };
        at(part.start)..at(part.end)
    }

    /// Returns the characters, each with where it is written. Bytes that are not UTF-8 are U+FFFD.
    pub fn characters(&self) -> impl Iterator<Item = (char, Range<usize>)> {
        let chunks = self.text.utf8_chunks().flat_map(|chunk| {
            let valid = chunk.valid().chars().map(|one| (one, one.len_utf8()));
            let invalid = Some(chunk.invalid().len()).filter(|bytes| *bytes > 0);
            valid.chain(invalid.map(|bytes| (char::REPLACEMENT_CHARACTER, bytes)))
        });
        let mut at = 0;
        chunks.map(move |(one, bytes)| {
            at += bytes;
            (one, self.written(at - bytes..at))
        })
    }
}

enum Meant {
    Character(char),
    /// A part of a character.
    Byte(u8),
}

/// Returns the length of the escape that the last byte completes, if there is one, and what it means.
fn escape_at_end(text: &[u8]) -> Option<(usize, Meant)> {
    let byte = |(length, byte)| (length, Meant::Byte(byte));
    match *text.last()? {
        b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => hex(text)
            .or_else(|| octal(text).map(byte))
            .or_else(|| control(text).map(byte)),
        b'}' => braced(text),
        b';' => reference(text),
        _ => control(text).map(byte),
    }
}

/// `\n`, `\"`, `\\`.
fn control(text: &[u8]) -> Option<(usize, u8)> {
    let (before, [b'\\', last]) = text.split_last_chunk()? else {
        return None;
    };
    let meant = match last {
        b'\\' | b'"' | b'\'' | b'/' => *last,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        _ => return None,
    };
    Some((text.len() - before.len(), meant))
}

fn octal(text: &[u8]) -> Option<(usize, u8)> {
    let (_, [b'\\', digits @ ..]) = text.split_last_chunk::<4>()? else {
        return None;
    };
    Some((4, u8::try_from(number(digits, 8)?).ok()?))
}

/// `%40`, `\x40`, `\u0040`, `%u0040`, `\U00000040`.
fn hex(text: &[u8]) -> Option<(usize, Meant)> {
    if let Some((before, digits)) = text.split_last_chunk::<2>()
        && let Some(number) = number(digits, 16).and_then(|number| u8::try_from(number).ok())
        && let Some(head) = [&b"%"[..], b"\\x"]
            .iter()
            .find(|head| before.ends_with(head))
    {
        return Some((head.len() + 2, Meant::Byte(number)));
    }
    if let Some((before, digits)) = text.split_last_chunk::<4>()
        && (before.ends_with(b"\\u") || before.ends_with(b"%u"))
    {
        let unit = number(digits, 16)?;
        return match unit {
            // The first half of a pair stays until its other half follows.
            0xdc00..=0xdfff => {
                let (_, first) = before[..before.len() - 2].split_last_chunk::<6>()?;
                let is_escape = first.starts_with(b"\\u") || first.starts_with(b"%u");
                let first = number(&first[2..], 16).filter(|_| is_escape)?;
                let high = first.checked_sub(0xd800).filter(|high| *high < 0x400)?;
                let whole = 0x1_0000 + (high << 10) + (unit - 0xdc00);
                Some((12, Meant::Character(char::from_u32(whole)?)))
            }
            unit => Some((6, Meant::Character(char::from_u32(unit)?))),
        };
    }
    let (before, digits) = text.split_last_chunk::<8>()?;
    let is_escape = before.ends_with(b"\\U");
    let one = is_escape.then(|| number(digits, 16)).flatten()?;
    Some((10, Meant::Character(char::from_u32(one)?)))
}

/// `\u{1F600}`.
fn braced(text: &[u8]) -> Option<(usize, Meant)> {
    let tail = &text[text.len().saturating_sub(REFERENCE_BYTES)..];
    let begin = tail.windows(3).rposition(|three| three == b"\\u{")?;
    let one = number(&tail[begin + 3..tail.len() - 1], 16)?;
    Some((tail.len() - begin, Meant::Character(char::from_u32(one)?)))
}

/// `&#64;`, `&#x40;`, `&amp;`.
fn reference(text: &[u8]) -> Option<(usize, Meant)> {
    let tail = &text[text.len().saturating_sub(REFERENCE_BYTES)..text.len() - 1];
    let begin = tail.iter().rposition(|byte| *byte == b'&')?;
    let one = match &tail[begin + 1..] {
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        name => *NAMED.get(std::str::from_utf8(name).ok()?)?,
    };
    Some((tail.len() - begin + 1, Meant::Character(one)))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    // It would also read a sign.
    let is_number = digits.bytes().all(|digit| digit.is_ascii_alphanumeric());
    u32::from_str_radix(digits, radix)
        .ok()
        .filter(|_| is_number)
}

/// The references of XML and HTML by their names: the characters from U+00A0 on, and others.
static NAMED: LazyLock<HashMap<&'static str, char>> = LazyLock::new(|| {
    const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 \
        acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig \
        Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash \
        Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc \
        euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml \
        yacute thorn yuml";
    const OTHERS: &str = "amp & lt < gt > quot \" apos ' commat @ period . plus + hyphen - dash - lowbar _ sol / bsol \\ colon : \
        num # percnt % equals = lpar ( rpar ) excl ! quest ? comma , semi ; dollar $ ast * ndash – mdash —";
    let latin = LATIN.split_whitespace().zip('\u{a0}'..);
    let mut others = OTHERS.split_whitespace();
    let pairs = std::iter::from_fn(|| Some((others.next()?, others.next()?.chars().next()?)));
    latin.chain(pairs).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(written: &str) -> String {
        String::from_utf8_lossy(&Decoded::new(written.as_bytes()).text).into_owned()
    }

    #[test]
    fn every_escape_is_read_however_many_layers_there_are() {
        for written in [
            "a@é/1",
            r"a\u0040\u00e9\/1",
            r"a\x40\xc3\xa9\/\x31",
            r"a\100\303\251/\061",
            r"\u{61}\U00000040\u{E9}/1",
            "a%40%C3%A9%2f1",
            "%u0061%u0040%u00e9/1",
            "a&#64;&eacute;&#x2F;&#49;",
            "&#97;&commat;&#233;&sol;1",
            // A form in a form, JSON in JSON, a form in JSON, XML in a form.
            "a%2540%25C3%25A9%252f%2531",
            r"a\\u0040\\u00e9\\\/1",
            r"a\u002540%C3\u0025A9/1",
            "a%26%2364%3B%26eacute%3B/1",
            "a&amp;#64;&amp;amp;eacute;/1",
        ] {
            assert_eq!(decoded(written), "a@é/1", "{written}");
        }
        assert_eq!(
            decoded(r"\ud83d\ude00 \ud83d %zz \u00g0 &none; \q % &"),
            r"😀 \ud83d %zz \u00g0 &none; \q % &"
        );
        assert_eq!(decoded("100%+5, \\"), "100%+5, \\");
    }

    #[test]
    fn a_part_is_written_where_its_escapes_are() {
        let written = r"x=\u00e9%2540!";
        let decoded = Decoded::new(written.as_bytes());
        assert_eq!(decoded.text, "x=é@!".as_bytes());
        let part = |part: Range<usize>| &written[decoded.written(part)];
        assert_eq!(
            [part(2..4), part(4..5), part(5..6)],
            [r"\u00e9", "%2540", "!"]
        );
        let characters: Vec<_> = decoded
            .characters()
            .map(|(one, at)| (one, &written[at]))
            .collect();
        assert_eq!(characters[2..4], [('é', r"\u00e9"), ('@', "%2540")]);
        let odd = Decoded::new(b"%ff%41");
        let odd: Vec<_> = odd.characters().collect();
        assert_eq!(odd, [('\u{fffd}', 0..3), ('A', 3..6)]);
    }

    #[test]
    fn the_work_grows_with_the_text_and_not_faster() {
        for piece in [
            "%25", r"\\", "&amp;", r"\u005c", "%2525", "&amp", r"\u{", "%u", "41",
        ] {
            let repeated = |bytes: usize| piece.repeat(bytes / piece.len());
            leadhost_fuzz::grows_linearly(repeated, |text| drop(Decoded::new(text.as_bytes())));
        }
    }
}
