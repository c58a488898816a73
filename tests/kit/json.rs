//! Parts of JSON values that a test knows are there.

use serde_json::Value;

pub trait Json {
    #[track_caller]
    fn text(&self) -> &str;
    #[track_caller]
    fn list(&self) -> &Vec<Value>;
}

impl Json for Value {
    #[track_caller]
    fn text(&self) -> &str {
        self.as_str().unwrap_or_else(|| panic!("no text: {self:#}"))
    }

    #[track_caller]
    fn list(&self) -> &Vec<Value> {
        self.as_array()
            .unwrap_or_else(|| panic!("no list: {self:#}"))
    }
}

/// Asserts that a value has these fields, each at its dotted path. After a semicolon: the row of
/// a table.
#[macro_export]
macro_rules! fields {
    ($value:expr, $fields:tt) => {
        $crate::fields!($value, $fields; "")
    };
    ($value:expr, $fields:tt; $($row:tt)+) => {
        $crate::json::assert_fields(
            &::serde_json::json!($value),
            &::serde_json::json!($fields),
            &format!($($row)+),
        )
    };
}

/// What [`fields!`](crate::fields) asserts.
#[track_caller]
pub fn assert_fields(value: &Value, fields: &Value, row: &str) {
    let at = |path: &str| {
        path.split('.')
            .fold(value, |part, step| match step.parse::<usize>() {
                Ok(index) => &part[index],
                Err(_) => &part[step],
            })
    };
    let fields = fields.as_object().expect("fields").iter();
    let differ: Vec<_> = fields
        .filter(|(path, expect)| at(path) != *expect)
        .map(|(path, expect)| format!("{path} is {} and not {expect}", at(path)))
        .collect();
    assert!(differ.is_empty(), "{row} {differ:#?} in {value:#}");
}
