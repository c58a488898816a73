//! The imports of a guest: none, or the parts of WASI 0.2 that interpreters need, made
//! harmless and deterministic.
//!
//! The wall clock always shows the delivery's time of receipt. The monotonic clock starts
//! at zero, advances a little with each reading, and skips sleeps, so that no guest holds a
//! thread by waiting. Random bytes derive from the delivery's id. There are no files, no
//! sockets, no environment and no arguments; standard output and error go into one bounded
//! log. So the same component with the same delivery returns the same bytes every time.

use std::collections::VecDeque;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::{
    DynPollable, OutputStream, Pollable, StreamError, StreamResult, subscribe,
};
use wasmtime_wasi::{WasiCtx, WasiCtxView};

use crate::guest_log;
use crate::prelude::*;
use leadhost_domain::text::is_active;
use leadhost_domain::time::{self};

/// Returns whether a component may import this interface, given its full name.
pub fn is_offered(import: &str) -> bool {
    const PACKAGES: [&str; 6] = ["cli", "io", "clocks", "random", "filesystem", "sockets"];
    import
        .strip_prefix("wasi:")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(package, interface)| {
            PACKAGES.contains(&package)
                && interface
                    .split_once('@')
                    .is_some_and(|(_, version)| version.starts_with("0.2."))
        })
}

/// The source of a guest's clocks and random numbers: the work, not the moment.
#[derive(Clone, Debug)]
pub struct CallEnvironment {
    now: Micros,
    seed: [u8; 32],
}

impl CallEnvironment {
    /// Returns the environment of a call. `seed` identifies the work: the delivery's id.
    /// `received_at` is the time that the wall clock shows, or the epoch if it cannot be
    /// parsed.
    pub fn new(seed: &str, received_at: &str) -> Self {
        Self {
            now: time::parse(received_at).unwrap_or_default(),
            seed: Sha256::digest(seed.as_bytes()).into(),
        }
    }

    /// Returns an environment for work that precedes a call. Its random numbers are unique, so that guests
    /// which keep some of them never repeat each other's.
    pub fn before_a_call() -> Self {
        Self::new(&Uuid::new_v4().to_string(), "")
    }
}

pub struct Wasi {
    ctx: WasiCtx,
    table: ResourceTable,
    output: GuestOutput,
    call: CallEnvironment,
    monotonic: u64,
    drawn: u64,
    /// Whether the guest has read the time, which derives from the call.
    time_was_read: bool,
}

impl Wasi {
    pub fn new(call: &CallEnvironment) -> Self {
        let output = GuestOutput::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::PLUGIN_HANDLES);
        let ctx = WasiCtx::builder()
            .stdout(output.clone())
            .stderr(output.clone())
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        Self {
            ctx,
            table,
            output,
            call: call.clone(),
            monotonic: 0,
            drawn: 0,
            time_was_read: false,
        }
    }

    /// Begins the call of an instance that was made for it, and forgets what the guest wrote
    /// before.
    pub fn begin(&mut self, call: &CallEnvironment) {
        self.call = call.clone();
        self.output.clear();
    }

    /// Returns whether the guest has read the time so far. Then its state depends on the call
    /// that it had. The monotonic clock is the same for all calls.
    pub fn time_was_read(&self) -> bool {
        self.time_was_read
    }

    pub fn view(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.ctx,
            table: &mut self.table,
        }
    }

    pub fn log_lines(&self) -> Vec<String> {
        guest_log::readable(self.output.lines())
    }

    fn draw(&mut self, count: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(count + 32);
        while out.len() < count {
            let mut hash = Sha256::new();
            hash.update(self.call.seed);
            hash.update(self.drawn.to_le_bytes());
            out.extend_from_slice(&hash.finalize());
            self.drawn += 1;
        }
        out.truncate(count);
        out
    }

    fn draw_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.draw(8));
        u64::from_le_bytes(bytes)
    }

    fn draw_checked(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        if count > limits::PLUGIN_RANDOM_BYTES {
            wasmtime::bail!(
                "{count} random bytes requested; at most {} are allowed in one call",
                limits::PLUGIN_RANDOM_BYTES
            );
        }
        Ok(self.draw(usize::try_from(count).expect("bounded above")))
    }

    fn sleep_until(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.monotonic = self.monotonic.max(when);
        let over = self.table.push(Over)?;
        subscribe(&mut self.table, over)
    }
}

impl wall_clock::Host for Wasi {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        // WASI counts from 1970 and knows no time before it.
        self.time_was_read = true;
        let since = self.call.now.since(Micros(0));
        Ok(wall_clock::Datetime {
            seconds: since.as_secs(),
            nanoseconds: since.subsec_nanos(),
        })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: 0,
            nanoseconds: 1_000,
        })
    }
}

impl monotonic_clock::Host for Wasi {
    fn now(&mut self) -> wasmtime::Result<u64> {
        // If the clock stood still, loops that wait for it would never end.
        self.monotonic = self.monotonic.saturating_add(1_000);
        Ok(self.monotonic)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1_000)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.sleep_until(when)
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.sleep_until(self.monotonic.saturating_add(duration))
    }
}

impl random::Host for Wasi {
    fn get_random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        self.draw_checked(count)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.draw_u64())
    }
}

impl insecure::Host for Wasi {
    fn get_insecure_random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        self.draw_checked(count)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.draw_u64())
    }
}

impl insecure_seed::Host for Wasi {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.draw_u64(), self.draw_u64()))
    }
}

/// A sleep that is over as soon as it is polled.
struct Over;

#[async_trait::async_trait]
impl Pollable for Over {
    async fn ready(&mut self) {}
}

/// Standard output and error together. Past the bound the earliest output is dropped without an
/// error: a verbose guest still does its work, and the end says why a guest failed.
#[derive(Clone, Default)]
struct GuestOutput(Arc<Mutex<LogTail>>);

#[derive(Default)]
struct LogTail {
    bytes: VecDeque<u8>,
    is_cut: bool,
}

/// Stands for the output that was dropped.
const CUT: &str = "(earlier output is left out)";

impl GuestOutput {
    fn append(&self, bytes: &[u8]) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = log.bytes.len() + bytes.len();
        let over = all.saturating_sub(limits::PLUGIN_LOG_BYTES);
        let old = over.min(log.bytes.len());
        log.bytes.drain(..old);
        log.bytes.extend(&bytes[over - old..]);
        log.is_cut |= over > 0;
    }

    fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = LogTail::default();
    }

    /// Returns the lines without characters that move a terminal's cursor. A line whose beginning
    /// was dropped is left out: it may begin with a part of a word that is masked where it is shown.
    fn lines(&self) -> Vec<String> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_cut = log.is_cut;
        let text = String::from_utf8_lossy(log.bytes.make_contiguous());
        let lines = text.lines().skip(usize::from(is_cut)).map(without_active);
        let cut = is_cut.then(|| CUT.to_owned());
        cut.into_iter().chain(lines).collect()
    }
}

fn without_active(line: &str) -> String {
    let mut line = line.replace('\t', "    ");
    line.retain(|c| !is_active(c));
    line
}

impl IsTerminal for GuestOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestOutput {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 uses this form, and it is not offered.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for GuestOutput {
    async fn ready(&mut self) {}
}

impl OutputStream for GuestOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.append(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wasi_0_2_is_offered_without_http_and_nothing_else_is() {
        for offered in [
            "wasi:cli/stdout@0.2.0",
            "wasi:io/streams@0.2.6",
            "wasi:sockets/tcp@0.2.3",
        ] {
            assert!(is_offered(offered), "{offered}");
        }
        for refused in [
            "wasi:http/outgoing-handler@0.2.0",
            "wasi:cli/stdout@0.3.0",
            "wasi:cli/stdout",
            "wasi:keyvalue/store@0.2.0",
            "env",
            "leadhost:converter/secrets@1.0.0",
        ] {
            assert!(!is_offered(refused), "{refused}");
        }
    }

    #[test]
    fn random_bytes_derive_from_the_seed() {
        let draw = |seed: &str| Wasi::new(&CallEnvironment::new(seed, "")).draw(40);
        assert_eq!(draw("a"), draw("a"));
        assert_ne!(draw("a"), draw("b"));
        let mut wasi = Wasi::new(&CallEnvironment::new("a", ""));
        assert_ne!(wasi.draw(32), wasi.draw(32));
    }

    #[test]
    fn the_wall_clock_stands_at_the_time_of_receipt() {
        let mut wasi = Wasi::new(&CallEnvironment::new("a", "2026-03-02T12:00:00.250000Z"));
        let now = wall_clock::Host::now(&mut wasi).expect("a time");
        assert_eq!(now.seconds, 1_772_452_800);
        assert_eq!(now.nanoseconds, 250_000_000);
    }

    #[test]
    fn without_a_time_of_receipt_since_1970_the_wall_clock_stands_at_its_beginning() {
        for received_at in ["", "soon", "1969-12-31T23:59:59.5Z"] {
            let mut wasi = Wasi::new(&CallEnvironment::new("a", received_at));
            let now = wall_clock::Host::now(&mut wasi).expect("a time");
            assert_eq!((now.seconds, now.nanoseconds), (0, 0), "{received_at}");
        }
    }

    #[test]
    fn a_sleep_is_over_at_once_and_the_clock_shows_it() {
        use monotonic_clock::Host as _;
        let mut wasi = Wasi::new(&CallEnvironment::new("a", ""));
        let before = wasi.now().expect("a time");
        wasi.subscribe_duration(3_600_000_000_000).expect("a sleep");
        assert!(wasi.now().expect("a time") >= before + 3_600_000_000_000);
    }

    #[test]
    fn a_log_past_its_bound_loses_its_beginning() {
        let log = GuestOutput::default();
        log.append(b"first\n");
        log.append(&vec![b'x'; limits::PLUGIN_LOG_BYTES]);
        let lines = log.lines();
        assert_eq!(lines, [CUT]);
        log.append(b"\nthe \x1b[1mend\n\tat src/lib.rs:3\r\n");
        assert_eq!(log.lines(), [CUT, "the [1mend", "    at src/lib.rs:3"]);
        for _ in 0..10_000 {
            log.append(b"one more line\n");
        }
        let bytes: usize = log.lines().iter().map(|line| line.len() + 1).sum();
        assert!(bytes <= limits::PLUGIN_LOG_BYTES + CUT.len() + 1, "{bytes}");
        assert_eq!(log.lines().last().expect("a line"), "one more line");
    }

    #[test]
    fn a_log_within_its_bound_is_whole() {
        let log = GuestOutput::default();
        log.append(&vec![b'x'; limits::PLUGIN_LOG_BYTES]);
        assert_eq!(log.lines()[0].len(), limits::PLUGIN_LOG_BYTES);
    }
}
