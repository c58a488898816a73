//! Writing of exported rows. The bytes are the same from either store, and equal to what serde
//! would write for the types of `domain::row`, which document the rows for clients.
//!
//! A row is written from its columns straight into the bytes of the answer. A page has a thousand
//! rows, and allocating a text for each value costs more than reading them all. Stored JSON is
//! copied without being parsed, so no number loses a digit and no key changes its place. A number that a
//! double would change is written as a text.
//!
//! The description of a table lists its exported columns. Columns are read by index, in that order.
//! A stamp that is not exported comes last.

use std::io::Write as _;
use std::mem;
use std::sync::LazyLock;

use super::{ColumnRef, RowColumns, unread};
use crate::prelude::*;
use crate::schema::{
    self,
    table::{ColumnSchema, TableSchema},
};
use crate::{ExportPage, sql};
use leadhost_config::memory;
use leadhost_domain::json;
use leadhost_domain::row::ExportRow;

/// A column of an exported row, and how it is written.
pub struct ExportField {
    column: &'static str,
    /// The key with the punctuation around it.
    key: String,
    kind: ExportKind,
    nullable: bool,
}

#[derive(Clone, Copy)]
enum ExportKind {
    Id,
    /// A number that is written as a time.
    Stamp,
    Text,
    Number,
    Time,
    Json,
}

/// The columns of an exported row, in their order.
pub type ExportFields = &'static [ExportField];

/// The fields of a row that is exported with its id only.
pub static ID: LazyLock<Vec<ExportField>> =
    LazyLock::new(|| vec![field(schema::CONTACTS.column("id"))]);

pub static CONTACT: LazyLock<Vec<ExportField>> = LazyLock::new(|| fields(&schema::CONTACTS));
pub static DEAL: LazyLock<Vec<ExportField>> = LazyLock::new(|| fields(&schema::DEALS));
pub static MESSAGE: LazyLock<Vec<ExportField>> = LazyLock::new(|| fields(&schema::MESSAGES));
pub static CONVERSATION: LazyLock<Vec<ExportField>> =
    LazyLock::new(|| fields(&schema::CONVERSATIONS));
pub static MESSAGE_ERROR: LazyLock<Vec<ExportField>> =
    LazyLock::new(|| fields(&schema::MESSAGE_ERRORS));

fn fields(table: &TableSchema) -> Vec<ExportField> {
    table.exported().into_iter().map(field).collect()
}

fn field(column: &ColumnSchema) -> ExportField {
    let kind = match column.kind {
        _ if column.name == STAMP => ExportKind::Stamp,
        sql::SqlType::Uuid => ExportKind::Id,
        sql::SqlType::Text => ExportKind::Text,
        sql::SqlType::Number => ExportKind::Number,
        sql::SqlType::Time => ExportKind::Time,
        sql::SqlType::Json => ExportKind::Json,
        sql::SqlType::Truth | sql::SqlType::Bytes => {
            panic!("column {} has a kind that is not exported", column.name)
        }
    };
    ExportField {
        column: column.name,
        key: format!(",\"{}\":", column.exported.unwrap_or(column.name)),
        kind,
        nullable: column.is_nullable,
    }
}

/// The column that holds the stamp of a row.
const STAMP: &str = "cursor_us";

/// Returns the columns to select for a row, in their order, including the stamp.
pub fn columns(fields: &[ExportField]) -> String {
    let mut names: Vec<_> = fields.iter().map(|field| field.column).collect();
    if !names.contains(&STAMP) {
        names.push(STAMP);
    }
    names.join(", ")
}

/// Returns the error for a feed that is only followed internally and never exported.
pub fn not_exported(entity: Entity) -> StoreError {
    StoreError::Inconsistent {
        what: format!("{} are not exported", entity.as_str()),
    }
}

/// A page that is being filled, limited in rows and in bytes. A row that exceeds the size of a page
/// gets a page of its own.
pub struct ExportPageBuilder {
    fields: ExportFields,
    /// The index of the stamp among the columns.
    stamp: usize,
    limit: usize,
    bytes: usize,
    rows: Vec<ExportRow>,
    pieces: Vec<Vec<u8>>,
    /// The piece that receives the next row.
    piece: Vec<u8>,
    more: bool,
}

impl ExportPageBuilder {
    /// Returns an empty page for rows with these fields. It holds at most `limit` rows.
    pub fn new(fields: ExportFields, limit: u32) -> Self {
        Self {
            fields,
            stamp: place_of_stamp(fields),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            bytes: 0,
            rows: Vec::new(),
            pieces: Vec::new(),
            piece: Vec::new(),
            more: false,
        }
    }

    /// Adds a row. Returns false if no further rows are wanted. Returns true for the row after the
    /// limit, because the query ends there: nothing is left unread, and the connection can be kept.
    pub fn add(&mut self, row: &sql::SqlRow<'_>) -> Result<bool, StoreError> {
        if self.rows.len() >= self.limit {
            self.more = true;
            return Ok(true);
        }
        // Estimated from the previous row: the rows of a feed are mostly alike, and a piece should
        // not outgrow its capacity.
        let before = self.rows.last().map_or(0, |row| row.bytes);
        if self.piece.len() + before >= limits::PIECE_BYTES {
            let next = Vec::with_capacity(limits::PIECE_BYTES);
            self.pieces.push(mem::replace(&mut self.piece, next));
        }
        let begin = self.piece.len();
        let stamp = row.get(self.stamp)?;
        write(self.fields, row, &mut self.piece)?;
        let bytes = self.piece.len() - begin;
        if !self.rows.is_empty() && self.bytes + bytes > memory::page_bytes() {
            self.piece.truncate(begin);
            self.more = true;
            return Ok(false);
        }
        self.piece.push(b'\n');
        self.bytes += bytes;
        self.rows.push(ExportRow { stamp, bytes });
        Ok(true)
    }

    /// Ends the page. `upper` is the bound in stamps that was applied, and `clock` is the feed
    /// clock of the same snapshot.
    pub fn done(mut self, upper: i64, clock: i64) -> ExportPage {
        if !self.piece.is_empty() {
            self.pieces.push(self.piece);
        }
        ExportPage {
            rows: self.rows,
            pieces: self.pieces,
            more: self.more,
            upper,
            clock,
        }
    }
}

/// A stamp that is not exported comes after the exported columns.
fn place_of_stamp(fields: &[ExportField]) -> usize {
    let leaves = |field: &ExportField| matches!(field.kind, ExportKind::Stamp);
    fields.iter().position(leaves).unwrap_or(fields.len())
}

fn write(fields: ExportFields, row: &impl RowColumns, to: &mut Vec<u8>) -> Result<(), StoreError> {
    let begin = to.len();
    for (place, field) in fields.iter().enumerate() {
        let column = ColumnRef::At(place);
        to.extend_from_slice(field.key.as_bytes());
        if !write_value(field.kind, row, column, to)? {
            if !field.nullable {
                return Err(unread(column, "null"));
            }
            to.extend_from_slice(b"null");
        }
    }
    // The first key has no comma before it.
    to[begin] = b'{';
    to.push(b'}');
    Ok(())
}

/// Writes a value. Returns false if it is null.
fn write_value(
    kind: ExportKind,
    row: &impl RowColumns,
    column: ColumnRef,
    to: &mut Vec<u8>,
) -> Result<bool, StoreError> {
    let written = match kind {
        ExportKind::Id => row.uuid_if(column)?.map(|id| write_id(id, to)),
        ExportKind::Stamp => row
            .number_if(column)?
            .map(|stamp| write_time(Micros(stamp), to)),
        ExportKind::Text => row.str_if(column)?.map(|text| write_text(text, to)),
        ExportKind::Number => row
            .number_if(column)?
            .map(|number| write_number(number, to)),
        ExportKind::Time => row.micros_if(column)?.map(|time| write_time(time, to)),
        ExportKind::Json => row.str_if(column)?.map(|json| json::push_exact(json, to)),
    };
    Ok(written.is_some())
}

// Writing to memory cannot fail.

fn write_id(id: Uuid, to: &mut Vec<u8>) {
    let mut text = Uuid::encode_buffer();
    to.push(b'"');
    to.extend_from_slice(id.hyphenated().encode_lower(&mut text).as_bytes());
    to.push(b'"');
}

fn write_time(time: Micros, to: &mut Vec<u8>) {
    match time.digits() {
        Some(digits) => {
            to.push(b'"');
            to.extend_from_slice(&digits);
            to.push(b'"');
        }
        None => write!(to, "\"{time}\"").expect("writing to memory succeeds"),
    }
}

fn write_number(number: i64, to: &mut Vec<u8>) {
    serde_json::to_writer(to, &number).expect("writing to memory succeeds");
}

fn write_text(text: &str, to: &mut Vec<u8>) {
    serde_json::to_writer(to, text).expect("writing to memory succeeds");
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use leadhost_domain::row::{
        ContactRow, ConversationRow, DealRow, IdRow, MessageErrorRow, MessageRow,
    };

    const ID_OF_ALL: Uuid = Uuid::from_u128(0x0198_0000_abcd_7000_8000_0123_4567_89ab);
    const STAMPED: i64 = 1_700_000_000_120_000;
    const TIME: Micros = Micros(1_893_456_000_000_001);
    const TEXT: &str = "\u{1}\t\"\\/ é😀\u{2028}\u{7f}";
    const JSON: &str = r#"{"z":1e400,"a":[1.50,null],"big":123456789012345678901234567890}"#;
    const EXPORTED: &str =
        r#"{"z":"1e400","a":[1.50,null],"big":"123456789012345678901234567890"}"#;

    /// Reads a SQLite row with these columns.
    fn with_row<T>(columns: &[SqlValue<'_>], read: impl FnOnce(&SqlRow<'_>) -> T) -> T {
        let connection = rusqlite::Connection::open_in_memory().expect("memory");
        let places: Vec<_> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let sql = format!("select {}", places.join(", "));
        let mut statement = connection.prepare(&sql).expect("it prepares");
        let columns = rusqlite::params_from_iter(columns);
        let mut rows = statement.query(columns).expect("it runs");
        let row = rows.next().expect("it reads").expect("a row");
        read(&SqlRow::Sqlite(row))
    }

    fn check<T: Serialize>(fields: ExportFields, columns: &[SqlValue<'_>], expect: &T) {
        let (stamp, json) = with_row(columns, |row| {
            let mut json = Vec::new();
            write(fields, row, &mut json).expect("it reads");
            let stamp: i64 = row.get(place_of_stamp(fields)).expect("a stamp");
            (stamp, json)
        });
        let expect = serde_json::to_string(expect).expect("a row is JSON");
        assert_eq!(String::from_utf8(json).expect("text"), expect);
        assert_eq!(stamp, STAMPED);
    }

    #[test]
    fn a_row_is_written_as_serde_writes_its_type() {
        let props = || RawValue::from_string(EXPORTED.to_owned()).expect("it is JSON");
        let (known, known_time, json) = (
            || ID_OF_ALL.to_string(),
            || SqlValue::Time(TIME),
            || SqlValue::Json(JSON.into()),
        );
        let word = || SqlValue::from(TEXT);
        let uuid = || SqlValue::from(ID_OF_ALL);
        let stamp = || SqlValue::from(STAMPED);
        for full in [true, false] {
            let number = full.then_some(-7_i64);
            let time = full.then_some(TIME);
            let text_of = full.then_some(TEXT);
            let id_of = full.then_some(ID_OF_ALL);
            let text = || text_of.map(str::to_owned);
            let id = || id_of.map(|id| id.to_string());
            check(&ID, &[uuid(), stamp()], &IdRow { id: known() });
            check(
                &CONTACT,
                &[
                    uuid(),
                    uuid(),
                    stamp(),
                    text_of.into(),
                    text_of.into(),
                    text_of.into(),
                    time.into(),
                    json(),
                ],
                &ContactRow {
                    id: known(),
                    workspace_id: known(),
                    cursor_at: Micros(STAMPED),
                    name: text(),
                    email: text(),
                    phone_number: text(),
                    banned_at: time,
                    props: props(),
                },
            );
            check(
                &DEAL,
                &[
                    uuid(),
                    uuid(),
                    stamp(),
                    uuid(),
                    number.into(),
                    id_of.into(),
                    word(),
                    text_of.into(),
                    json(),
                    known_time(),
                    known_time(),
                    word(),
                    id_of.into(),
                    text_of.into(),
                ],
                &DealRow {
                    id: known(),
                    workspace_id: known(),
                    cursor_at: Micros(STAMPED),
                    person_id: known(),
                    agent_id: number,
                    owner_id: id(),
                    status: TEXT.to_owned(),
                    title: text(),
                    props: props(),
                    created_at: TIME,
                    updated_at: TIME,
                    stage_code: TEXT.to_owned(),
                    product_id: id(),
                    external_id: text(),
                },
            );
            check(
                &MESSAGE,
                &[
                    uuid(),
                    uuid(),
                    stamp(),
                    uuid(),
                    known_time(),
                    word(),
                    word(),
                    text_of.into(),
                    json(),
                    time.into(),
                    time.into(),
                ],
                &MessageRow {
                    id: known(),
                    workspace_id: known(),
                    cursor_at: Micros(STAMPED),
                    conversation_id: known(),
                    created_at: TIME,
                    actor: TEXT.to_owned(),
                    kind: TEXT.to_owned(),
                    content: text(),
                    metadata: props(),
                    delivered_at: time,
                    read_at: time,
                },
            );
            check(
                &CONVERSATION,
                &[
                    uuid(),
                    uuid(),
                    stamp(),
                    uuid(),
                    id_of.into(),
                    number.into(),
                    text_of.into(),
                    text_of.into(),
                    text_of.into(),
                    word(),
                    known_time(),
                    known_time(),
                    time.into(),
                    time.into(),
                    time.into(),
                    time.into(),
                    time.into(),
                    time.into(),
                    time.into(),
                    json(),
                ],
                &ConversationRow {
                    id: known(),
                    workspace_id: known(),
                    cursor_at: Micros(STAMPED),
                    contact_id: known(),
                    deal_id: id(),
                    agent_id: number,
                    agent_type: text(),
                    source: text(),
                    channel: text(),
                    status: TEXT.to_owned(),
                    created_at: TIME,
                    updated_at: TIME,
                    first_message_at: time,
                    answered_at: time,
                    last_message_at: time,
                    no_response_at: time,
                    transferred_at: time,
                    appointment_at: time,
                    closed_at: time,
                    props: props(),
                },
            );
            check(
                &MESSAGE_ERROR,
                &[
                    uuid(),
                    uuid(),
                    stamp(),
                    text_of.into(),
                    id_of.into(),
                    id_of.into(),
                    number.into(),
                    id_of.into(),
                    text_of.into(),
                    word(),
                    text_of.into(),
                    text_of.into(),
                    text_of.into(),
                    text_of.into(),
                    text_of.into(),
                    known_time(),
                ],
                &MessageErrorRow {
                    id: known(),
                    workspace_id: known(),
                    cursor_at: Micros(STAMPED),
                    recipient_id: text(),
                    deal_id: id(),
                    conversation_id: id(),
                    agent_id: number,
                    message_id: id(),
                    external_id: text(),
                    error_code: TEXT.to_owned(),
                    error_title: text(),
                    error_description: text(),
                    error_details: text(),
                    template_name: text(),
                    channel: text(),
                    occurred_at: TIME,
                },
            );
        }
    }

    #[test]
    fn a_null_in_a_required_column_is_an_error() {
        let columns = [SqlValue::from(None::<Uuid>), SqlValue::from(STAMPED)];
        let read = with_row(&columns, |row| write(&ID, row, &mut Vec::new()));
        assert!(read.is_err());
    }

    /// Returns a contact whose row has this many bytes and some two hundred more.
    fn contact_of(bytes: usize) -> Vec<SqlValue<'static>> {
        vec![
            ID_OF_ALL.into(),
            ID_OF_ALL.into(),
            STAMPED.into(),
            "n".repeat(bytes).into(),
            SqlValue::from(None::<&str>),
            SqlValue::from(None::<&str>),
            SqlValue::from(None::<Micros>),
            SqlValue::Json("{}".into()),
        ]
    }

    #[test]
    fn rows_fill_pieces_and_are_never_split() {
        let check = |sizes: &[usize], limit: u32, expect: &[usize], more: bool| {
            let mut page = ExportPageBuilder::new(&CONTACT, limit);
            for bytes in sizes {
                let goes_on = with_row(&contact_of(*bytes), |row| page.add(row));
                assert!(goes_on.expect("it reads"));
            }
            let page = page.done(9, 10);
            assert_eq!((page.more, page.upper, page.clock), (more, 9, 10));
            for (text, bytes) in page.texts().into_iter().zip(sizes) {
                assert!(text.starts_with("{\"id\":\"") && text.ends_with(",\"props\":{}}"));
                assert!(text.len() > *bytes && text.len() < bytes + 400, "{bytes}");
            }
            let in_pieces = page.pieces.iter().map(|piece| {
                assert_eq!(piece.last(), Some(&b'\n'));
                piece.iter().filter(|byte| **byte == b'\n').count()
            });
            assert_eq!(in_pieces.collect::<Vec<_>>(), expect);
        };
        let piece = limits::PIECE_BYTES;
        check(&[], 10, &[], false);
        check(&[1, 1, 1], 3, &[3], false);
        check(&[1, 1, 1], 2, &[2], true);
        check(&[piece / 3; 5], 10, &[2, 2, 1], false);
        check(&[2 * piece, 1, 1, 2 * piece, 1], 10, &[1, 3, 1], false);
    }
}
