//! Regular expressions of schemas. They are written as in ECMAScript and run on an engine whose time is
//! linear in the text; look-around and back-references, which no such engine has, are refused.

use regex::{Regex, RegexBuilder};

/// Most bytes of an expression.
const BYTES: usize = 1_000;

/// Bytes of a compiled expression: the first bound that it fits says what it costs.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Bytes of the cache that speeds an expression up.
pub const CACHE_BYTES: usize = 64 << 10;

/// A regular expression, and what it costs.
#[derive(Debug)]
pub struct Pattern {
    pub text: String,
    regex: Regex,
    /// At most so many bytes when it is compiled.
    pub size: usize,
}

impl Pattern {
    /// Compiles an expression. The error says why it is refused.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > BYTES {
            return Err(format!(
                "a regular expression has {} bytes; at most {BYTES} are taken",
                text.len()
            ));
        }
        let written = translated(text);
        let built = |&size: &usize| {
            let mut builder = RegexBuilder::new(&written);
            let builder = builder.size_limit(size).dfa_size_limit(CACHE_BYTES);
            Some((builder.build().ok()?, size))
        };
        let (regex, size) = SIZES.iter().find_map(built).ok_or_else(|| {
            format!(
                "the regular expression {text:?} is not accepted: it is invalid, it uses look-around or back-references, or it needs more than {} KiB; write a simpler one",
                SIZES[SIZES.len() - 1] >> 10
            )
        })?;
        Ok(Self {
            text: text.to_owned(),
            regex,
            size,
        })
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The steps that this text takes at most: each character meets each state of the expression.
    pub fn steps(&self, text: &str) -> usize {
        1 + text.len().saturating_mul(self.size >> 12)
    }
}

/// Writes an expression of ECMAScript for the engine: there `\d` and `\w` are ASCII only, and in a
/// class a bracket, `&&` and `~~` are what they look like.
fn translated(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_class = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[A-Za-z0-9_]"),
                Some('W') => out.push_str("[^A-Za-z0-9_]"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
            }
            '[' | '&' | '~' if in_class => out.extend(['\\', character]),
            ']' => {
                in_class = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_means_what_it_means_in_ecmascript() {
        let check = |pattern: &str, text: &str, expect: bool| {
            let read = Pattern::read(pattern).expect("an expression");
            assert_eq!(read.is_match(text), expect, "{pattern} {text}");
        };
        check(r"^\+[0-9]{8,15}$", "+5511900000000", true);
        check(r"^\+[0-9]{8,15}$", "+5511900000000\n", false);
        check(r"^\d+$", "12", true);
        check(r"^\d+$", "\u{0661}", false);
        check(r"^[\w-]+$", "a_b-c", true);
        check(r"^[\w-]+$", "é", false);
        check(r"^[^[\]]+$", "a[", false);
        check(r"^[a&&b]+$", "a&b", true);
        check(r"^https?:\/\/", "https://example.com", true);
        check(r"[^\u0009-\u000d\u0020]", " \n", false);
        check(r"^\p{L}+$", "é", true);
        check("b", "abc", true);
    }

    #[test]
    fn an_expression_without_a_bound_is_refused() {
        for pattern in [
            r"(?=a)b",
            r"(a)\1",
            "(",
            "((a{1,99}){1,99}){1,99}",
            &"a".repeat(2_000),
        ] {
            let why = Pattern::read(pattern).expect_err(pattern);
            assert!(why.contains("regular expression"), "{why}");
        }
        let large = Pattern::read(r"^(\p{L}{1,9})+$").expect("an expression");
        let small = Pattern::read("^a+$").expect("an expression");
        assert!(large.steps("a") > small.steps("a"));
    }
}
