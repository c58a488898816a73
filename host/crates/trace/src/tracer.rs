//! Begins and ends traces: keeps them in memory within bounds, and chooses which are exported.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::context::{SpanId, TraceId, TraceParent};
use super::record::{FinishedTrace, SpanRecord, SpanValue};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;

/// The attribute of a root that says how many spans of its trace were dropped past the bound.
const SPANS_DROPPED: &str = "leadhost.trace.spans_dropped";

/// The queue from the traces that end to their export.
pub type TraceQueue = mpsc::Receiver<TraceQueueItem>;

#[derive(Debug)]
pub enum TraceQueueItem {
    Trace(FinishedTrace),
    /// Answered when everything before it was sent or given up.
    Flush(oneshot::Sender<()>),
}

/// Begins traces. Clones share their queue. If tracing is off, no trace ever begins.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<TracerState>>);

#[derive(Debug)]
struct TracerState {
    per_mille: u32,
    queue: mpsc::Sender<TraceQueueItem>,
    open: AtomicUsize,
    counts: TraceCounters,
}

#[derive(Debug, Default)]
struct TraceCounters {
    exported: AtomicU64,
    unsampled: AtomicU64,
    not_begun: AtomicU64,
    queue_full: AtomicU64,
    not_sent: AtomicU64,
    spans_dropped: AtomicU64,
    spans_rejected: AtomicU64,
}

/// Counts of the traces since the start, by their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    pub exported: u64,
    /// Not in the share, and without an error.
    pub unsampled: u64,
    /// Too many were open.
    pub not_begun: u64,
    pub queue_full: u64,
    /// The receiver did not take them in time.
    pub not_sent: u64,
    /// Spans past the bound of a trace.
    pub spans_dropped: u64,
    /// Spans that the receiver took and refused.
    pub spans_rejected: u64,
}

impl Tracer {
    /// Returns a tracer that exports this share of all traces and each one with an error, and the
    /// queue of the export.
    pub fn new(per_mille: u32) -> (Self, TraceQueue) {
        let (queue, queued) = mpsc::channel(limits::TRACES_QUEUED);
        let state = TracerState {
            per_mille,
            queue,
            open: AtomicUsize::new(0),
            counts: TraceCounters::default(),
        };
        (Self(Some(Arc::new(state))), queued)
    }

    pub fn off() -> Self {
        Self(None)
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a trace at a moment by both clocks, which continues the trace of `parent`. `None` if tracing is
    /// off, or too many traces are open.
    pub(super) fn open(
        &self,
        began: (Micros, Instant),
        parent: Option<TraceParent>,
    ) -> Option<Arc<OpenTrace>> {
        let state = self.0.as_ref()?;
        if state.open.fetch_add(1, Ordering::Relaxed) >= limits::TRACES_OPEN {
            state.open.fetch_sub(1, Ordering::Relaxed);
            state.counts.not_begun.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let id = OnceLock::new();
        if let Some(parent) = parent {
            let _ = id.set(parent.trace);
        }
        Some(Arc::new(OpenTrace {
            tracer: Arc::clone(state),
            id,
            began: began.0,
            at: began.1,
            has_failed: AtomicBool::new(false),
            is_named: AtomicBool::new(false),
            spans: Mutex::new(EndedSpans::default()),
        }))
    }

    /// Waits until the traces that have ended were exported or given up, at most this long.
    pub async fn flush(&self, within: Duration) {
        let Some(state) = self.0.as_ref() else {
            return;
        };
        let (sender, done) = oneshot::channel();
        let flush = async {
            if state
                .queue
                .send(TraceQueueItem::Flush(sender))
                .await
                .is_ok()
            {
                let _ = done.await;
            }
        };
        let _ = tokio::time::timeout(within, flush).await;
    }

    /// Counts traces that were exported, with the spans that the receiver refused.
    pub fn count_exported(&self, traces: usize, rejected: u64) {
        if let Some(state) = self.0.as_ref() {
            let counts = &state.counts;
            counts.exported.fetch_add(traces as u64, Ordering::Relaxed);
            counts.spans_rejected.fetch_add(rejected, Ordering::Relaxed);
        }
    }

    /// Counts traces that could not be exported.
    pub fn count_not_sent(&self, traces: usize) {
        if let Some(state) = self.0.as_ref() {
            let counts = &state.counts;
            counts.not_sent.fetch_add(traces as u64, Ordering::Relaxed);
        }
    }

    /// Returns what became of the traces since the start, or `None` if tracing is off.
    pub fn counts(&self) -> Option<TraceCounts> {
        let counts = &self.0.as_ref()?.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Some(TraceCounts {
            exported: get(&counts.exported),
            unsampled: get(&counts.unsampled),
            not_begun: get(&counts.not_begun),
            queue_full: get(&counts.queue_full),
            not_sent: get(&counts.not_sent),
            spans_dropped: get(&counts.spans_dropped),
            spans_rejected: get(&counts.spans_rejected),
        })
    }
}

/// A trace on this host, until its last span has ended.
#[derive(Debug)]
pub struct OpenTrace {
    tracer: Arc<TracerState>,
    /// Set as late as possible: a trace that takes a delivery in gets the id of the delivery.
    id: OnceLock<TraceId>,
    began: Micros,
    at: Instant,
    has_failed: AtomicBool,
    /// Whether the lines of the log name it already.
    is_named: AtomicBool,
    spans: Mutex<EndedSpans>,
}

#[derive(Debug, Default)]
struct EndedSpans {
    spans: Vec<SpanRecord>,
    /// The place of the root.
    root: Option<usize>,
    dropped: u32,
}

impl EndedSpans {
    /// Leaves a span out. Its children that are kept get its parent as theirs.
    fn leave_out(&mut self, span: &SpanRecord) {
        self.dropped += 1;
        let children = self.spans.iter_mut();
        for child in children.filter(|child| child.parent == Some(span.id)) {
            child.parent = span.parent;
        }
    }

    /// Gives the root the spans whose parent ended, and was left out, before a span between the two.
    fn adopt(&mut self, root: usize) {
        let kept: HashSet<SpanId> = self.spans.iter().map(|span| span.id).collect();
        let root_id = self.spans[root].id;
        for (at, span) in self.spans.iter_mut().enumerate() {
            if at != root && span.parent.is_none_or(|parent| !kept.contains(&parent)) {
                span.parent = Some(root_id);
            }
        }
    }
}

impl OpenTrace {
    pub fn id(&self) -> TraceId {
        *self.id.get_or_init(TraceId::random)
    }

    /// Returns whether this is the first call.
    pub fn name_once(&self) -> bool {
        !self.is_named.swap(true, Ordering::Relaxed)
    }

    /// Makes this the id, unless there is one. Returns the id.
    pub fn settle_id(&self, id: TraceId) -> TraceId {
        *self.id.get_or_init(|| id)
    }

    /// Returns whether the trace is exported even without an error.
    pub fn is_sampled(&self) -> bool {
        self.id().is_in_share(self.tracer.per_mille)
    }

    /// Returns the time since the trace began.
    pub fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.at)
    }

    /// Adds a span that has ended. The root has a place past the bound.
    pub fn add(&self, span: SpanRecord, is_root: bool) {
        if span.error.is_some() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        let mut ended = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if is_root || ended.spans.len() < limits::TRACE_SPANS {
            if ended.spans.capacity() == 0 {
                ended.spans.reserve(16);
            }
            if is_root {
                ended.root = Some(ended.spans.len());
            }
            ended.spans.push(span);
        } else {
            ended.leave_out(&span);
        }
    }
}

impl Drop for OpenTrace {
    fn drop(&mut self) {
        self.tracer.open.fetch_sub(1, Ordering::Relaxed);
        let counts = &self.tracer.counts;
        let mut ended =
            std::mem::take(self.spans.get_mut().unwrap_or_else(PoisonError::into_inner));
        let dropped = u64::from(ended.dropped);
        counts.spans_dropped.fetch_add(dropped, Ordering::Relaxed);
        if !self.has_failed.load(Ordering::Relaxed) && !self.is_sampled() {
            counts.unsampled.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if ended.dropped > 0
            && let Some(root) = ended.root
        {
            ended.adopt(root);
            let left_out = SpanValue::Number(ended.dropped.into());
            let attributes = &mut ended.spans[root].attributes;
            attributes.push((SPANS_DROPPED, left_out));
        }
        let trace = FinishedTrace {
            id: self.id(),
            began: self.began,
            spans: ended.spans,
        };
        // Never waits: what a slow receiver leaves no room for is dropped.
        if self
            .tracer
            .queue
            .try_send(TraceQueueItem::Trace(trace))
            .is_err()
        {
            counts.queue_full.fetch_add(1, Ordering::Relaxed);
        }
    }
}
