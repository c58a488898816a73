//! One JSON object per line. A line may arrive in pieces of any size, and a line that is
//! too long is skipped without being held.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::check;
use super::row::{IgnoredColumns, ImportFileError, ImportRow};
use leadhost_domain::limits;
use leadhost_store::PlannedProduct;

#[derive(Default)]
pub struct NdjsonReader {
    /// The current line, as far as it was received.
    begun: Vec<u8>,
    /// The current line is too long, and the rest of it is skipped.
    skipped: bool,
    ended: u64,
    any: bool,
}

impl NdjsonReader {
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.begun.is_empty() && !self.skipped {
                self.line(line, ignored, rows)?;
            } else {
                self.hold(line);
                self.end_of_line(ignored, rows)?;
            }
        }
        self.hold(bytes);
        Ok(())
    }

    pub fn end(
        &mut self,
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        if self.begun.is_empty() && !self.skipped {
            return Ok(());
        }
        self.end_of_line(ignored, rows)
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.skipped || self.begun.len() + bytes.len() > limits::IMPORT_LINE_BYTES {
            self.skipped = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn end_of_line(
        &mut self,
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        if std::mem::take(&mut self.skipped) {
            self.ended += 1;
            rows.push(ImportRow::too_long(self.ended));
            return Ok(());
        }
        let line = std::mem::take(&mut self.begun);
        self.line(&line, ignored, rows)?;
        // The buffer is reused.
        self.begun = line;
        self.begun.clear();
        Ok(())
    }

    fn line(
        &mut self,
        line: &[u8],
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        self.ended += 1;
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.any, true) && line[0] == b'[' {
            return Err(ImportFileError(
                "The body is a JSON array: send each product as an object on a line of its own, without the surrounding brackets and commas (NDJSON)."
                    .to_owned(),
            ));
        }
        let read = if line.len() > limits::IMPORT_LINE_BYTES {
            rows.push(ImportRow::too_long(self.ended));
            return Ok(());
        } else {
            read(line, ignored)
        };
        rows.push(ImportRow {
            line: self.ended,
            read,
        });
        Ok(())
    }
}

fn read(line: &[u8], ignored: &mut IgnoredColumns) -> Result<PlannedProduct, String> {
    let text = check::text(line)?;
    // Sorted, so that the same line always gives the same message.
    let fields: BTreeMap<&str, &RawValue> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        // A key with escapes cannot be borrowed.
        Err(_) => return read_escaped(text, ignored),
    };
    product(fields.iter().map(|(name, value)| (*name, *value)), ignored)
}

fn read_escaped(text: &str, ignored: &mut IgnoredColumns) -> Result<PlannedProduct, String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|error| {
        if text.starts_with('{') {
            format!("the line is not a JSON object: {}", without_line(&error))
        } else {
            "the line is not a JSON object: expected {\"externalId\": …, \"name\": …}".to_owned()
        }
    })?;
    product(
        fields.iter().map(|(name, value)| (name.as_str(), *value)),
        ignored,
    )
}

fn product<'a>(
    fields: impl Iterator<Item = (&'a str, &'a RawValue)>,
    ignored: &mut IgnoredColumns,
) -> Result<PlannedProduct, String> {
    let (mut external_id, mut name, mut description) = (None, None, None);
    for (field, value) in fields {
        let place = match field {
            "externalId" => &mut external_id,
            "name" => &mut name,
            "description" => &mut description,
            other => {
                ignored.note(other);
                continue;
            }
        };
        *place = word(field, value)?;
    }
    check::product(
        external_id.as_deref(),
        name.as_deref(),
        description.as_deref(),
    )
}

fn word(field: &str, value: &RawValue) -> Result<Option<String>, String> {
    let kind = match value.get().as_bytes().first() {
        Some(b'"') => {
            return serde_json::from_str(value.get())
                .map(Some)
                .map_err(|error| format!("{field} is not text: {}", without_line(&error)));
        }
        Some(b'n') => return Ok(None),
        Some(b't' | b'f') => "true or false",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    };
    Err(format!("{field} is {kind}: expected text in quotes"))
}

/// There is only one line, so the column is enough.
fn without_line(error: &serde_json::Error) -> String {
    error
        .to_string()
        .replace(" at line 1 column ", " at column ")
}
