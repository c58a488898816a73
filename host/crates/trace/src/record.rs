//! A span that has ended, and the spans of a trace.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::context::{SpanId, TraceId};
use leadhost_domain::time::Micros;

/// The role of a span in a call between programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    /// Answers a call.
    Server,
    /// Makes a call.
    Client,
    /// Takes a message in that is processed or sent later.
    Producer,
    /// Processes what was taken in.
    Consumer,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    Text(Cow<'static, str>),
    /// A text that many spans have.
    Shared(Arc<str>),
    /// Written as text when the trace is exported, as most are not.
    Id(Uuid),
    Number(i64),
}

impl From<&'static str> for SpanValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for SpanValue {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<&Arc<str>> for SpanValue {
    fn from(text: &Arc<str>) -> Self {
        Self::Shared(Arc::clone(text))
    }
}

impl From<Uuid> for SpanValue {
    fn from(id: Uuid) -> Self {
        Self::Id(id)
    }
}

impl From<u16> for SpanValue {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for SpanValue {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that has ended. Times count from the beginning of its trace.
#[derive(Clone, Debug)]
pub struct SpanRecord {
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub began: Duration,
    pub ended: Duration,
    pub attributes: Vec<(&'static str, SpanValue)>,
    /// The class of the error, if the step failed.
    pub error: Option<Cow<'static, str>>,
    /// The delivery or message whose later jobs are in another trace than this span.
    pub continued_as: Option<Uuid>,
}

/// A trace whose spans have all ended on this host.
#[derive(Clone, Debug)]
pub struct FinishedTrace {
    pub id: TraceId,
    pub began: Micros,
    /// In the order in which they ended.
    pub spans: Vec<SpanRecord>,
}
