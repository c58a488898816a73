//! Texts of plugins as the host stores them: without U+0000, and texts for people cut to a
//! bound.

use serde_json::{Map, Value};

use leadhost_domain::exchange::Pairs;
use leadhost_domain::json;
use leadhost_domain::limits;
use leadhost_domain::text::{seen, storable, storable_json};

pub fn cut(text: String, bytes: usize) -> String {
    let mut text = storable(text);
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
    }
    text
}

pub fn storable_list(texts: Vec<String>) -> Vec<String> {
    texts.into_iter().map(storable).collect()
}

/// Removes U+0000 from the text. One that is blank without it is absent.
pub fn given(text: impl Into<Option<String>>) -> Option<String> {
    text.into()
        .filter(|text| text.split('\0').any(|part| !seen(part).is_empty()))
        .map(storable)
}

pub fn given_list(texts: Vec<String>) -> Vec<String> {
    texts.into_iter().filter_map(given).collect()
}

pub fn storable_pairs(pairs: Pairs) -> Pairs {
    pairs
        .into_iter()
        .map(|(name, value)| (storable(name), storable(value)))
        .collect()
}

/// Parses names and JSON texts into values. Half of a surrogate pair is read as U+FFFD. A value that
/// is not JSON is kept as a text, and its name goes to `as_text`.
pub fn attributes(pairs: Pairs, as_text: &mut Vec<String>) -> Map<String, Value> {
    let value = |(name, text): (String, String)| {
        let name = storable(name);
        let value = json::parse(&text).unwrap_or_else(|_| {
            as_text.push(name.clone());
            Value::String(text)
        });
        (name, storable_json(value))
    };
    pairs.into_iter().map(value).collect()
}

pub fn cut_note(text: String) -> String {
    cut(text, limits::NOTE_BYTES)
}

pub fn notes(mut notes: Vec<String>) -> Vec<String> {
    notes.truncate(limits::NOTES_PER_DELIVERY);
    notes.into_iter().map(cut_note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_nothing_but_blanks_and_zeros_is_absent() {
        for blank in ["", " ", "\0", "\0 \0", "\u{200b}\0"] {
            assert_eq!(given(blank.to_owned()), None, "{blank:?}");
        }
        assert_eq!(given("a\0".to_owned()).as_deref(), Some("a\u{fffd}"));
    }

    #[test]
    fn an_attribute_with_half_an_emoji_is_taken() {
        let pairs = |text: &str| vec![("a".to_owned(), text.to_owned())];
        let mut as_text = Vec::new();
        let taken = attributes(pairs(r#"["Ana \ud83d", 1.50]"#), &mut as_text);
        assert_eq!(taken["a"].to_string(), "[\"Ana \u{fffd}\",1.50]");
        assert!(as_text.is_empty());
        let kept = attributes(pairs(r#"["\ud83"]"#), &mut as_text);
        assert_eq!(kept["a"], r#"["\ud83"]"#);
        assert_eq!(as_text, ["a"]);
    }
}
