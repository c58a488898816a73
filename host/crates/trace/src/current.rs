//! The current span of the thread, which a future brings along wherever it is polled.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use uuid::Uuid;

use super::context::TraceId;
use super::record::SpanKind;
use super::span::Span;

thread_local! {
    static CURRENT: RefCell<Span> = const { RefCell::new(Span(None)) };
}

pub fn current() -> Span {
    CURRENT.with_borrow(Span::clone)
}

/// Begins a span within the current one. It is the current one only for the futures that it
/// [runs](Span::run).
pub fn span(name: &'static str, kind: SpanKind) -> Span {
    CURRENT.with_borrow(|current| current.child(name, kind))
}

/// Runs a future as a step of the current trace. The step begins now and ends with the future.
pub fn step<F: Future>(name: &'static str, future: F) -> Traced<F> {
    span(name, SpanKind::Internal).run(future)
}

/// Begins the span that takes in the delivery or message with this id, and makes the id the trace's, unless a
/// caller began the trace.
pub fn span_of(work: Uuid, name: &'static str, kind: SpanKind) -> Span {
    let span = CURRENT.with_borrow(|current| current.child_of_work(name, kind, work));
    settle_id(&span);
    span
}

/// Names the trace in the log lines from here on, once: a text line would have each value.
pub fn settle_id(span: &Span) {
    let lines = tracing::Span::current();
    if lines.is_none() {
        return;
    }
    if let Some(id) = span.name_once() {
        name_in(&lines, id);
    }
}

/// Names a trace in the lines of a span of the log.
pub fn name_in(lines: &tracing::Span, id: TraceId) {
    lines.record("trace", tracing::field::display(id));
}

/// Returns the `traceparent` for a call to another program.
pub fn traceparent() -> Option<String> {
    CURRENT.with_borrow(Span::traceparent)
}

/// Brings the current span along to another task.
pub fn carried<F: Future>(future: F) -> Traced<F> {
    current().run(future)
}

impl Span {
    /// Runs a future with this span as the current one. If there is no trace, the future keeps
    /// whatever span is current where it is polled.
    pub fn run<F: Future>(&self, future: F) -> Traced<F> {
        Traced {
            future,
            span: self.clone(),
        }
    }

    /// Calls a function with this span as the current one.
    pub fn enter<T>(&self, call: impl FnOnce() -> T) -> T {
        if !self.is_on() {
            return call();
        }
        let _former = Former(CURRENT.replace(self.clone()));
        call()
    }
}

/// The span to return to, even if the call panics.
struct Former(Span);

impl Drop for Former {
    fn drop(&mut self) {
        let own = CURRENT.replace(std::mem::take(&mut self.0));
        drop(own);
    }
}

pin_project! {
    pub struct Traced<F> {
        #[pin]
        future: F,
        span: Span,
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let span: &Span = this.span;
        span.enter(|| this.future.poll(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SpanValue, TraceQueueItem, Tracer};
    use leadhost_domain::time::Micros;

    #[tokio::test]
    async fn spans_nest_across_tasks_and_a_failed_trace_is_always_exported() {
        let (tracer, mut queue) = Tracer::new(0);
        let root = Span::root(&tracer, Micros(0), "root", SpanKind::Server, None);
        let task = root.run(async {
            let outer = span("outer", SpanKind::Internal);
            let inside = outer.run(async {
                tokio::spawn(carried(async {
                    tokio::task::yield_now().await;
                    span("inner", SpanKind::Client).fail("timeout");
                }))
                .await
                .expect("it ends");
            });
            inside.await;
        });
        task.await;
        assert!(!current().is_on());
        drop(root);
        let Some(TraceQueueItem::Trace(trace)) = queue.recv().await else {
            panic!("a trace is exported");
        };
        let names: Vec<_> = trace.spans.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["inner", "outer", "root"]);
        assert_eq!(trace.spans[0].parent, Some(trace.spans[1].id));
        assert_eq!(trace.spans[1].parent, Some(trace.spans[2].id));
        assert_eq!(trace.spans[2].parent, None);
        let root = Span::root(&tracer, Micros(0), "root", SpanKind::Server, None);
        drop(root);
        assert!(queue.try_recv().is_err(), "it is not sampled");
        let counts = tracer.counts().expect("it is on");
        assert_eq!((counts.unsampled, counts.queue_full), (1, 0));
    }

    #[test]
    fn without_a_tracer_there_is_no_span() {
        let root = Span::root(&Tracer::off(), Micros(0), "root", SpanKind::Server, None);
        assert!(!root.is_on());
        root.enter(|| {
            assert!(!span("inner", SpanKind::Internal).is_on());
            assert_eq!(traceparent(), None);
        });
    }

    #[test]
    fn a_full_queue_and_a_trace_without_end_are_counted() {
        let (tracer, mut queue) = Tracer::new(1_000);
        let begin = || Span::root(&tracer, Micros(0), "root", SpanKind::Server, None);
        for _ in 0..leadhost_domain::limits::TRACES_QUEUED + 3 {
            drop(begin());
        }
        let counts = || tracer.counts().expect("it is on");
        assert_eq!(counts().queue_full, 3);
        let long = begin();
        for _ in 0..leadhost_domain::limits::TRACE_SPANS + 5 {
            drop(long.child("step", SpanKind::Internal));
        }
        while queue.try_recv().is_ok() {}
        drop(long);
        assert_eq!(counts().spans_dropped, 5, "the root is always kept");
        let Ok(TraceQueueItem::Trace(trace)) = queue.try_recv() else {
            panic!("the long trace is exported");
        };
        assert_eq!(trace.spans.len(), leadhost_domain::limits::TRACE_SPANS + 1);
        let root = trace.spans.last().expect("the root");
        let left_out = ("leadhost.trace.spans_dropped", SpanValue::Number(5));
        assert_eq!(root.attributes, [left_out]);
        let open: Vec<Span> = (0..leadhost_domain::limits::TRACES_OPEN)
            .map(|_| begin())
            .collect();
        assert!(!begin().is_on());
        assert_eq!(counts().not_begun, 1);
        drop(open);
        assert!(begin().is_on());
    }

    #[test]
    fn a_step_whose_parent_is_left_out_gets_the_nearest_one_that_is_kept() {
        let (tracer, mut queue) = Tracer::new(1_000);
        let root = Span::root(&tracer, Micros(0), "root", SpanKind::Server, None);
        let [outer, middle, late] =
            ["outer", "middle", "late"].map(|name| root.child(name, SpanKind::Internal));
        let commit = outer.child("commit", SpanKind::Internal);
        drop(commit.child("wait for commit", SpanKind::Internal));
        let inner = late.child("inner", SpanKind::Internal);
        drop(inner.child("inmost", SpanKind::Internal));
        drop(outer);
        for _ in 3..leadhost_domain::limits::TRACE_SPANS {
            drop(middle.child("step", SpanKind::Internal));
        }
        // There are more spans than the bound now. The last two spans end in the wrong order.
        for span in [commit, middle, late, inner] {
            drop(span);
        }
        drop(root);
        let Ok(TraceQueueItem::Trace(trace)) = queue.try_recv() else {
            panic!("it is exported");
        };
        let root = trace.spans.last().expect("the root");
        assert_eq!((&*root.name, root.parent), ("root", None));
        let counts = tracer.counts().expect("it is on");
        assert_eq!(counts.spans_dropped, 4);
        let parent = |name: &str| {
            let span = trace.spans.iter().find(|span| span.name == name);
            span.expect("it is kept").parent
        };
        let outer = trace.spans.iter().find(|span| span.name == "outer");
        assert_eq!(parent("wait for commit"), outer.map(|span| span.id));
        for name in ["outer", "step", "inmost"] {
            assert_eq!(parent(name), Some(root.id), "{name}");
        }
    }
}
