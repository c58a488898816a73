//! Rows that came as one JSON list, each a list of its columns.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::row::{Column, Columns, unread};

/// A row, of which columns are read by place.
pub struct Listed<'a>(Vec<Field<'a>>);

enum Field<'a> {
    Null,
    Text(Cow<'a, str>),
    /// A number, or JSON as it stands in its column.
    Other(&'a str),
}

/// The rows of a list; of none there is no list.
pub fn listed(list: Option<&str>) -> Result<Vec<Listed<'_>>, StoreError> {
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    let odd = |error: serde_json::Error| StoreError::Inconsistent {
        what: format!("a list of rows: {error}"),
    };
    let rows: Vec<Vec<&RawValue>> = serde_json::from_str(list).map_err(odd)?;
    rows.into_iter()
        .map(|row| {
            let fields = row.into_iter().map(Field::of);
            Ok(Listed(fields.collect::<Result<_, _>>().map_err(odd)?))
        })
        .collect()
}

impl<'a> Field<'a> {
    fn of(value: &'a RawValue) -> Result<Self, serde_json::Error> {
        let text = value.get();
        let inner = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        Ok(match inner {
            Some(inner) if !inner.contains('\\') => Self::Text(Cow::Borrowed(inner)),
            Some(_) => Self::Text(Cow::Owned(serde_json::from_str(text)?)),
            None if text == "null" => Self::Null,
            None => Self::Other(text),
        })
    }
}

impl Listed<'_> {
    fn field(&self, column: Column) -> Result<&Field<'_>, StoreError> {
        let field = match column {
            Column::At(place) => self.0.get(place),
            Column::Named(_) => None,
        };
        field.ok_or_else(|| unread(column, "nothing"))
    }

    /// What is no text.
    fn other(&self, column: Column) -> Result<Option<&str>, StoreError> {
        match self.field(column)? {
            Field::Null => Ok(None),
            Field::Other(text) => Ok(Some(text)),
            Field::Text(text) => Err(unread(column, text)),
        }
    }
}

impl Columns for Listed<'_> {
    fn str_if(&self, column: Column) -> Result<Option<&str>, StoreError> {
        match self.field(column)? {
            Field::Null => Ok(None),
            Field::Text(text) => Ok(Some(text)),
            Field::Other(text) => Err(unread(column, text)),
        }
    }

    fn uuid_if(&self, column: Column) -> Result<Option<Uuid>, StoreError> {
        self.str_if(column)?
            .map(|text| Uuid::try_parse(text).map_err(|_| unread(column, text)))
            .transpose()
    }

    // As it stands in the file.
    fn id_text_if(&self, column: impl Into<Column>) -> Result<Option<String>, StoreError> {
        self.text_if(column)
    }

    fn micros_if(&self, column: Column) -> Result<Option<Micros>, StoreError> {
        Ok(self.great_if(column)?.map(Micros))
    }

    fn great_if(&self, column: Column) -> Result<Option<i64>, StoreError> {
        self.other(column)?
            .map(|text| text.parse().map_err(|_| unread(column, text)))
            .transpose()
    }

    fn small_if(&self, column: Column) -> Result<Option<i64>, StoreError> {
        self.great_if(column)
    }

    fn flag(&self, column: impl Into<Column>) -> Result<bool, StoreError> {
        Ok(self.number::<i64>(column)? != 0)
    }

    fn bytes_if(&self, column: impl Into<Column>) -> Result<Option<Vec<u8>>, StoreError> {
        Err(unread(column.into(), "a list, which has no bytes"))
    }

    fn json_if<T: DeserializeOwned>(
        &self,
        column: impl Into<Column>,
    ) -> Result<Option<T>, StoreError> {
        let column = column.into();
        self.other(column)?
            .map(|text| serde_json::from_str(text).map_err(|error| unread(column, error)))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_listed() {
        let list = r#"[["a",-7,null,"x \"y\"\n\u0001\\",{"n": 1.50e3}],["",0,"é",null,[]]]"#;
        let rows = listed(Some(list)).expect("rows");
        assert_eq!(rows.len(), 2);
        let row = &rows[0];
        assert_eq!(row.text(0).expect("text"), "a");
        assert_eq!(row.number::<i64>(1).expect("a number"), -7);
        assert_eq!(row.time_if(2).expect("none"), None);
        assert_eq!(row.text_if(2).expect("none"), None);
        assert_eq!(row.text(3).expect("text"), "x \"y\"\n\u{1}\\");
        let json: Box<RawValue> = row.json(4).expect("JSON");
        assert_eq!(json.get(), r#"{"n": 1.50e3}"#);
        assert_eq!(rows[1].text(2).expect("text"), "é");
        assert!(listed(None).expect("none").is_empty());
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let rows = listed(Some(r#"[["a",null,7]]"#)).expect("rows");
        assert!(rows[0].text(1).is_err());
        assert!(rows[0].text(2).is_err());
        assert!(rows[0].number::<i64>(0).is_err());
        assert!(rows[0].text(9).is_err());
        assert!(rows[0].text("name").is_err());
        assert!(listed(Some("[[1,]]")).is_err());
    }
}
