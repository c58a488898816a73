//! Kinds and values of parameters.

use std::borrow::Cow;
use std::net::IpAddr;

use super::statement::Dialect;
use crate::prelude::*;
use leadhost_domain::word::words;

words! {
    SqlType: "the type of a column" {
        Uuid = "uuid",
        Text = "text",
        /// JSON whose text is kept unchanged.
        Json = "json",
        Number = "number",
        Truth = "truth",
        Time = "time",
        Bytes = "bytes",
    }
}

impl SqlType {
    /// Returns the type of a column of a table.
    pub fn in_a_table(self, dialect: Dialect) -> &'static str {
        match (dialect, self) {
            (Dialect::Postgres, Self::Json) => "json",
            (Dialect::Postgres, _) => self.in_a_list(),
            (Dialect::Sqlite, Self::Uuid | Self::Bytes) => "blob",
            (Dialect::Sqlite, Self::Text | Self::Json) => "text",
            (Dialect::Sqlite, Self::Number | Self::Truth | Self::Time) => "integer",
        }
    }

    /// Returns PostgreSQL's name of the type in a list parameter.
    pub fn in_a_list(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Text | Self::Json => "text",
            Self::Number => "bigint",
            Self::Truth => "boolean",
            Self::Time => "timestamptz",
            Self::Bytes => "bytea",
        }
    }
}

/// The value of a parameter. A null has a kind too, because PostgreSQL requires it.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue<'a> {
    Null(SqlType),
    Uuid(Uuid),
    Text(Cow<'a, str>),
    Json(Cow<'a, str>),
    Number(i64),
    Truth(bool),
    Time(Micros),
    Bytes(Cow<'a, [u8]>),
}

/// A parameter: its name and its value.
pub type Arg<'a> = (&'static str, SqlValue<'a>);

/// Returns a parameter that borrows nothing.
pub fn owned((name, value): Arg<'_>) -> Arg<'static> {
    let value = match value {
        SqlValue::Null(kind) => SqlValue::Null(kind),
        SqlValue::Uuid(id) => SqlValue::Uuid(id),
        SqlValue::Text(text) => SqlValue::Text(Cow::Owned(text.into_owned())),
        SqlValue::Json(text) => SqlValue::Json(Cow::Owned(text.into_owned())),
        SqlValue::Number(number) => SqlValue::Number(number),
        SqlValue::Truth(truth) => SqlValue::Truth(truth),
        SqlValue::Time(time) => SqlValue::Time(time),
        SqlValue::Bytes(bytes) => SqlValue::Bytes(Cow::Owned(bytes.into_owned())),
    };
    (name, value)
}

/// Parameters by name: `args! { id, until: lease.until }`. Those from the fields of a struct come first:
/// `args! { from row: name, workspace_id = workspace; id }`.
macro_rules! args {
    (@field $row:ident $name:ident) => { $crate::sql::Stored::value(&$row.$name)? };
    (@field $row:ident $name:ident $field:ident) => { $crate::sql::Stored::value(&$row.$field)? };
    (
        from $row:ident: $($column:ident $(= $field:ident)?),+
        $(; $($name:ident $(: $value:expr)?),+)? $(,)?
    ) => {
        [
            $((stringify!($column), args!(@field $row $column $($field)?))),+
            $(, $((stringify!($name), args!(@value $name $($value)?))),+)?
        ]
    };
    (@value $name:ident) => { $crate::sql::SqlValue::from($name) };
    (@value $name:ident $value:expr) => { $crate::sql::SqlValue::from($value) };
    ($($name:ident $(: $value:expr)?),* $(,)?) => {
        [$((stringify!($name), args!(@value $name $($value)?))),*]
    };
}
pub(crate) use args;

/// A type for which a null has a kind.
pub trait Typed {
    const KIND: SqlType;
}

impl<'a, T: Typed + Into<SqlValue<'a>>> From<Option<T>> for SqlValue<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(SqlValue::Null(T::KIND), Into::into)
    }
}

macro_rules! typed {
    ($($kind:ident: $($of:ty),+;)+) => {
        $($(impl Typed for $of {
            const KIND: SqlType = SqlType::$kind;
        })+)+
    };
}

typed! {
    Text: &str, String, &String, Cow<'_, str>, &ConnectionId, &Digest, IpAddr;
    Json: Json;
    Bytes: &[u8], &[u8; 32], &Vec<u8>, Vec<u8>;
}

macro_rules! valued {
    ($($kind:ident: $of:ty, |$value:ident| $held:expr;)+) => {
        $(impl<'a> From<$of> for SqlValue<'a> {
            fn from($value: $of) -> Self {
                SqlValue::$kind($held)
            }
        })+
    };
}

valued! {
    Text: &'a str, |text| Cow::Borrowed(text);
    Text: &'a String, |text| Cow::Borrowed(text);
    Text: String, |text| Cow::Owned(text);
    Text: Cow<'a, str>, |text| text;
    Text: &'a ConnectionId, |id| Cow::Borrowed(id.as_str());
    Text: &'a Digest, |digest| Cow::Borrowed(&digest.0);
    Text: IpAddr, |address| Cow::Owned(address.to_string());
    Json: Json, |json| Cow::Owned(json.0);
    Bytes: &'a [u8], |bytes| Cow::Borrowed(bytes);
    Bytes: &'a [u8; 32], |bytes| Cow::Borrowed(bytes);
    Bytes: &'a Vec<u8>, |bytes| Cow::Borrowed(bytes);
    Bytes: Vec<u8>, |bytes| Cow::Owned(bytes);
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub String);

pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Json, StoreError> {
    crate::row::json(value).map(Json)
}
