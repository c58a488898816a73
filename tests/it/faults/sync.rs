//! No 2xx before the commit is synced. strace records the system calls of the program in
//! order: the write of a lead to the log of the file, the sync of that log, the write of
//! the answer.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leadhost_tests::load::post;
use leadhost_tests::program::{binary, preloaded};
use leadhost_tests::{Hosts, On, eventually, figures, left_out};

const SENDERS: usize = 16;

/// The prefix of each lead's id, followed by this many digits.
const NAME: &[u8] = b"synced-";
const DIGITS: usize = 7;

/// More than a page of the file, so that whole pages are recorded.
const STRING: &str = "6000";

const CALLS: &str = "trace=write,pwrite64,writev,pwritev,sendto,sendmsg,fsync,fdatasync";

const NO_SYNC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/it/faults/nosync.c");

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acknowledged_before_its_commit_is_synced() {
    let count = figures::size("LEADHOST_SYNCED", 100, 300);
    let seen = available!(watched(count, None));
    assert_eq!(seen.answered, count, "every answer was seen");
    assert_eq!(seen.early, [0; 0], "leads answered before their sync");
    let figure = format!(
        "{count} leads from {SENDERS} senders under strace, {} syncs: 0 answered before their sync",
        seen.syncs
    );
    figures::record("sync", Some(&On::Sqlite), None, &figure);
}

/// The control: the same analysis finds early answers on a disk that never syncs.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_never_syncs_is_detected() {
    const COUNT: usize = 100;
    let tools = tempfile::tempdir().expect("a folder");
    let library = preloaded(tools.path(), NO_SYNC);
    let seen = available!(watched(COUNT, Some(&library)));
    assert_eq!((seen.answered, seen.early.len()), (COUNT, COUNT));
    let figure = format!("control, a disk that never syncs: {COUNT} of {COUNT} found");
    figures::record("sync", Some(&On::Sqlite), None, &figure);
}

/// Records the calls of the program while this many leads come in. `None`, after printing
/// the reason, if they cannot be traced.
async fn watched(count: usize, preload: Option<&Path>) -> Option<CallAnalysis> {
    let looks = Command::new("strace")
        .args(["-D", "-f", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    if !looks.is_ok_and(|status| status.success()) {
        left_out("the system calls of the program cannot be traced here; apt-get install strace");
        return None;
    }
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let path: Arc<str> = hosts.ingest("portal").into();
    let tools = tempfile::tempdir().expect("a folder");
    let calls = tools.path().join("calls");
    let mut program = Command::new("strace");
    // The started process becomes the program, and the tracer is another one.
    program.args(["-D", "-f", "-y", "--seccomp-bpf"]);
    program.args(["-s", STRING, "-e", CALLS, "-e", "signal=none", "-o"]);
    program.arg(&calls);
    if let Some(library) = preload {
        program.arg("-E");
        program.arg(format!("LD_PRELOAD={}", library.display()));
    }
    program.arg(binary());
    let service = hosts.start_as(0, program, &[]).await;
    let to = service.address("gateway");
    let next = Arc::new(AtomicUsize::new(0));
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let (path, next) = (Arc::clone(&path), Arc::clone(&next));
            tokio::spawn(async move {
                let mut connection = None;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let id = format!("synced-{number:0DIGITS$}");
                    let answer = post(&mut connection, to, &path, &id).await;
                    assert_eq!(answer, Some(true), "{id}");
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.expect("a sender ends by itself");
    }
    let ended = format!("{:<5} +++ exited", service.process().as_raw_nonzero().get());
    assert!(service.stop());
    eventually("strace has written all", async || {
        let mut file = std::fs::File::open(&calls).expect("strace wrote");
        let length = file.seek(SeekFrom::End(0)).expect("a file");
        let end = SeekFrom::Start(length.saturating_sub(4_096));
        let mut text = Vec::new();
        file.seek(end).expect("a file");
        file.read_to_end(&mut text).expect("a file");
        contains(&text, ended.as_bytes())
    })
    .await;
    let seen = tokio::task::spawn_blocking(move || CallAnalysis::read(calls));
    Some(seen.await.expect("no panic"))
}

/// The analysis of the calls, one after the other.
#[derive(Default)]
struct CallAnalysis {
    answered: usize,
    /// Leads that were answered before the sync of their write had ended.
    early: Vec<usize>,
    syncs: usize,
    /// The call that wrote each lead to the log of the file, by its place among all
    /// calls.
    written: HashMap<usize, usize>,
    /// Completed syncs cover every call before this one.
    covered: usize,
    /// Calls that have begun and not ended, by thread.
    begun: HashMap<Vec<u8>, Begun>,
    /// A lead is answered once.
    answered_leads: HashSet<usize>,
}

enum Begun {
    Write(Vec<usize>),
    Sync(usize),
}

impl CallAnalysis {
    fn read(calls: PathBuf) -> Self {
        let file = std::fs::File::open(&calls).expect("strace wrote");
        let mut lines = BufReader::with_capacity(1 << 20, file);
        let mut seen = Self::default();
        let mut line = Vec::new();
        for place in 0.. {
            line.clear();
            if lines.read_until(b'\n', &mut line).expect("a file") == 0 {
                break;
            }
            seen.call(place, line.trim_ascii());
        }
        seen
    }

    /// Reads one line: a thread and its call, or the beginning or the end of a call.
    fn call(&mut self, place: usize, line: &[u8]) {
        let Some(end) = line.iter().position(u8::is_ascii_whitespace) else {
            return;
        };
        let (thread, call) = (line[..end].to_vec(), line[end..].trim_ascii_start());
        if call.starts_with(b"<...") {
            match self.begun.remove(&thread) {
                Some(Begun::Write(leads)) => self.wrote(place, &leads),
                Some(Begun::Sync(since)) if call.ends_with(b"= 0") => self.synced(since),
                _ => {}
            }
            return;
        }
        let name = call.split(|byte| *byte == b'(').next().unwrap_or(call);
        // The file that the call is about.
        let target = call.split(|byte| *byte == b'>').next().unwrap_or(call);
        let is_log = target.ends_with(b"leadhost.db-wal");
        let is_sync = [&b"fsync"[..], b"fdatasync"].contains(&name);
        let goes_on = call.ends_with(b"<unfinished ...>");
        if is_sync {
            if is_log && goes_on {
                self.begun.insert(thread, Begun::Sync(place));
            } else if is_log && call.ends_with(b"= 0") {
                self.synced(place);
            }
        } else if is_log {
            let leads = leads(call);
            if goes_on {
                self.begun.insert(thread, Begun::Write(leads));
            } else {
                self.wrote(place, &leads);
            }
        } else if contains(call, b"HTTP/1.1 200 OK") {
            for lead in leads(call) {
                self.answered(lead);
            }
        }
    }

    /// A later write of a lead belongs to another commit that rewrites its page.
    fn wrote(&mut self, place: usize, leads: &[usize]) {
        for lead in leads {
            self.written.entry(*lead).or_insert(place);
        }
    }

    fn synced(&mut self, since: usize) {
        self.syncs += 1;
        self.covered = self.covered.max(since);
    }

    fn answered(&mut self, lead: usize) {
        if !self.answered_leads.insert(lead) {
            return;
        }
        self.answered += 1;
        let written = self.written.get(&lead);
        if written.is_none_or(|place| *place >= self.covered) {
            self.early.push(lead);
        }
    }
}

/// Returns the numbers of the leads that the call names.
fn leads(call: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = call;
    while let Some(at) = rest.windows(NAME.len()).position(|part| part == NAME) {
        rest = &rest[at + NAME.len()..];
        let digits = rest
            .get(..DIGITS)
            .and_then(|text| std::str::from_utf8(text).ok());
        found.extend(digits.and_then(|text| text.parse::<usize>().ok()));
    }
    found
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|there| there == part)
}
