//! The log of the running service.

use std::io;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use leadhost_config as config;
use leadhost_domain::text::written_out;

/// `log.filter` cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("`log.filter` is not a filter: {0}; write it like `info,leadhost=debug`")]
pub struct BadFilter(#[from] tracing_subscriber::filter::ParseError);

/// Sends the log to standard error, as text or as one JSON object per line. A second call in one process
/// has no effect.
pub fn init_logging(config: &config::LogSection) -> Result<(), BadFilter> {
    // The task that watches the database reports connection failures, once.
    let filter = EnvFilter::try_new(format!("sqlx_core::pool=error,{}", config.filter))?;
    // Without colours: a line must not contain anything that a terminal interprets.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        // If the log cannot be written, this would report the failure to the same log, and
        // panic. Requests continue without a log.
        .log_internal_errors(false)
        .with_writer(|| EscapingWriter(std::io::stderr()));
    let lines = match config.format.as_str() {
        "json" => lines.json().flatten_event(true).boxed(),
        _ => lines.boxed(),
    };
    // This fails only if a subscriber is already set, as in tests.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init();
    Ok(())
}

/// Sends what the filter lets through to standard error, as text, and all events and spans to
/// `layer`. A second call in one process has no effect.
pub fn init_with(filter: &str, layer: impl Layer<Registry> + Send + Sync) -> Result<(), BadFilter> {
    let filter = EnvFilter::try_new(filter)?;
    let log = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(|| EscapingWriter(std::io::stderr()))
        .with_filter(filter);
    let _ = tracing_subscriber::registry()
        .with(layer)
        .with(log)
        .try_init();
    Ok(())
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
