//! The log of the running service. Threads put lines into a bounded queue, and one thread writes them to
//! standard error. If the reader of the log stands still, that thread waits for it and nothing else does:
//! lines that find no room are dropped, counted, and reported when it reads again.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use super::register::{Counter, metrics};
use leadhost_config as config;
use leadhost_domain::limits;
use leadhost_domain::text::written_out;

/// `log.filter` cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("`log.filter` is not a filter: {0}; write it like `info,leadhost=debug`")]
pub struct BadFilter(#[from] tracing_subscriber::filter::ParseError);

metrics! {
    LogMetrics {
        dropped: Counter =
            add("log_lines_dropped", "Lines of the log that were lost: its reader stood still, or has closed it");
    }
}

impl LogMetrics {
    /// Sets the count to its value of now.
    pub fn refresh(&self) {
        let dropped = LINES.lost.load(Ordering::Relaxed);
        self.dropped.inner().store(dropped, Ordering::Relaxed);
    }
}

/// The log while it is in use: when this is dropped, waits a moment for its last lines to be written.
#[must_use]
pub struct Log(());

impl Drop for Log {
    fn drop(&mut self) {
        flush_log();
    }
}

/// Returns the lines that were lost since the start, if one was within [`limits::LOG_LOSS_SHOWN`].
pub fn lost_log_lines() -> Option<u64> {
    let lost_at = LINES.lock().lost_at?;
    let is_recent = lost_at.elapsed() < limits::LOG_LOSS_SHOWN;
    is_recent.then(|| LINES.lost.load(Ordering::Relaxed))
}

/// Returns when all lines are written, or [`limits::LOG_FLUSH`] has passed.
pub fn flush_log() {
    LINES.flush(limits::LOG_FLUSH);
}

/// Sends the log to standard error, as text or as one JSON object per line. A second call in one process
/// has no effect.
pub fn init_logging(config: &config::LogSection) -> Result<Log, BadFilter> {
    // The task that watches the database reports connection failures, once.
    let filter = EnvFilter::try_new(format!("sqlx_core::pool=error,{}", config.filter))?;
    // Without colours: a line must not contain anything that a terminal interprets.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        // If the log cannot be written, this would report the failure to the same log, and
        // panic. Requests continue without a log.
        .log_internal_errors(false)
        .with_writer(|| EscapingWriter(&LINES));
    let lines = match config.format.as_str() {
        "json" => lines.json().flatten_event(true).boxed(),
        _ => lines.boxed(),
    };
    // This fails only if a subscriber is already set, as in tests.
    let subscriber = tracing_subscriber::registry().with(filter).with(lines);
    if subscriber.try_init().is_ok() {
        begin();
    }
    Ok(Log(()))
}

/// Sends what the filter lets through to standard error, as text, and all events and spans to
/// `layer`. A second call in one process has no effect.
pub fn init_with(
    filter: &str,
    layer: impl Layer<Registry> + Send + Sync,
) -> Result<Log, BadFilter> {
    let filter = EnvFilter::try_new(filter)?;
    let log = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(|| EscapingWriter(&LINES))
        .with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(layer).with(log);
    if subscriber.try_init().is_ok() {
        begin();
    }
    Ok(Log(()))
}

/// Begins to write the lines, and logs panics, which would otherwise be written to standard error by the
/// thread that panics.
fn begin() {
    let write = || LINES.write_to(&mut io::stderr());
    std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(write)
        .expect("a process that starts may have one more thread");
    panic::set_hook(Box::new(|panicked| {
        let backtrace = Backtrace::capture();
        let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
        tracing::error!(
            thread = std::thread::current().name(),
            place = panicked.location().map(tracing::field::display),
            reason = panicked.payload_as_str(),
            backtrace = backtrace.as_ref().map(tracing::field::display),
            "panicked"
        );
        // The process may abort next.
        LINES.flush(limits::LOG_FLUSH_OF_A_PANIC);
    }));
}

/// The lines of the process that wait to be written.
static LINES: LineQueue = LineQueue::new();

struct LineQueue {
    waiting: Mutex<WaitingLines>,
    /// Lines have come, or all are written.
    changed: Condvar,
    /// Lines that were not written, since the start.
    lost: AtomicU64,
}

struct WaitingLines {
    lines: Vec<Vec<u8>>,
    bytes: usize,
    /// Lines that found no room since the last report.
    dropped: u64,
    /// When the last line was lost.
    lost_at: Option<Instant>,
    /// Lines that were taken out are being written.
    is_writing: bool,
}

impl LineQueue {
    const fn new() -> Self {
        Self {
            waiting: Mutex::new(WaitingLines {
                lines: Vec::new(),
                bytes: 0,
                dropped: 0,
                lost_at: None,
                is_writing: false,
            }),
            changed: Condvar::new(),
            lost: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingLines> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: Vec<u8>) {
        let mut waiting = self.lock();
        if waiting.bytes + line.len() > limits::LOG_BYTES_WAITING {
            waiting.dropped += 1;
            return self.lose(&mut waiting);
        }
        waiting.bytes += line.len();
        waiting.lines.push(line);
        self.changed.notify_all();
    }

    fn write_to(&self, log: &mut impl Write) -> ! {
        loop {
            let (lines, dropped) = self.take();
            if dropped > 0 {
                // It follows the lines that were there when the others found no room.
                tracing::warn!(
                    dropped,
                    "log lines dropped, nothing read the log for a while"
                );
            }
            for line in lines {
                if log.write_all(&line).is_err() {
                    self.lose(&mut self.lock());
                }
            }
        }
    }

    fn lose(&self, waiting: &mut WaitingLines) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        waiting.lost_at = Some(Instant::now());
    }

    /// Waits for lines, and takes all of them, with the number of those that were dropped after them.
    fn take(&self) -> (Vec<Vec<u8>>, u64) {
        let mut waiting = self.lock();
        waiting.is_writing = false;
        self.changed.notify_all();
        while waiting.lines.is_empty() {
            waiting = self
                .changed
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        waiting.is_writing = true;
        waiting.bytes = 0;
        let dropped = std::mem::take(&mut waiting.dropped);
        (std::mem::take(&mut waiting.lines), dropped)
    }

    fn flush(&self, limit: Duration) {
        let is_pending =
            |waiting: &mut WaitingLines| waiting.is_writing || !waiting.lines.is_empty();
        drop(
            self.changed
                .wait_timeout_while(self.lock(), limit, is_pending),
        );
    }
}

impl Write for &LineQueue {
    /// Takes one whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes lines of the log. Names and errors in them quote plugins, senders and remote
/// servers: characters that would begin another line or move a terminal's cursor are
/// escaped, in the plain format as in JSON.
struct EscapingWriter<W>(W);

impl<W: io::Write> io::Write for EscapingWriter<W> {
    /// The formatter passes one whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let (text, end) = match text.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (&*text, ""),
        };
        let safe = written_out(text, &[]);
        self.0.write_all(format!("{safe}{end}").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use super::*;

    #[derive(Clone, Default)]
    struct CapturedLog(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl io::Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut kept = self.0.lock().expect("one thread");
            kept.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_text_can_begin_a_log_line_or_move_the_cursor() {
        let hostile = "x\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J\u{9b}2J\u{202e}\u{85}\r";
        for json in [false, true] {
            let kept = CapturedLog::default();
            let out = kept.clone();
            let log = tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(move || EscapingWriter(out.clone()));
            let log_hostile = || {
                let span = tracing::info_span!("call", lead = hostile);
                let _inside = span.enter();
                tracing::warn!(plugin = hostile, error = %hostile, note = ?hostile, "{hostile}");
            };
            if json {
                let log = log.json().flatten_event(true).finish();
                tracing::subscriber::with_default(log, log_hostile);
            } else {
                tracing::subscriber::with_default(log.finish(), log_hostile);
            }
            let text =
                String::from_utf8(kept.0.lock().expect("one thread").clone()).expect("UTF-8");
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            let line = text.trim_end_matches('\n');
            assert!(!line.contains(leadhost_domain::text::is_active), "{text:?}");
            assert!(line.contains("forged") && line.contains("[2J"), "{text:?}");
            if json {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                assert_eq!(line["error"], hostile);
            }
        }
    }

    /// A call of a macro of `tracing` in the sources of the host.
    struct Event {
        level: String,
        name: String,
        fields: BTreeSet<String>,
        place: String,
    }

    /// Returns the events at `error`, `warn` and `info` of the sources, tests left out.
    fn events() -> Vec<Event> {
        let found = sources()
            .into_iter()
            .map(|(text, path)| events_of(&text, &path));
        found.flatten().collect()
    }

    /// Returns the text and the path of each source, tests left out.
    fn sources() -> Vec<(String, String)> {
        let mut sources = Vec::new();
        let mut folders = ["../../src", "../../crates"]
            .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
            .to_vec();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of sources") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).expect("a source");
                    let text = text
                        .split("#[cfg(test)]\nmod tests {")
                        .next()
                        .expect("a part");
                    sources.push((text.to_owned(), path.display().to_string()));
                }
            }
        }
        sources
    }

    fn events_of(text: &str, path: &str) -> Vec<Event> {
        let mut events = Vec::new();
        // The line of an answered request: `debug` for probes, else `info`.
        for (call, level) in [
            ("error", "error"),
            ("warn", "warn"),
            ("info", "info"),
            ("$level", "info"),
        ] {
            let macro_call = format!("tracing::{call}!(");
            for (at, _) in text.match_indices(&macro_call) {
                let arguments = arguments(&text[at + macro_call.len()..]);
                let place = format!("{path}:{}", text[..at].matches('\n').count() + 1);
                let message = arguments.iter().position(|one| one.starts_with('"'));
                let message = message.unwrap_or_else(|| panic!("{place} has no message"));
                let name = unquoted(&arguments[message]);
                assert!(
                    !name.contains('{'),
                    "{place}: the message is the name of an event, and what varies is a field"
                );
                let fields: BTreeSet<String> = arguments[..message]
                    .iter()
                    .filter(|one| !one.starts_with("target:"))
                    .map(|one| field(one))
                    .collect();
                refuse_reserved(&fields, &place);
                events.push(Event {
                    level: level.to_owned(),
                    name,
                    fields,
                    place,
                });
            }
        }
        events
    }

    /// Panics if a field has the name of a member that each line has in JSON: a parser would keep
    /// one of the two.
    fn refuse_reserved(fields: &BTreeSet<String>, place: &str) {
        for reserved in ["message", "level", "timestamp", "target", "span", "spans"] {
            assert!(
                !fields.contains(reserved),
                "{place}: a field named `{reserved}` replaces the line's own `{reserved}`"
            );
        }
    }

    #[test]
    fn no_field_has_the_name_of_a_part_of_the_line() {
        // Those at `debug` and `trace` are in no guide, but in the same log.
        for (text, path) in sources() {
            for call in ["debug", "trace", "info_span", "debug_span"] {
                let macro_call = format!("tracing::{call}!(");
                for (at, _) in text.match_indices(&macro_call) {
                    let place = format!("{path}:{}", text[..at].matches('\n').count() + 1);
                    let all = arguments(&text[at + macro_call.len()..]);
                    let fields = all.iter().filter(|one| !one.starts_with(['"', '&']));
                    refuse_reserved(&fields.map(|one| field(one)).collect(), &place);
                }
            }
        }
        assert!(!events().is_empty());
    }

    /// Returns the arguments of a macro, whose call begins before `text`.
    fn arguments(text: &str) -> Vec<String> {
        let (mut arguments, mut current) = (Vec::new(), String::new());
        let (mut depth, mut in_text) = (0, false);
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' if in_text => {
                    current.push(character);
                    current.extend(characters.next());
                    continue;
                }
                '"' => in_text = !in_text,
                _ if in_text => {}
                '(' | '[' | '{' => depth += 1,
                ')' if depth == 0 => break,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    arguments.push(std::mem::take(&mut current).trim().to_owned());
                    continue;
                }
                _ => {}
            }
            current.push(character);
        }
        arguments.push(current.trim().to_owned());
        arguments.retain(|argument| !argument.is_empty());
        arguments
    }

    /// Returns the text of a literal, whose lines may be continued.
    fn unquoted(literal: &str) -> String {
        let mut lines = literal.trim_matches('"').split("\\\n");
        let first = lines.next().unwrap_or_default().to_owned();
        lines.fold(first, |text, line| text + line.trim_start())
    }

    /// Returns the name of a field, written as `name = …`, `%name` or `name`.
    fn field(argument: &str) -> String {
        let name = argument.split('=').next().expect("a part").trim();
        name.trim_start_matches(['%', '?']).to_owned()
    }

    const CATALOGUE: &str = include_str!("../../../../docs/logs.md");

    /// Returns the cells of the tables of a section, without backticks around names.
    fn rows(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        rows.map(|row| {
            let cells = row.trim_matches('|').split(" |");
            cells.map(|cell| cell.trim().to_owned()).collect()
        })
    }

    fn names(cell: &str) -> BTreeSet<String> {
        let names = cell.split(',').map(|name| name.trim().trim_matches('`'));
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_guide_lists_every_event_and_no_other() {
        let (fields, tables) = CATALOGUE
            .split_once("\n## Start and stop\n")
            .expect("it begins with the fields");
        let listed: BTreeMap<String, (String, BTreeSet<String>)> = rows(tables)
            .map(|row| {
                let name = row[0].trim_matches('`').replace("\\`", "`");
                (name, (row[1].clone(), names(&row[2])))
            })
            .collect();
        let mut logged: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
        for event in events() {
            let one = logged.entry(event.name.clone()).or_default();
            assert!(
                one.0.is_empty() || one.0 == event.level,
                "{}: `{}` has another level elsewhere",
                event.place,
                event.name
            );
            one.0 = event.level;
            one.1.extend(event.fields);
        }
        let missing: Vec<_> = logged
            .keys()
            .filter(|name| !listed.contains_key(*name))
            .collect();
        assert!(
            missing.is_empty(),
            "docs/logs.md has no row for {missing:#?}"
        );
        let unknown: Vec<_> = listed
            .keys()
            .filter(|name| !logged.contains_key(*name))
            .collect();
        assert!(
            unknown.is_empty(),
            "docs/logs.md lists, and nothing logs {unknown:#?}"
        );
        for (name, found) in &logged {
            assert_eq!(&listed[name], found, "docs/logs.md: {name}");
        }
        let explained: BTreeSet<String> = rows(fields).flat_map(|row| names(&row[0])).collect();
        let used: BTreeSet<String> = logged.into_values().flat_map(|event| event.1).collect();
        let unknown: Vec<_> = explained.difference(&used).collect();
        assert!(
            unknown.is_empty(),
            "docs/logs.md explains, and nothing logs {unknown:?}"
        );
    }
}
