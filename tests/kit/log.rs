//! Captures what a host logs during a test. It sees the threads of its own test only: a
//! test that needs every line runs on one thread, as tests do by default.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Lines since the capture began, or since they were last taken.
pub struct Log {
    text: Text,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures every event of the service, and the important ones of its libraries.
    pub fn capture() -> Self {
        // While there is only one subscriber, a callsite that another test's thread
        // reaches first is cached as disabled for all threads.
        static ANOTHER: OnceLock<Dispatch> = OnceLock::new();
        ANOTHER.get_or_init(|| Dispatch::new(NoSubscriber::default()));
        let text = Text::default();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("info,leadhost=trace"))
            .with_ansi(false)
            .with_writer(text.clone())
            .finish();
        Self {
            text,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.text.lock());
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Text {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Text {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
