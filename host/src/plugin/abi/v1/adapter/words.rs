//! The words and texts of an adapter's answers, within their bounds.

use crate::domain::channel::Category;
use crate::limits;
use crate::plugin::abi::texts::cut;

/// Adapters may not use the categories that the host sets itself.
pub fn category(word: &str) -> Category {
    match Category::from_text(word) {
        Category::Expired | Category::GivenUp => Category::Request,
        known => known,
    }
}

/// Returns a word of an adapter, cut to its bound.
pub fn word(text: String) -> String {
    cut(text, limits::CHANNEL_WORD_BYTES)
}

/// Returns a text of an adapter, cut to its bound.
pub fn text(text: String) -> String {
    cut(text, limits::CHANNEL_TEXT_BYTES)
}
