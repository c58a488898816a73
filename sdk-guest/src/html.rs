//! Character references of HTML, which content management systems leave in names and texts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Returns the text with the character of each reference, read once: of `&amp;lt;` it is `&lt;`. What is
/// no whole reference stays.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    add_unescaped(text, &mut out);
    Cow::Owned(out)
}

pub(crate) fn add_unescaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // No name is longer; a lone ampersand is not searched far.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

/// The characters of 0x80 to 0x9F. WHATWG reads the five that have none as control characters, which
/// are in nobody's text.
pub(crate) const WINDOWS_1252: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž',
    '\u{fffd}', '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}',
    'ž', 'Ÿ',
];

/// The names of U+00A0 to U+00FF.
const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 \
    sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml \
    Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml \
    times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave \
    eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute \
    ucirc uuml yacute thorn yuml";

/// Names of other characters, each before its character.
const OTHERS: &str = "amp & lt < gt > quot \" apos ' ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ \
    hellip … bull • euro € trade ™ OElig Œ oelig œ Scaron Š scaron š";

/// Returns the character of a reference, without its `&` and `;`.
fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        // Browsers read these numbers, which are no characters, as windows-1252.
        if let 0x80..=0x9f = code {
            return Some(WINDOWS_1252[code as usize - 0x80]);
        }
        return char::from_u32(code).filter(|character| *character != '\0');
    }
    CHARACTERS.get(name).copied()
}

static CHARACTERS: LazyLock<BTreeMap<&str, char>> = LazyLock::new(|| {
    let others = OTHERS
        .split_whitespace()
        .zip(OTHERS.split_whitespace().skip(1));
    let others = others
        .step_by(2)
        .filter_map(|(name, text)| Some((name, text.chars().next()?)));
    LATIN
        .split_whitespace()
        .zip('\u{a0}'..)
        .chain(others)
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_once_and_other_texts_stay() {
        for (text, expect) in [
            ("Jo&atilde;o D&#39;Avila", "João D'Avila"),
            ("O&#039;Brien &#xC9;rica", "O'Brien Érica"),
            (
                "B&amp;B &#8211; caf&eacute;&nbsp;&yuml;",
                "B&B – café\u{a0}ÿ",
            ),
            ("Ana &#150; d&#x92;Avila", "Ana – d’Avila"),
            ("&amp;lt; &amp;eacute;", "&lt; &eacute;"),
            (
                "A & B; C&D; &e; &eacute &#0; &#xd800;",
                "A & B; C&D; &e; &eacute &#0; &#xd800;",
            ),
        ] {
            assert_eq!(unescaped(text), expect);
        }
        assert_eq!(LATIN.split_whitespace().count(), 0x60);
    }
}
