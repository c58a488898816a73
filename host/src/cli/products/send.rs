//! Streams a file to the service. A separate thread reads it, no faster than the service accepts
//! it, and counts its lines. For a report of all refused lines, the thread also parses the lines
//! by the same rules as the service.

use std::collections::HashMap;
use std::fs::File;
use std::hash::BuildHasher as _;
use std::io::{self, BufWriter, Read, Write as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::{mpsc, oneshot};

use crate::cli::prelude::*;
use leadhost_pipeline::import::{ImportFormat, ImportReader};

/// Bytes of one piece, and pieces in flight.
const PIECE: usize = 64 << 10;
const PIECES: usize = 4;

/// An open file, and its format by its name or its first bytes.
pub struct SentFile {
    name: String,
    file: Box<dyn Read + Send>,
    first: Vec<u8>,
    pub format: ImportFormat,
}

impl SentFile {
    pub fn open(path: &Path, format: Option<ImportFormat>) -> CommandResult<Self> {
        let is_input = path == Path::new("-");
        let name = if is_input {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let failed = |error: io::Error| failed!("cannot read {name}: {error}");
        let mut file: Box<dyn Read + Send> = if is_input {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(failed)?)
        };
        let mut first = Vec::new();
        (&mut file)
            .take(PIECE as u64)
            .read_to_end(&mut first)
            .map_err(failed)?;
        let format = format
            .or_else(|| by_name(path))
            .unwrap_or_else(|| by_content(&first));
        Ok(Self {
            name,
            file,
            first,
            format,
        })
    }

    /// Starts to read the file. Returns the request body, the count of lines read so far, and the
    /// outcome of reading.
    pub fn send(
        self,
        report: Option<PathBuf>,
    ) -> (ImportBody, Arc<AtomicU64>, oneshot::Receiver<ReadOutcome>) {
        let (sender, pieces) = mpsc::channel(PIECES);
        let (ended, ending) = oneshot::channel();
        let lines = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lines);
        // If the service refuses, the thread is not awaited: it may block on a terminal.
        std::thread::spawn(move || {
            let outcome = self.read(report, &sender, &counted);
            let _ = ended.send(outcome);
        });
        (ImportBody(pieces), lines, ending)
    }

    fn read(
        mut self,
        report: Option<PathBuf>,
        pieces: &mpsc::Sender<io::Result<Bytes>>,
        lines: &AtomicU64,
    ) -> ReadOutcome {
        let mut report = report
            .map(|path| AllRefused::into(path, self.format))
            .transpose()?;
        let mut piece = std::mem::take(&mut self.first);
        while !piece.is_empty() {
            let breaks = piece.iter().map(|byte| u64::from(*byte == b'\n')).sum();
            lines.fetch_add(breaks, Ordering::Relaxed);
            if let Some(report) = &mut report {
                report.push(&piece)?;
            }
            if pieces.blocking_send(Ok(Bytes::from(piece))).is_err() {
                // The service refused the rest; its answer gives the reason.
                return Ok(None);
            }
            piece = Vec::with_capacity(PIECE);
            let next = (&mut self.file).take(PIECE as u64);
            if let Err(error) = { next }.read_to_end(&mut piece) {
                let message = format!("cannot read {}: {error}", self.name);
                // The body has no end, so the service treats the import as interrupted.
                let _ = pieces.blocking_send(Err(error));
                return Err(CommandFailure::new(message));
            }
        }
        report.map(AllRefused::end).transpose()
    }
}

/// The outcome of reading; with a report, the number of its lines.
pub type ReadOutcome = CommandResult<Option<u64>>;

fn by_name(path: &Path) -> Option<ImportFormat> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "csv" => Some(ImportFormat::Csv),
        "ndjson" | "jsonl" | "json" => Some(ImportFormat::Ndjson),
        _ => None,
    }
}

fn by_content(first: &[u8]) -> ImportFormat {
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    match first.trim_ascii_start().first() {
        Some(b'{' | b'[') => ImportFormat::Ndjson,
        _ => ImportFormat::Csv,
    }
}

pub struct ImportBody(mpsc::Receiver<io::Result<Bytes>>);

impl Body for ImportBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = self.0.poll_recv(context);
        next.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// Writes every refused line as a line of JSON.
struct AllRefused {
    path: PathBuf,
    file: BufWriter<File>,
    reader: ImportReader,
    rows: Vec<leadhost_pipeline::import::ImportRow>,
    hasher: std::hash::RandomState,
    /// The lines of external ids, by their hashes: eight bytes distinguish some millions.
    lines: HashMap<u64, u64>,
    refused: u64,
}

impl AllRefused {
    fn into(path: PathBuf, format: ImportFormat) -> CommandResult<Self> {
        let file = File::create(&path).map_err(|error| cannot_write(&path, &error))?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
            reader: ImportReader::new(format),
            rows: Vec::new(),
            hasher: std::hash::RandomState::new(),
            lines: HashMap::new(),
            refused: 0,
        })
    }

    fn push(&mut self, piece: &[u8]) -> CommandResult {
        // The service reports errors of the whole file.
        let _ = self.reader.push(piece, &mut self.rows);
        self.write()
    }

    fn end(mut self) -> CommandResult<u64> {
        let _ = self.reader.end(&mut self.rows);
        self.write()?;
        self.file
            .flush()
            .map_err(|error| cannot_write(&self.path, &error))?;
        Ok(self.refused)
    }

    fn write(&mut self) -> CommandResult {
        for row in self.rows.drain(..) {
            let message = match row.read {
                Err(message) => message,
                Ok(product) => {
                    let hash = self.hasher.hash_one(&product.external_id);
                    let first = *self.lines.entry(hash).or_insert(row.line);
                    if first == row.line {
                        continue;
                    }
                    format!(
                        "externalId `{}` is already on line {first}, which is used",
                        product.external_id
                    )
                }
            };
            self.refused += 1;
            let line = serde_json::json!({ "line": row.line, "message": message });
            writeln!(self.file, "{line}").map_err(|error| cannot_write(&self.path, &error))?;
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> CommandFailure {
    failed!("cannot write {}: {error}", path.display())
}
