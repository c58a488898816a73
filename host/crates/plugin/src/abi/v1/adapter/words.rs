//! The words and texts of an adapter's answers, within their bounds.

use crate::abi::texts::cut;
use leadhost_domain::channel::Category;
use leadhost_domain::limits;
use leadhost_domain::text::storable;

/// A word that is not known counts as `request`. Adapters may not use the categories that the host sets itself.
pub fn category(word: &str) -> Category {
    match Category::from_text(word) {
        None | Some(Category::Expired | Category::GivenUp) => Category::Request,
        Some(known) => known,
    }
}

pub fn word(text: String) -> String {
    cut(text, limits::CHANNEL_WORD_BYTES)
}

pub fn text(text: String) -> String {
    cut(text, limits::CHANNEL_TEXT_BYTES)
}

/// Returns the further ids of a person, which attributes of an event or an answer give as JSON
/// texts. One that is not a text, or is too long to be a key, is left out.
pub fn further_ids<'a>(attributes: impl IntoIterator<Item = &'a (String, String)>) -> Vec<String> {
    attributes
        .into_iter()
        .filter(|(name, _)| matches!(name.as_str(), "user-id" | "parent-user-id"))
        .filter(|(_, json)| json.len() <= limits::EXTERNAL_ID_BYTES)
        .filter_map(|(_, json)| serde_json::from_str(json).ok())
        .map(storable)
        .filter(|id| !id.is_empty())
        .take(limits::FURTHER_IDS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_ids_are_texts_within_their_bound() {
        let long = format!("\"{}\"", "1".repeat(limits::EXTERNAL_ID_BYTES));
        let given = [
            ("user-id", "\"BR.1\""),
            ("username", "\"ana\""),
            ("parent-user-id", "\"BR.ENT.2\""),
            ("user-id", "3"),
            ("user-id", "\"\""),
            ("user-id", "BR.4"),
            ("user-id", &long),
        ]
        .map(|(name, json)| (name.to_owned(), json.to_owned()));
        assert_eq!(further_ids(&given), ["BR.1", "BR.ENT.2"]);
        let many = std::iter::repeat_n(&given[0], 10_000);
        assert_eq!(further_ids(many).len(), limits::FURTHER_IDS);
    }
}
