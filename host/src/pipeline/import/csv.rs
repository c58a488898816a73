//! Comma-separated values with a header row, quoted as RFC 4180 has it. Records
//! may come in any number of pieces, and one that is too long is passed over
//! without being held.
//!
//! A quote that is not closed makes the rest of the file one field, so nothing is
//! known of what follows: the file ends there as broken off, and is told by the
//! line where the quote opens.

use csv_core::ReadRecordResult;

use super::check;
use super::reader::{Ignored, Row, Wrong};
use crate::limits;
use crate::store::PlannedProduct;

/// Fields of a record: catalogues have some dozens.
const FIELDS: usize = 1_024;

pub struct Records {
    reader: csv_core::Reader,
    /// The fields of the record under way, one after the other, and where each ends.
    fields: Box<[u8]>,
    written: usize,
    ends: Box<[usize]>,
    ended: usize,
    /// It is too long: what comes of it is passed over.
    skipped: bool,
    /// How much of it was passed over, and the line on which the field begins that
    /// was under way then.
    dropped: usize,
    cut: u64,
    /// Line breaks that were read, in all and within the record under way.
    breaks: u64,
    inner: u64,
    columns: Option<Columns>,
}

/// Where the header has what a product is made of.
struct Columns {
    external_id: usize,
    name: usize,
    description: Option<usize>,
    count: usize,
}

impl Records {
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
        ignored: &mut Ignored,
        rows: &mut Vec<Row>,
    ) -> Result<(), Wrong> {
        // No bytes would mean the end.
        while !bytes.is_empty() {
            bytes = self.step(bytes, ignored, rows)?.0;
        }
        Ok(())
    }

    pub fn end(&mut self, ignored: &mut Ignored, rows: &mut Vec<Row>) -> Result<(), Wrong> {
        // A break ends what is under way, save within quotes: there it is one more
        // character. What they swallowed may be the rest of the catalogue.
        let inner = self.inner;
        self.push(b"\n", ignored, rows)?;
        if self.inner > inner {
            return Err(open(self.line_of_field(), "before the end of the file"));
        }
        while !self.step(&[], ignored, rows)?.1 {}
        Ok(())
    }

    /// What is left of the bytes, and whether this was the end.
    fn step<'a>(
        &mut self,
        bytes: &'a [u8],
        ignored: &mut Ignored,
        rows: &mut Vec<Row>,
    ) -> Result<(&'a [u8], bool), Wrong> {
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
        // A break in the field that was cut: its quote is open past the bound.
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
                // A break that ends the record is read already, or it is the next
                // byte after a carriage return, or there is none.
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

    /// Where a field begins in what is held: ends are counted from the record's
    /// begin, whatever was passed over.
    fn begin_of(&self, field: usize) -> usize {
        let end = field.checked_sub(1).map_or(0, |before| self.ends[before]);
        end.saturating_sub(self.dropped)
    }

    /// The line on which the field under way begins.
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
        ignored: &mut Ignored,
        rows: &mut Vec<Row>,
    ) -> Result<(), Wrong> {
        let Some(columns) = &self.columns else {
            if self.skipped {
                return Err(Wrong("The header row is too long to be one.".to_owned()));
            }
            let columns = self.header(ignored)?;
            self.columns = Some(columns);
            return Ok(());
        };
        if self.skipped {
            rows.push(Row::too_long(line));
            return Ok(());
        }
        let read = self.product(columns).map_err(|message| {
            let names = [columns.external_id, columns.name];
            // They are one line each: what has more may be other lines, swallowed.
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
        rows.push(Row { line, read });
        Ok(())
    }

    fn field(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends[..self.ended].get(place)?;
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.fields[begin..end])
    }

    fn product(&self, columns: &Columns) -> Result<PlannedProduct, String> {
        if self.ended != columns.count {
            let hint = if self.ended > columns.count {
                ": is a field with a comma not in quotes?"
            } else {
                ""
            };
            return Err(format!(
                "the line has {} fields where the header names {}{hint}",
                self.ended, columns.count
            ));
        }
        let text = |place: usize| self.field(place).map(check::text).transpose();
        let description = columns.description.map(text).transpose()?.flatten();
        check::product(text(columns.external_id)?, text(columns.name)?, description)
    }

    fn header(&self, ignored: &mut Ignored) -> Result<Columns, Wrong> {
        let names: Vec<&str> = (0..self.ended)
            .filter_map(|place| self.field(place))
            .map(|field| check::text(field).map(str::trim))
            .collect::<Result<_, _>>()
            .map_err(|message| Wrong(format!("The header row cannot be read: {message}.")))?;
        let place = |wanted: &str| -> Result<Option<usize>, Wrong> {
            let mut places = (0..).zip(&names).filter(|(_, name)| is(name, wanted));
            let first = places.next().map(|(place, _)| place);
            match places.next() {
                None => Ok(first),
                Some(_) => Err(Wrong(format!("The header row names {wanted} twice."))),
            }
        };
        let (external_id, name) = (place("externalId")?, place("name")?);
        let description = place("description")?;
        let (Some(external_id), Some(name)) = (external_id, name) else {
            return Err(Wrong(without_columns(&names)));
        };
        for (at, other) in names.iter().enumerate() {
            if ![Some(external_id), Some(name), description].contains(&Some(at)) {
                ignored.note(other);
            }
        }
        Ok(Columns {
            external_id,
            name,
            description,
            count: names.len(),
        })
    }
}

/// Nothing is known of what follows.
fn open(line: u64, unclosed: &str) -> Wrong {
    Wrong(format!(
        "The quote that opens on line {line} is not closed {unclosed}: from that line on nothing was read, and nothing was removed. Close it and import the whole file again."
    ))
}

fn breaks(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// `externalId`, `external_id` and `External ID` are one name.
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
                "The first line has to name the columns externalId and name, and description where there is one; it reads: {found}"
            )
        }
    }
}
