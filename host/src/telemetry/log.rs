//! The log of the running service.

use std::io;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::config;
use crate::domain::text::written_out;

/// `log.filter` cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("`log.filter` is not a filter: {0}; write it like `info,leadhost=debug`")]
pub struct BadFilter(#[from] tracing_subscriber::filter::ParseError);

/// Sends the log to standard error, as text or as one JSON object per line. A second call
/// in one process has no effect.
///
/// # Errors
/// Returns [`BadFilter`] if `log.filter` cannot be parsed.
pub fn init_logging(config: &config::LogSection) -> Result<(), BadFilter> {
    // The task that watches the database reports connection failures, once.
    let filter = EnvFilter::try_new(format!("sqlx_core::pool=error,{}", config.filter))?;
    // Without colours: a line must not contain anything that a terminal interprets.
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // If the log cannot be written, this would report the failure to the same log, and
        // panic. Requests continue without a log.
        .log_internal_errors(false)
        .with_writer(|| EscapingWriter(std::io::stderr()));
    // This fails only if a subscriber is already set, as in tests.
    let _ = if config.format == "json" {
        log.json().flatten_event(true).try_init()
    } else {
        log.try_init()
    };
    Ok(())
}

/// Sends what the filter lets through to standard error, as text, and all events and spans to
/// `layer`. A second call in one process has no effect.
///
/// # Errors
/// Returns [`BadFilter`] if the filter cannot be parsed.
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
            assert!(!line.contains(crate::domain::text::is_active), "{text:?}");
            assert!(line.contains("forged") && line.contains("[2J"), "{text:?}");
            if json {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                assert_eq!(line["error"], hostile);
            }
        }
    }
}
