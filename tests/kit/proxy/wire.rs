//! The part of PostgreSQL's protocol that the proxy has to understand: the end of a
//! message, a client's request to commit, and the server's answer that the commit is
//! done.

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A client's request for encryption before it identifies itself, in either form.
const ENCRYPTION: [u32; 2] = [80_877_103, 80_877_104];

/// The largest message of a test; a longer one is an error.
const LONGEST: u32 = 256 << 20;

/// One whole message, as it went over the wire.
#[derive(Debug)]
pub struct Message {
    bytes: Vec<u8>,
    /// A client's first messages have no kind.
    has_kind: bool,
}

impl Message {
    /// Reads the next message; `None` at the end of the stream.
    pub async fn read(
        stream: &mut (impl AsyncRead + Unpin),
        has_kind: bool,
    ) -> io::Result<Option<Self>> {
        let head = if has_kind { 5 } else { 4 };
        let mut bytes = vec![0; head];
        match stream.read_exact(&mut bytes).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        };
        let length = u32::from_be_bytes(
            bytes[head - 4..]
                .try_into()
                .expect("a length has four bytes"),
        );
        if !(4..LONGEST).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.resize(head - 4 + length as usize, 0);
        stream.read_exact(&mut bytes[head..]).await?;
        Ok(Some(Self { bytes, has_kind }))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn kind(&self) -> u8 {
        if self.has_kind { self.bytes[0] } else { 0 }
    }

    fn body(&self) -> &[u8] {
        &self.bytes[if self.has_kind { 5 } else { 4 }..]
    }

    /// Whether a client asks for encryption before it identifies itself.
    pub fn asks_for_encryption(&self) -> bool {
        let code = self.body().first_chunk().copied().map(u32::from_be_bytes);
        !self.has_kind && code.is_some_and(|code| ENCRYPTION.contains(&code))
    }

    /// Whether the server reports that a transaction is committed.
    pub fn is_committed(&self) -> bool {
        self.kind() == b'C' && self.body() == b"COMMIT\0"
    }

    /// Whether a client waits for an answer after it.
    pub fn asks(&self) -> bool {
        matches!(self.kind(), b'Q' | b'S')
    }

    pub fn is_ready(&self) -> bool {
        self.kind() == b'Z'
    }
}

/// The intent of a client's message, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Meaning {
    commits: bool,
    names_table: bool,
}

/// The messages of a client so far: statements are prepared once and run by name.
pub struct Statements {
    table: String,
    named: HashMap<Vec<u8>, Meaning>,
    /// The transaction in progress has named the table.
    touched: bool,
}

impl Statements {
    /// Returns the state before the first message of a client. `table` is the name to look for,
    /// in lower case.
    pub fn new(table: &str) -> Self {
        Self {
            table: table.to_owned(),
            named: HashMap::new(),
            touched: false,
        }
    }

    /// Whether this message asks for the commit of a transaction that named the table.
    pub fn read_statement(&mut self, message: &Message) -> bool {
        let body = message.body();
        let meaning = match message.kind() {
            b'Q' => self.meaning(body),
            b'P' => {
                let mut parts = body.splitn(2, |byte| *byte == 0);
                let (name, rest) = (parts.next().unwrap_or(b""), parts.next().unwrap_or(b""));
                let meaning = self.meaning(rest);
                self.named.insert(name.to_vec(), meaning);
                return false;
            }
            b'B' => {
                let name = body.split(|byte| *byte == 0).nth(1).unwrap_or(b"");
                self.named.get(name).copied().unwrap_or_default()
            }
            _ => return false,
        };
        self.touched |= meaning.names_table;
        meaning.commits && std::mem::take(&mut self.touched)
    }

    fn meaning(&self, text: &[u8]) -> Meaning {
        let text = text.split(|byte| *byte == 0).next().unwrap_or(b"");
        let text = String::from_utf8_lossy(text).to_lowercase();
        Meaning {
            commits: text.split(';').any(|part| part.trim() == "commit"),
            names_table: text.contains(&self.table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &str) -> Message {
        let mut bytes = vec![kind];
        let length = u32::try_from(body.len() + 4).unwrap();
        bytes.extend(length.to_be_bytes());
        bytes.extend(body.as_bytes());
        Message {
            bytes,
            has_kind: true,
        }
    }

    #[tokio::test]
    async fn messages_are_taken_whole_from_a_stream() {
        let mut bytes = message(b'Q', "begin\0").bytes;
        bytes.extend(message(b'C', "COMMIT\0").bytes);
        let mut stream = bytes.as_slice();
        let first = Message::read(&mut stream, true).await.unwrap().unwrap();
        assert_eq!(first.kind(), b'Q');
        let second = Message::read(&mut stream, true).await.unwrap().unwrap();
        assert!(second.is_committed());
        assert!(Message::read(&mut stream, true).await.unwrap().is_none());
    }

    #[test]
    fn a_commit_in_any_form_counts_only_after_the_table_was_named() {
        let mut said = Statements::new("marks");
        let mut read_statement = |kind, body| said.read_statement(&message(kind, body));
        assert!(!read_statement(b'Q', "set synchronous_commit = on\0"));
        assert!(!read_statement(b'Q', "commit\0"));
        assert!(!read_statement(
            b'P',
            "s1\0insert into marks values ($1)\0\0\0"
        ));
        assert!(!read_statement(b'Q', "COMMIT\0"));
        assert!(!read_statement(b'B', "\0s1\0"));
        assert!(read_statement(b'Q', "COMMIT\0"));
        assert!(!read_statement(b'Q', "commit\0"));
        assert!(read_statement(
            b'Q',
            "insert into marks values (1); commit\0"
        ));
        assert!(!read_statement(b'P', "s2\0commit\0\0\0"));
        assert!(!read_statement(b'B', "\0s1\0"));
        assert!(read_statement(b'B', "\0s2\0"));
    }
}
