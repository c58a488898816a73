//! Comma-separated values with a header row, quoted as in RFC 4180. Records may arrive in
//! pieces of any size, and a record that is too long is skipped without being held.
//!
//! An unclosed quote makes the rest of the file one field, so nothing is known of what
//! follows. The file counts as cut off at the line where the quote opens, which the error
//! names.

use csv_core::ReadRecordResult;

use super::check;
use super::row::{IgnoredColumns, ImportFileError, ImportRow};
use leadhost_domain::limits;
use leadhost_store::PlannedProduct;

/// Bound on the fields of a record: catalogues have some dozens.
const FIELDS: usize = 1_024;

pub struct CsvReader {
    reader: csv_core::Reader,
    /// The fields of the current record, one after the other, and the end of each.
    fields: Box<[u8]>,
    written: usize,
    ends: Box<[usize]>,
    ended: usize,
    /// The current record is too long, and the rest of it is skipped.
    skipped: bool,
    /// The number of its bytes that were skipped, and the line on which the field began
    /// that was current then.
    dropped: usize,
    cut: u64,
    /// Line breaks that were read, in total and within the current record.
    breaks: u64,
    inner: u64,
    columns: Option<CsvColumns>,
}

struct CsvColumns {
    external_id: usize,
    name: usize,
    description: Option<usize>,
    count: usize,
}

impl CsvReader {
    /// Returns a reader at the beginning of a file. It allocates its buffers once.
    pub fn new() -> Self {
        Self {
            reader: csv_core::Reader::new(),
            fields: vec![0; limits::IMPORT_LINE_BYTES].into(),
            written: 0,
            ends: vec![0; FIELDS].into(),
            ended: 0,
            skipped: false,
            dropped: 0,
            cut: 0,
            breaks: 0,
            inner: 0,
            columns: None,
        }
    }

    pub fn push(
        &mut self,
        mut bytes: &[u8],
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        // An empty slice would mean the end.
        while !bytes.is_empty() {
            bytes = self.step(bytes, ignored, rows)?.0;
        }
        Ok(())
    }

    pub fn end(
        &mut self,
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        // A line break ends the current record, except within quotes: there it is one more
        // character, and the quote may have swallowed the rest of the catalogue.
        let inner = self.inner;
        self.push(b"\n", ignored, rows)?;
        if self.inner > inner {
            return Err(open(self.line_of_field(), "before the end of the file"));
        }
        while !self.step(&[], ignored, rows)?.1 {}
        Ok(())
    }

    /// Returns the rest of the bytes, and whether this was the end.
    fn step<'a>(
        &mut self,
        bytes: &'a [u8],
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(&'a [u8], bool), ImportFileError> {
        let (result, read, written, ended) = self.reader.read_record(
            bytes,
            &mut self.fields[self.written..],
            &mut self.ends[self.ended..],
        );
        let (taken, rest) = bytes.split_at(read);
        self.breaks += breaks(taken);
        self.inner += breaks(&self.fields[self.written..self.written + written]);
        self.written += written;
        self.ended += ended;
        // A line break in the field that was cut: its quote is open past the bound.
        let first = if self.ended > 0 {
            self.begin_of(1)
        } else {
            self.written
        };
        if self.skipped && breaks(&self.fields[..first]) > 0 {
            let most = limits::IMPORT_LINE_BYTES;
            return Err(open(self.cut, &format!("within {most} bytes")));
        }
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                self.cut = self.line_of_field();
                self.skipped = true;
                self.dropped += self.written;
                self.written = 0;
                self.ended = 0;
            }
            ReadRecordResult::Record => {
                // The break that ends the record was read already, or it is the byte after
                // a carriage return, or there is none.
                let own = u64::from(taken.last() != Some(&b'\n'));
                let line = self.breaks + own - self.inner;
                self.record(line, ignored, rows)?;
                self.written = 0;
                self.ended = 0;
                self.inner = 0;
                self.skipped = false;
                self.dropped = 0;
            }
            ReadRecordResult::End => return Ok((rest, true)),
        }
        Ok((rest, false))
    }

    /// Returns where a field begins in the held bytes: the ends are counted from the
    /// beginning of the record, including skipped bytes.
    fn begin_of(&self, field: usize) -> usize {
        let end = field.checked_sub(1).map_or(0, |before| self.ends[before]);
        end.saturating_sub(self.dropped)
    }

    fn line_of_field(&self) -> u64 {
        if self.skipped && self.ended == 0 {
            return self.cut;
        }
        let field = &self.fields[self.begin_of(self.ended)..self.written];
        1 + self.breaks - breaks(field)
    }

    fn record(
        &mut self,
        line: u64,
        ignored: &mut IgnoredColumns,
        rows: &mut Vec<ImportRow>,
    ) -> Result<(), ImportFileError> {
        let Some(columns) = &self.columns else {
            if self.skipped {
                return Err(ImportFileError("The header row is too long.".to_owned()));
            }
            let columns = self.header(ignored)?;
            self.columns = Some(columns);
            return Ok(());
        };
        if self.skipped {
            rows.push(ImportRow::too_long(line));
            return Ok(());
        }
        let read = self.product(columns).map_err(|message| {
            let names = [columns.external_id, columns.name];
            // These fields have one line each: one with more may have swallowed other
            // lines.
            let swallows = names
                .iter()
                .filter_map(|place| self.field(*place))
                .any(|field| breaks(field.trim_ascii()) > 0);
            if swallows {
                format!("{message}; is a quote on this line not closed?")
            } else {
                message
            }
        });
        rows.push(ImportRow { line, read });
        Ok(())
    }

    fn field(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends[..self.ended].get(place)?;
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.fields[begin..end])
    }

    fn product(&self, columns: &CsvColumns) -> Result<PlannedProduct, String> {
        if self.ended != columns.count {
            let hint = if self.ended > columns.count {
                ": is a field with a comma not in quotes?"
            } else {
                ""
            };
            return Err(format!(
                "the line has {} fields, but the header names {}{hint}",
                self.ended, columns.count
            ));
        }
        let text = |place: usize| self.field(place).map(check::text).transpose();
        let description = columns.description.map(text).transpose()?.flatten();
        check::product(text(columns.external_id)?, text(columns.name)?, description)
    }

    fn header(&self, ignored: &mut IgnoredColumns) -> Result<CsvColumns, ImportFileError> {
        let names: Vec<&str> = (0..self.ended)
            .filter_map(|place| self.field(place))
            .map(|field| check::text(field).map(str::trim))
            .collect::<Result<_, _>>()
            .map_err(|message| {
                ImportFileError(format!("The header row cannot be read: {message}."))
            })?;
        let place = |wanted: &str| -> Result<Option<usize>, ImportFileError> {
            let mut places = (0..).zip(&names).filter(|(_, name)| is(name, wanted));
            let first = places.next().map(|(place, _)| place);
            match places.next() {
                None => Ok(first),
                Some(_) => Err(ImportFileError(format!(
                    "The header row names {wanted} twice."
                ))),
            }
        };
        let (external_id, name) = (place("externalId")?, place("name")?);
        let description = place("description")?;
        let (Some(external_id), Some(name)) = (external_id, name) else {
            return Err(ImportFileError(without_columns(&names)));
        };
        for (at, other) in names.iter().enumerate() {
            if ![Some(external_id), Some(name), description].contains(&Some(at)) {
                ignored.note(other);
            }
        }
        Ok(CsvColumns {
            external_id,
            name,
            description,
            count: names.len(),
        })
    }
}

/// Nothing is known of the text after the quote.
fn open(line: u64, unclosed: &str) -> ImportFileError {
    ImportFileError(format!(
        "The quote that opens on line {line} is not closed {unclosed}: nothing was read from that line on, and nothing was removed. Close it and import the whole file again."
    ))
}

fn breaks(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// `externalId`, `external_id` and `External ID` are the same name.
fn is(found: &str, wanted: &str) -> bool {
    let letters = |text: &str| {
        text.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    letters(found) == letters(wanted)
}

fn without_columns(names: &[&str]) -> String {
    let other = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")]
        .into_iter()
        .find(|(separator, _)| names.len() <= 2 && names.iter().any(|n| n.contains(*separator)));
    match other {
        Some((_, what)) => format!(
            "The header row is separated by {what}: save the file with commas between its fields."
        ),
        None => {
            let found: String = names.join(", ").chars().take(200).collect();
            format!(
                "The first line must name the columns externalId and name, and may name description; it reads: {found}"
            )
        }
    }
}
