//! The query of a request: decoded names and values. If a name is repeated, its first value counts.
//! Unknown names are ignored.

use std::borrow::Cow;

use hyper::http::request::Parts;

use super::error::ApiError;
use crate::domain::cursor::ListCursor;
use crate::domain::id::WorkspaceId;

#[derive(Debug)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Parses the query of a request's address; an absent query has no names.
    pub fn from_head(head: &'a Parts) -> Self {
        Self::parse(head.uri.query().unwrap_or_default())
    }

    /// Parses the part of an address after the `?`, and decodes names and values.
    pub fn parse(text: &'a str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).collect())
    }

    /// Returns the value, even if it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        Some(value)
    }

    /// Returns all names and values, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// Returns the values of a name that may be repeated.
    pub fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_ref())
    }

    /// Returns the value of the first of several names whose value is not blank.
    pub fn filled(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .filter_map(|name| self.get(name))
            .find(|value| !value.trim().is_empty())
    }

    /// Returns the cursor of the previous page of a list, if there is one. `is_filter` tells whether
    /// the filter in it is the one of this list.
    ///
    /// # Errors
    ///
    /// [`ApiError::BadRequest`] if it is no cursor, or the cursor of another list.
    pub fn list_cursor(
        &self,
        workspace: WorkspaceId,
        list: u8,
        is_filter: impl FnOnce(&str) -> bool,
    ) -> Result<Option<ListCursor>, ApiError> {
        let Some(text) = self.get("cursor") else {
            return Ok(None);
        };
        let cursor =
            ListCursor::decode(text).map_err(|error| ApiError::BadRequest(format!("{error}.")))?;
        if cursor.workspace == workspace && cursor.list == list && is_filter(&cursor.filter) {
            return Ok(Some(cursor));
        }
        Err(ApiError::BadRequest(
            "The cursor belongs to another list; start this one without it.".to_owned(),
        ))
    }

    /// Returns the number of rows of a page, from 1 to `most`. A number out of range is
    /// adjusted.
    ///
    /// # Errors
    ///
    /// [`ApiError::BadRequest`] if `limit` is not a whole number.
    pub fn limit(&self, default: u32, most: u32) -> Result<u32, ApiError> {
        let Some(text) = self.get("limit") else {
            return Ok(default);
        };
        let text = text.trim();
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(ApiError::BadRequest(format!(
                "`limit` must be a whole number from 1 to {most}."
            )));
        }
        if negative {
            return Ok(1);
        }
        let limit = digits.parse().unwrap_or(u32::MAX);
        Ok(limit.clamp(1, most))
    }
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
        check("", None);
        check("ten", None);
        check("1.5", None);
        check("-", None);
        assert_eq!(Query::parse("").limit(100, 1000).ok(), Some(100));
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
