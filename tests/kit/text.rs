//! Assertions about parts of a text, such as a page or a refusal.

use crate::client::Answer;
use crate::json::Json;

/// A text, or what has one.
pub trait Text {
    fn as_text(&self) -> &str;
}

impl Text for str {
    fn as_text(&self) -> &str {
        self
    }
}

impl Text for String {
    fn as_text(&self) -> &str {
        self
    }
}

impl Text for std::borrow::Cow<'_, str> {
    fn as_text(&self) -> &str {
        self
    }
}

impl Text for Answer {
    fn as_text(&self) -> &str {
        self.text()
    }
}

impl Text for serde_json::Value {
    fn as_text(&self) -> &str {
        Json::text(self)
    }
}

impl<T: Text + ?Sized> Text for &T {
    fn as_text(&self) -> &str {
        (**self).as_text()
    }
}

/// Asserts that a text has each of these parts. After a semicolon: the row of a table.
#[macro_export]
macro_rules! has {
    ($text:expr, $($part:expr),+ $(,)?) => {
        match $crate::text::Text::as_text(&$text) {
            text => {
                $(assert!(text.contains($part), "no {} in {text}", $part);)+
            }
        }
    };
    ($text:expr, $($part:expr),+; $($row:tt)+) => {
        match ($crate::text::Text::as_text(&$text), format!($($row)+)) {
            (text, row) => {
                $(assert!(text.contains($part), "{row}: no {} in {text}", $part);)+
            }
        }
    };
}

/// Asserts that a text has none of these parts.
#[macro_export]
macro_rules! lacks {
    ($text:expr, $($part:expr),+ $(,)?) => {
        match $crate::text::Text::as_text(&$text) {
            text => {
                $(assert!(!text.contains($part), "{} in {text}", $part);)+
            }
        }
    };
    ($text:expr, $($part:expr),+; $($row:tt)+) => {
        match ($crate::text::Text::as_text(&$text), format!($($row)+)) {
            (text, row) => {
                $(assert!(!text.contains($part), "{row}: {} in {text}", $part);)+
            }
        }
    };
}
