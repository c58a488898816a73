//! A span while it is open.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::context::{SpanId, TraceId, TraceParent};
use super::record::{SpanKind, SpanRecord, SpanValue};
use super::tracer::{OpenTrace, Tracer};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;

/// A step of a trace. It ends when its last clone is dropped. Without a trace it does nothing.
#[derive(Clone, Debug, Default)]
pub struct Span(pub(super) Option<Arc<OpenSpan>>);

/// A span that has not ended.
#[derive(Debug)]
pub struct OpenSpan {
    trace: Arc<OpenTrace>,
    id: SpanId,
    is_root: bool,
    /// Taken when the span ends.
    record: Mutex<Option<SpanRecord>>,
}

impl Span {
    /// Begins a trace with this span as its root on this host. `parent` is the span of a caller,
    /// or the one that took the work in.
    pub fn root(
        tracer: &Tracer,
        now: Micros,
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        parent: Option<TraceParent>,
    ) -> Self {
        Self::root_since(tracer, (now, Instant::now()), name, kind, parent)
    }

    /// Begins a trace like [`Self::root`], whose root began at a moment before, by both clocks.
    pub fn root_since(
        tracer: &Tracer,
        began: (Micros, Instant),
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        parent: Option<TraceParent>,
    ) -> Self {
        let Some(trace) = tracer.open(began, parent) else {
            return Self(None);
        };
        let parent = parent.map(|parent| parent.span);
        let root = Self::begin(trace, name.into(), kind, parent, SpanId::random(), true);
        root.change(|record| record.began = Duration::ZERO);
        root
    }

    /// Begins a span within this one.
    pub fn child(&self, name: impl Into<Cow<'static, str>>, kind: SpanKind) -> Self {
        let Some(open) = self.0.as_ref() else {
            return Self(None);
        };
        let trace = Arc::clone(&open.trace);
        Self::begin(
            trace,
            name.into(),
            kind,
            Some(open.id),
            SpanId::random(),
            false,
        )
    }

    /// Begins the span that takes in a delivery or a message, whose later jobs are its children.
    pub fn child_of_work(&self, name: &'static str, kind: SpanKind, work: Uuid) -> Self {
        let Some(open) = self.0.as_ref() else {
            return Self(None);
        };
        let id = TraceId::from(work);
        let is_elsewhere = open.trace.settle_id(id) != id;
        let trace = Arc::clone(&open.trace);
        let span = Self::begin(
            trace,
            name.into(),
            kind,
            Some(open.id),
            SpanId::for_work(work),
            false,
        );
        if is_elsewhere {
            span.change(|record| record.continued_as = Some(work));
        }
        span
    }

    fn begin(
        trace: Arc<OpenTrace>,
        name: Cow<'static, str>,
        kind: SpanKind,
        parent: Option<SpanId>,
        id: SpanId,
        is_root: bool,
    ) -> Self {
        let began = trace.at(Instant::now());
        let record = SpanRecord {
            name,
            kind,
            id,
            parent,
            began,
            ended: began,
            attributes: Vec::new(),
            error: None,
            continued_as: None,
        };
        Self(Some(Arc::new(OpenSpan {
            trace,
            id,
            is_root,
            record: Mutex::new(Some(record)),
        })))
    }

    /// Returns whether there is a trace: only then attributes are worth being made.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Gives the span a name that was not known when it began.
    pub fn rename(&self, name: impl Into<Cow<'static, str>>) {
        if self.is_on() {
            let name = name.into();
            self.change(|record| record.name = name);
        }
    }

    /// Adds an attribute. It must not hold personal data. A long text is cut.
    pub fn set(&self, key: &'static str, value: impl Into<SpanValue>) {
        if self.is_on() {
            let value = cut(value.into());
            self.change(|record| record.attributes.push((key, value)));
        }
    }

    /// Marks the step as failed, with the class of the error and not its text, which may quote people.
    /// The trace is exported then.
    pub fn fail(&self, class: impl Into<Cow<'static, str>>) {
        if self.is_on() {
            let class = class.into();
            self.change(|record| record.error = Some(class));
        }
    }

    /// Moves the beginning of the span to a moment before, at which it was not known that the step would
    /// be made.
    pub fn begin_at(&self, moment: Instant) {
        if let Some(open) = self.0.as_ref() {
            let began = open.trace.at(moment);
            self.change(|record| record.began = began);
        }
    }

    /// Adds a span within this one that was measured by other means.
    pub fn add(
        &self,
        name: &'static str,
        kind: SpanKind,
        from: Instant,
        took: Duration,
        describe: impl FnOnce(&Self),
    ) {
        let Some(open) = self.0.as_ref() else {
            return;
        };
        let span = self.child(name, kind);
        describe(&span);
        let began = open.trace.at(from);
        if let Some(mut record) = span.take() {
            record.began = began;
            record.ended = began + took;
            open.trace.add(record, false);
        }
    }

    /// Returns the id of the trace for the lines of the log, the first time that it is asked for.
    pub fn name_once(&self) -> Option<TraceId> {
        let open = self.0.as_ref()?;
        open.trace.name_once().then(|| open.trace.id())
    }

    pub fn trace_id(&self) -> Option<TraceId> {
        self.0.as_ref().map(|open| open.trace.id())
    }

    /// Returns the `traceparent` for a call within this span.
    pub fn traceparent(&self) -> Option<String> {
        let open = self.0.as_ref()?;
        let parent = TraceParent {
            trace: open.trace.id(),
            span: open.id,
        };
        Some(parent.header(open.trace.is_sampled()))
    }

    fn change(&self, change: impl FnOnce(&mut SpanRecord)) {
        if let Some(open) = self.0.as_ref() {
            let mut record = open.record.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(record) = record.as_mut() {
                change(record);
            }
        }
    }

    fn take(&self) -> Option<SpanRecord> {
        let open = self.0.as_ref()?;
        let mut record = open.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.take()
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let record = self
            .record
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mut record) = record.take() {
            record.ended = self.trace.at(Instant::now());
            self.trace.add(record, self.is_root);
        }
    }
}

/// Bounds a text, at a character.
fn cut(value: SpanValue) -> SpanValue {
    match value {
        SpanValue::Shared(text) if text.len() > limits::ATTRIBUTE_BYTES => {
            cut(SpanValue::Text(Cow::Owned(text.to_string())))
        }
        SpanValue::Text(Cow::Owned(mut text)) if text.len() > limits::ATTRIBUTE_BYTES => {
            text.truncate(text.floor_char_boundary(limits::ATTRIBUTE_BYTES));
            SpanValue::Text(Cow::Owned(text))
        }
        value => value,
    }
}
