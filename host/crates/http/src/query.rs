//! The query of a request: decoded names and values. If a name is repeated, its first value counts.
//! Unknown names are ignored; the answer names them in a header.

use hyper::http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::prelude::*;
use leadhost_domain::cursor::{BrokenCursor, ListCursor};

const IGNORED: HeaderName = HeaderName::from_static("x-ignored-parameters");

/// Bounds of that header: names that it lists, and characters of each.
const NAMES: usize = 20;
const NAME_CHARACTERS: usize = 60;

/// The characters that the header does not show as they are: names come from the client.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'[')
    .remove(b']');

/// Texts that clients send for a value that they do not have.
const NO_VALUES: [&str; 4] = ["null", "none", "nil", "undefined"];

#[derive(Debug)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub fn from_head(head: &'a Parts) -> Self {
        Self::parse(head.uri.query().unwrap_or_default())
    }

    pub fn parse(text: &'a str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).collect())
    }

    /// Returns the value, even if it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        Some(value)
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    pub fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_ref())
    }

    /// Returns the first value of several names that is not blank.
    pub fn filled(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| {
            let named = self.pairs().filter(|(key, _)| key == name);
            let mut values = named.map(|(_, value)| value);
            values.find(|value| !value.trim().is_empty())
        })
    }

    /// Returns the cursor of a list. A blank one counts as not given: many clients send the
    /// parameter with every page.
    pub fn cursor(&self) -> Result<Option<&str>, ApiError> {
        let Some(text) = self.filled(&["cursor"]) else {
            return Ok(None);
        };
        let is = |word: &&str| text.trim().eq_ignore_ascii_case(word);
        if NO_VALUES.iter().any(is) {
            return Err(ApiError::coded(
                ErrorCode::InvalidCursor,
                format!(
                    "`cursor` is the text `{}`, not a cursor: leave it out, or empty, for the first page. \
                     No page follows the one that gave no next cursor.",
                    text.trim()
                ),
            ));
        }
        Ok(Some(text))
    }

    /// Returns the cursor of the previous page of a list, if there is one. `is_filter` tells whether
    /// the filter in it is the one of this list.
    pub fn list_cursor(
        &self,
        workspace: WorkspaceId,
        list: u8,
        is_filter: impl FnOnce(&str) -> bool,
    ) -> Result<Option<ListCursor>, ApiError> {
        let Some(text) = self.cursor()? else {
            return Ok(None);
        };
        let cursor = ListCursor::decode(text).map_err(broken_cursor)?;
        if cursor.workspace == workspace && cursor.list == list && is_filter(&cursor.filter) {
            return Ok(Some(cursor));
        }
        Err(ApiError::coded(
            ErrorCode::InvalidCursor,
            "The cursor belongs to another list; start this one without it.",
        ))
    }

    /// Returns the number of rows of a page, from 1 to `most`. A number out of range is
    /// adjusted.
    pub fn limit(&self, default: u32, most: u32) -> Result<u32, ApiError> {
        let limit = self.whole("limit", &format!("from 1 to {most}"))?;
        let limit = limit.map(|limit| limit.clamp(1, i64::from(most)));
        Ok(limit
            .and_then(|limit| limit.try_into().ok())
            .unwrap_or(default))
    }

    /// Returns a whole number, or `None` if it is not given or blank. `range` says in words what
    /// it may be; the caller adjusts it.
    pub fn whole(&self, name: &str, range: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.filled(&[name]) else {
            return Ok(None);
        };
        whole(text).map(Some).ok_or_else(|| {
            let shown: String = text.chars().take(NAME_CHARACTERS).collect();
            ApiError::parameter(format!(
                "`{name}` must be a whole number {range}, not `{shown}`; leave it out for the default."
            ))
        })
    }

    /// Returns a word of a set. `what` it is, with its article.
    pub fn word<T: Copy>(
        &self,
        name: &str,
        what: &str,
        all: &[T],
        as_str: fn(T) -> &'static str,
    ) -> Result<Option<T>, ApiError> {
        let Some(word) = self.filled(&[name]) else {
            return Ok(None);
        };
        let found = all.iter().copied().find(|one| as_str(*one) == word);
        found.map(Some).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|one| as_str(*one)).collect();
            let known = known.join(", ");
            ApiError::BadRequest(format!("`{name}={word}` is not {what}; there are {known}."))
        })
    }

    pub fn name_ignored(&self, known: &[String], headers: &mut HeaderMap) {
        let mut ignored: Vec<&str> = Vec::new();
        for (name, _) in self.pairs() {
            if known.iter().any(|known| known == name) || ignored.contains(&name) {
                continue;
            }
            ignored.push(name);
            if ignored.len() > NAMES {
                break;
            }
        }
        if ignored.is_empty() {
            return;
        }
        let shown = |name: &&str| {
            let short: String = name.chars().take(NAME_CHARACTERS).collect();
            utf8_percent_encode(&short, ENCODED).to_string()
        };
        let mut names: Vec<String> = ignored.iter().take(NAMES).map(shown).collect();
        if ignored.len() > NAMES {
            names.push("...".to_owned());
        }
        if let Ok(value) = HeaderValue::from_str(&names.join(", ")) {
            headers.insert(IGNORED, value);
        }
    }
}

/// Reads a whole number in digits, with or without a sign. One with too many digits is the greatest
/// or the least.
pub fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: i64 = digits.parse().unwrap_or(i64::MAX);
    Some(if is_negative { -number } else { number })
}

pub fn broken_cursor(error: BrokenCursor) -> ApiError {
    ApiError::coded(ErrorCode::InvalidCursor, format!("{error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded_and_the_first_counts() {
        let query = Query::parse("a=1&a=2&b=x%20y+z&c&%64=%C3%A9&e=%ff");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.get("b"), Some("x y z"));
        assert_eq!(query.get("c"), Some(""));
        assert_eq!(query.get("d"), Some("é"));
        assert_eq!(query.get("e"), Some("\u{fffd}"));
        assert_eq!(query.get("f"), None);
        assert_eq!(query.filled(&["c", "a"]), Some("1"));
    }

    #[test]
    fn a_limit_is_adjusted_or_refused() {
        let check = |text: &str, expect: Option<u32>| {
            let text = format!("limit={text}");
            let query = Query::parse(&text);
            assert_eq!(query.limit(100, 1000).ok(), expect, "{text}");
        };
        check("1", Some(1));
        check("1000", Some(1000));
        check("1001", Some(1000));
        check("0", Some(1));
        check("-5", Some(1));
        check("%2B7", Some(7));
        check("+7", Some(7));
        check("99999999999999999999999999999999", Some(1000));
        check("", Some(100));
        check("%20", Some(100));
        check("-99999999999999999999999999999999", Some(1));
        check("null", None);
        check("None", None);
        check("ten", None);
        check("1.5", None);
        check("-", None);
        assert_eq!(Query::parse("").limit(100, 1000).ok(), Some(100));
    }

    #[test]
    fn a_blank_cursor_is_none_and_a_text_for_no_value_is_named() {
        let check = |text: &str, expect: Option<&str>| {
            let query = Query::parse(text);
            assert_eq!(query.cursor().expect("accepted"), expect, "{text}");
        };
        check("", None);
        check("cursor", None);
        check("cursor=", None);
        check("cursor=%20", None);
        check("limit=1&cursor=+", None);
        check("cursor=AQ", Some("AQ"));
        check("cursor=&cursor=AQ", Some("AQ"));
        for word in ["null", "None", "NULL", "nil", "undefined", "%20null"] {
            let text = format!("cursor={word}");
            let error = Query::parse(&text).cursor().expect_err("no cursor");
            assert_eq!(error.code(), ErrorCode::InvalidCursor);
            let word = word.trim_start_matches("%20");
            assert!(error.to_string().contains(&format!("`{word}`")), "{error}");
        }
    }

    #[test]
    fn ignored_names_are_listed_once_and_cannot_break_the_header() {
        let listed = |text: &str| {
            let mut headers = HeaderMap::new();
            Query::parse(text).name_ignored(&["limit".to_owned()], &mut headers);
            headers.get(IGNORED).map(|value| {
                let value = value.to_str().expect("visible ASCII");
                value.to_owned()
            })
        };
        let check = |text: &str, expect: &str| assert_eq!(listed(text).as_deref(), Some(expect));
        assert_eq!(listed(""), None);
        assert_eq!(listed("limit=1&limit=2"), None);
        check(
            "conversation_id=1&limit=1&timezone=x&timezone=y",
            "conversation_id, timezone",
        );
        check("filter[status]=1&groupBy=x", "filter[status], groupBy");
        check("=1", "");
        check(
            "a%0d%0aSet-Cookie:%20b=1&c%2Cd=1&%C3%A9=1",
            "a%0D%0ASet-Cookie%3A%20b, c%2Cd, %C3%A9",
        );
        check(&format!("{}=1", "x".repeat(5_000)), &"x".repeat(60));
        let many: Vec<String> = (0..1_000).map(|number| format!("p{number}=1")).collect();
        let many = listed(&many.join("&")).expect("a header");
        assert!(
            many.starts_with("p0, p1") && many.ends_with("p19, ..."),
            "{many}"
        );
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{damaged_text, holds};

    use super::*;

    #[test]
    fn fuzz_a_query_is_read_as_it_was_written() {
        let seeds = [
            "a=1&a=2&b=x%20y+z&c&%64=%C3%A9&e=%ff",
            "limit=-5&cursor=AQ&limit=10",
            "limit=%2B18446744073709551616",
        ];
        let words = [
            "&", "=", "%", "%00", "%ff", "+", "limit=", "-", "a", ";", "#",
        ];
        holds(4_000, damaged_text(seeds, &words), |text| {
            let query = Query::parse(text);
            let mut names = Vec::new();
            for (name, value) in query.pairs() {
                if !names.contains(&name) {
                    names.push(name);
                    assert_eq!(query.get(name), Some(value));
                }
                assert_eq!(query.all(name).next(), query.get(name));
                let filled = query.filled(&[name]);
                assert!(filled.is_none_or(|value| !value.trim().is_empty()));
            }
            for most in [1, 100, u32::MAX] {
                let limit = query.limit(1, most);
                assert!(limit.is_err() || limit.is_ok_and(|limit| (1..=most).contains(&limit)));
            }
            let again = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(query.pairs())
                .finish();
            assert!(Query::parse(&again).pairs().eq(query.pairs()), "{again}");
        });
    }
}
