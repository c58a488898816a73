//! Reads the lines of a catalogue as its bytes arrive. A wrong line is reported and reading
//! continues; a fault of the whole file ends it. At most one line is held, however long the
//! file is.

use super::csv::CsvReader;
use super::ndjson::NdjsonReader;
use super::row::{IgnoredColumns, ImportFileError, ImportRow};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    Ndjson,
    Csv,
}

pub struct ImportReader {
    reader: FormatReader,
    ignored: IgnoredColumns,
    /// The first bytes, until they suffice to recognise a byte order mark.
    first: Option<Vec<u8>>,
}

enum FormatReader {
    Ndjson(NdjsonReader),
    Csv(Box<CsvReader>),
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of a zip archive, and so of a spreadsheet.
const ZIP_MARK: &[u8] = b"PK\x03\x04";

impl ImportReader {
    pub fn new(format: ImportFormat) -> Self {
        Self {
            reader: match format {
                ImportFormat::Ndjson => FormatReader::Ndjson(NdjsonReader::default()),
                ImportFormat::Csv => FormatReader::Csv(Box::new(CsvReader::new())),
            },
            ignored: IgnoredColumns::default(),
            first: Some(Vec::new()),
        }
    }

    pub fn push(&mut self, bytes: &[u8], rows: &mut Vec<ImportRow>) -> Result<(), ImportFileError> {
        let Some(first) = &mut self.first else {
            return self.read(bytes, rows);
        };
        first.extend_from_slice(bytes);
        // The longest of the marks.
        if first.len() < ZIP_MARK.len() {
            return Ok(());
        }
        self.begin(rows)
    }

    pub fn end(&mut self, rows: &mut Vec<ImportRow>) -> Result<(), ImportFileError> {
        self.begin(rows)?;
        match &mut self.reader {
            FormatReader::Ndjson(lines) => lines.end(&mut self.ignored, rows),
            FormatReader::Csv(records) => records.end(&mut self.ignored, rows),
        }
    }

    /// Returns the names of some fields that no product has.
    pub fn ignored(&self) -> &[String] {
        self.ignored.names()
    }

    fn begin(&mut self, rows: &mut Vec<ImportRow>) -> Result<(), ImportFileError> {
        let Some(first) = self.first.take() else {
            return Ok(());
        };
        if first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff") {
            return Err(ImportFileError(
                "The file is UTF-16: save it as UTF-8.".to_owned(),
            ));
        }
        if first.starts_with(b"\x1f\x8b") || first.starts_with(ZIP_MARK) {
            return Err(ImportFileError(
                "The file is compressed or a spreadsheet: unpack it, or export it as CSV or NDJSON."
                    .to_owned(),
            ));
        }
        let text = match self.reader {
            FormatReader::Ndjson(_) => first.strip_prefix(UTF8_MARK).unwrap_or(&first),
            // The CSV reader skips one mark itself, and a second one only if that arrives
            // in one piece.
            FormatReader::Csv(_) => &first,
        };
        self.read(text, rows)
    }

    fn read(&mut self, bytes: &[u8], rows: &mut Vec<ImportRow>) -> Result<(), ImportFileError> {
        match &mut self.reader {
            FormatReader::Ndjson(lines) => lines.push(bytes, &mut self.ignored, rows),
            FormatReader::Csv(records) => records.push(bytes, &mut self.ignored, rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::limits;

    #[test]
    fn a_second_byte_order_mark_belongs_to_the_text() {
        let text = "\u{feff}\u{feff}externalId,name\n1,a\n";
        let wrong = read(ImportFormat::Csv, text.as_bytes()).expect_err("no such column");
        assert!(wrong.0.contains("\u{feff}externalId"), "{wrong}");
    }

    #[test]
    fn unknown_fields_are_reported_once_and_in_order() {
        let long = "x".repeat(200);
        let line = format!(r#"{{"externalId":"1","name":"a","{long}":1,"z":2,"b":3}}"#);
        let mut reader = ImportReader::new(ImportFormat::Ndjson);
        let text = format!("{line}\n{line}\n");
        reader.push(text.as_bytes(), &mut Vec::new()).expect("rows");
        assert_eq!(reader.ignored(), ["b", &long[..100], "z"]);
    }

    /// Reads a text in pieces of any size. Returns `line id/name/description`, or `line !`
    /// and why the line is refused.
    fn read(format: ImportFormat, text: &[u8]) -> Result<Vec<String>, ImportFileError> {
        let in_pieces = |size: usize| -> Result<Vec<String>, ImportFileError> {
            let mut reader = ImportReader::new(format);
            let mut rows = Vec::new();
            for piece in text.chunks(size) {
                reader.push(piece, &mut rows)?;
            }
            reader.end(&mut rows)?;
            Ok(rows
                .into_iter()
                .map(|row| match row.read {
                    Ok(p) => {
                        let description = p.description.unwrap_or_default();
                        format!("{} {}/{}/{description}", row.line, p.external_id, p.name)
                    }
                    Err(message) => format!("{} !{message}", row.line),
                })
                .collect())
        };
        let whole = in_pieces(text.len().max(1));
        for size in [1, 2, 3, 7] {
            assert_eq!(in_pieces(size), whole, "in pieces of {size}");
        }
        whole
    }

    fn csv(text: &[u8]) -> Vec<String> {
        read(ImportFormat::Csv, text).expect("it can be read")
    }

    fn ndjson(text: &[u8]) -> Vec<String> {
        read(ImportFormat::Ndjson, text).expect("it can be read")
    }

    fn wrong(format: ImportFormat, text: &[u8], part: &str) {
        let ImportFileError(message) = read(format, text).expect_err(part);
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn csv_is_read_with_quotes_breaks_and_marks() {
        let text = "\u{feff}name,External ID,price,description\r\n\
            House,1,9,\r\n\
            \"A \"\"fine\"\" house, new\",2,9,\"two\r\nlines\"\r\n\
            \r\n\
            Last,3,9,x";
        assert_eq!(
            csv(text.as_bytes()),
            [
                "2 1/House/",
                "3 2/A \"fine\" house, new/two\r\nlines",
                "6 3/Last/x"
            ]
        );
        assert_eq!(csv(b"externalId,name\n1,a\n2,b\n"), ["2 1/a/", "3 2/b/"]);
        assert_eq!(csv(b"externalId,name\n"), [""; 0]);
        assert_eq!(csv(b""), [""; 0]);
    }

    #[test]
    fn a_wrong_line_of_csv_does_not_stop_the_others() {
        let text = b"externalId,name\n1\n2,b,c\n3,S\xe3o\n\"4\",\"x\ny\"\n5,e\n";
        let read = csv(text);
        assert!(read[0].starts_with("2 !the line has 1 fields"), "{read:?}");
        assert!(read[1].contains("not in quotes"), "{read:?}");
        assert!(
            read[2].starts_with("4 !character 2 is not UTF-8"),
            "{read:?}"
        );
        assert!(
            read[3].starts_with("5 !name contains the control"),
            "{read:?}"
        );
        assert_eq!(read[4], "7 5/e/");
        // A quote that is closed too late has swallowed lines.
        let read = csv(b"externalId,name\n1,\"a\n2,b\"\n3,c\n");
        assert!(
            read[0].starts_with("2 !name contains the control"),
            "{read:?}"
        );
        assert!(read[0].ends_with("is a quote on this line not closed?"));
        assert_eq!(read[1], "4 3/c/");
        let mut long = b"externalId,name\n1,".to_vec();
        long.resize(limits::IMPORT_LINE_BYTES + 100, b'x');
        long.extend(b"\n2,b\n");
        let read = csv(&long);
        assert!(read[0].starts_with("2 !the line is longer"), "{read:?}");
        assert_eq!(read[1], "3 2/b/");
    }

    #[test]
    fn a_file_of_csv_ends_where_a_quote_is_not_closed() {
        let refused = |text: &[u8], part| wrong(ImportFormat::Csv, text, part);
        // The swallowed text looks like a description, and is none.
        refused(
            b"externalId,name,description\n1,a,b\n2,c,\"d\n3,e,f\n4,g,h\n",
            "opens on line 3 is not closed before the end",
        );
        refused(
            b"externalId,name,description\r\n\r\n1,\"a\",\"b\r\nc\"\r\n2,\"c\nd\",\"e",
            "opens on line 6 is",
        );
        refused(b"externalId,\"name\n1,a\n", "opens on line 1 is");
        refused(b"externalId,name\n1,\"a\"\"", "opens on line 2 is");
        let closed = b"externalId,name,description\n1,a,\"b\nc\"";
        assert_eq!(csv(closed), ["2 1/a/b\nc"]);
        let mut open = b"externalId,name\n1,\"a\n".to_vec();
        open.resize(limits::IMPORT_LINE_BYTES + 100, b'\n');
        refused(&open, "opens on line 2 is not closed within");
        // The record was already too long.
        let mut open = b"externalId,name\n1,".to_vec();
        open.resize(limits::IMPORT_LINE_BYTES + 100, b'x');
        open.extend(b",\"b\nc\",\"d\n2,e\n");
        refused(&open, "opens on line 3 is not closed before");
        // A quote past the bound that is closed is no such fault.
        let mut closed = b"externalId,name,x,description\n1,a,".to_vec();
        closed.resize(limits::IMPORT_LINE_BYTES + 100, b'x');
        closed.extend(b",\"b\nc\"\n2,b,,\n");
        let read = csv(&closed);
        assert!(read[0].starts_with("2 !the line is longer"), "{read:?}");
        assert_eq!(read[1], "4 2/b/");
        // The lines before it were read.
        let (mut reader, mut rows) = (ImportReader::new(ImportFormat::Csv), Vec::new());
        let text = b"externalId,name\n1,a\n2,\"b\n3,c\n";
        reader.push(text, &mut rows).expect("it may go on");
        reader.end(&mut rows).expect_err("it is open");
        assert_eq!(rows.len(), 1);
    }

    #[test]
    fn a_file_that_is_not_comma_separated_is_refused_as_a_whole() {
        let refused = |text: &[u8], part| wrong(ImportFormat::Csv, text, part);
        refused(b"externalId;name\n1;a\n", "semicolons");
        refused(b"externalId\tname\n1\ta\n", "tabs");
        refused(b"1,House\n", "it reads: 1, House");
        refused(b"name,name,externalId\n", "names name twice");
        refused(b"\xff\xfee\0x\0", "UTF-16");
        refused(b"PK\x03\x04", "spreadsheet");
    }

    #[test]
    fn ndjson_is_read_line_by_line() {
        let text = "\u{feff}{\"externalId\":\"1\",\"name\":\"Ca\\u00e7a\"}\r\n\n\
            {\"name\": \"B\", \"external\\u0049d\": \"2\", \"description\": null, \"price\": 7}";
        assert_eq!(ndjson(text.as_bytes()), ["1 1/Caça/", "3 2/B/"]);
        let mut reader = ImportReader::new(ImportFormat::Ndjson);
        reader
            .push(text.as_bytes(), &mut Vec::new())
            .expect("it reads");
        reader.end(&mut Vec::new()).expect("it ends");
        assert_eq!(reader.ignored(), ["price"]);
    }

    #[test]
    fn a_wrong_line_of_ndjson_does_not_stop_the_others() {
        let mut text = b"{\"externalId\":1,\"name\":\"a\"}\n{\"name\":\n5\n".to_vec();
        text.extend(b"{\"externalId\":\"4\",\"name\":\"\\ud800\"}\n{\"externalId\":\"");
        text.resize(text.len() + limits::IMPORT_LINE_BYTES, b'x');
        text.extend(b"\"}\n{\"externalId\":\"6\",\"name\":\"f\"}\n");
        let read = ndjson(&text);
        assert!(read[0].contains("1 !externalId is a number"), "{read:?}");
        assert!(
            read[1].contains("2 !the line is not a JSON object: EOF"),
            "{read:?}"
        );
        assert!(read[2].contains("3 !the line is not a JSON object: expected {"));
        assert!(read[3].contains("4 !name is not text"), "{read:?}");
        assert!(read[4].contains("5 !the line is longer than"), "{read:?}");
        assert_eq!(read[5], "6 6/f/");
        wrong(ImportFormat::Ndjson, b"[\n{}]", "JSON array");
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{cuts, damaged, holds, pieces};

    use super::*;

    fn read(format: ImportFormat, parts: &[&[u8]]) -> (Vec<String>, String) {
        let mut reader = ImportReader::new(format);
        let mut rows = Vec::new();
        let mut push = || -> Result<(), ImportFileError> {
            for part in parts {
                reader.push(part, &mut rows)?;
            }
            reader.end(&mut rows)
        };
        let ended = push().map_err(|wrong| wrong.0);
        let ignored = reader.ignored();
        for (place, name) in ignored.iter().enumerate() {
            assert!(!ignored[..place].contains(name), "{name} is reported twice");
        }
        let ignored = ignored.join(",");
        let rows = rows
            .iter()
            .map(|row| format!("{}: {:?}", row.line, row.read));
        (rows.collect(), format!("{ended:?} {ignored}"))
    }

    #[test]
    fn fuzz_a_catalogue_in_any_pieces_has_the_same_rows() {
        let seeds = [
            "externalId,name,description,other\r\n1,\"a, \"\"b\"\"\",\"two\nlines\",x\r\n2,b,,\r\n",
            "\u{feff}externalId;name\n1,a\n\n\n2\n",
            "{\"externalId\":\"1\",\"name\":\"a\",\"other\":1}\n\n{\"externalId\":2}\r\n{\n",
        ];
        let words = [
            "\"",
            "\"\"",
            "\n",
            "\r",
            "\r\n",
            ",",
            "{",
            "}",
            "externalId",
            "\u{feff}",
        ];
        holds(1_500, (damaged(seeds, &words), cuts()), |(file, cuts)| {
            for format in [ImportFormat::Csv, ImportFormat::Ndjson] {
                let whole = read(format, &[&file.0]);
                let parts = pieces(file, cuts);
                assert_eq!(read(format, &parts), whole);
            }
        });
    }
}
