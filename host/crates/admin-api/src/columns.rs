//! Rows as people see them. A type describes its columns once: the tables of commands and of the console, and
//! their lists of facts, follow from the description.

use leadhost_domain::time::Micros;

/// A type whose values are rows of a list, or facts of a page.
pub trait Described: Sized {
    fn columns() -> Vec<Column<Self>>;
}

/// Describes the columns of a type: `"Heading" marks => value`. The marks are methods of [`Column`].
#[macro_export]
macro_rules! columns {
    ($($row:ty as $one:ident { $($heading:literal $($mark:ident)* => $value:expr),+ $(,)? })+) => {$(
        impl $crate::columns::Described for $row {
            fn columns() -> Vec<$crate::columns::Column<Self>> {
                vec![$($crate::columns::Column::new($heading, |$one: &Self| {
                    $crate::columns::Cell::from($value)
                })$(.$mark())*),+]
            }
        }
    )+};
}

/// A column of a table, or the name of a fact.
pub struct Column<T> {
    /// As pages write it. Commands print the headings of tables in capitals.
    pub heading: &'static str,
    pub value: fn(&T) -> Cell,
    pub place: Place,
    /// The class of its cells on a page, which decides their place on a phone. Empty for none.
    pub class: &'static str,
    /// Whether a cell has the heading before it on a phone.
    pub is_named: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Everywhere,
    Commands,
    Pages,
    Lists,
    /// Where one row is shown alone.
    Facts,
}

impl<T> Column<T> {
    pub fn new(heading: &'static str, value: fn(&T) -> Cell) -> Self {
        Self {
            heading,
            value,
            place: Place::Everywhere,
            class: "",
            is_named: false,
        }
    }
}

/// Declares methods that set a field.
macro_rules! setters {
    ($($(#[$about:meta])* $name:ident($($argument:ident: $kind:ty)?) $field:ident = $value:expr;)+) => {$(
        $(#[$about])*
        #[must_use]
        pub fn $name(mut self $(, $argument: $kind)?) -> Self {
            self.$field = $value;
            self
        }
    )+};
}

impl<T> Column<T> {
    setters! {
        commands() place = Place::Commands;
        pages() place = Place::Pages;
        lists() place = Place::Lists;
        facts() place = Place::Facts;
        number() class = "number";
        /// On a phone, the row begins with it.
        main() class = "main";
        /// Not shown on a phone.
        more() class = "more";
        named() is_named = true;
    }
}

/// A value of a row, and what a page adds to it. Commands show the value alone.
#[derive(Default)]
pub struct Cell {
    value: Value,
    pub tag: Option<String>,
    pub is_mono: bool,
    /// The page, below `/console`, that it leads to.
    pub page: Option<String>,
    /// What a screen reader says in place of the text of the link.
    pub label: Option<String>,
    /// Stands beside it.
    pub note: Option<String>,
    /// Stands below it.
    pub reason: Option<String>,
    /// What a page shows if there is no value.
    pub none: &'static str,
}

#[derive(Default)]
enum Value {
    #[default]
    Missing,
    Text(String),
    Time(Micros),
}

impl Cell {
    pub fn id(id: impl ToString) -> Self {
        Self::from(id.to_string()).mono()
    }

    pub fn word(word: impl ToString) -> Self {
        let word = word.to_string();
        Self {
            tag: Some(word.clone()),
            ..Self::from(word)
        }
    }

    setters! {
        tag(class: &str) tag = Some(class.to_owned());
        mono() is_mono = true;
        link(page: String) page = Some(page);
        label(label: String) label = Some(label);
        note(note: Option<impl ToString>) note = note.map(|note| note.to_string());
        reason(reason: Option<impl ToString>) reason = reason.map(|reason| reason.to_string());
        or(none: &'static str) none = none;
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Missing | Value::Time(_) => None,
        }
    }

    pub fn time(&self) -> Option<&Micros> {
        match &self.value {
            Value::Time(at) => Some(at),
            Value::Missing | Value::Text(_) => None,
        }
    }

    pub fn is_empty(&self) -> bool {
        let is_blank = self.text().is_some_and(str::is_empty);
        let is_alone = self.note.is_none() && self.reason.is_none();
        (self.is_missing() && self.none.is_empty() || is_blank) && is_alone
    }

    pub fn is_missing(&self) -> bool {
        matches!(self.value, Value::Missing)
    }

    /// Returns the value as commands write it: a time to the second, a missing value as a dash.
    pub fn written(&self) -> String {
        match &self.value {
            Value::Missing => "-".to_owned(),
            Value::Text(text) => text.clone(),
            Value::Time(at) => at.to_the_second(),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            value: Value::Text(text),
            ..Self::default()
        }
    }
}

impl From<Micros> for Cell {
    fn from(at: Micros) -> Self {
        Self {
            value: Value::Time(at),
            ..Self::default()
        }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::default, Into::into)
    }
}

impl<T: Into<Cell> + Clone> From<&Option<T>> for Cell {
    fn from(value: &Option<T>) -> Self {
        value.clone().into()
    }
}

impl From<bool> for Cell {
    fn from(is: bool) -> Self {
        if is { "yes" } else { "no" }.into()
    }
}

/// A JSON value: text as it is, null as a missing value.
impl From<&serde_json::Value> for Cell {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::default(),
            value => plain(value).into(),
        }
    }
}

/// Returns a JSON value as a person reads it: text without its quotes, a missing value as a dash.
pub fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "-".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(all)
            if !all.iter().any(|one| one.is_object() || one.is_array()) =>
        {
            all.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

macro_rules! cells {
    ($($kind:ty),+) => {$(
        impl From<$kind> for Cell {
            fn from(value: $kind) -> Self {
                value.to_string().into()
            }
        }
    )+};
}

cells!(&str, &String, u16, u32, u64, i64, usize);
