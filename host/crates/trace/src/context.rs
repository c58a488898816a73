//! The W3C trace context: ids, and the header `traceparent`.

use std::fmt;

use uuid::Uuid;

use leadhost_domain::id;

/// The header that names the trace of a call.
pub const TRACEPARENT: &str = "traceparent";

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span within its trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    pub fn random() -> Self {
        Self(Uuid::new_v4().into_bytes())
    }

    /// Reads an id of 32 lower-case hexadecimal digits. `None` if it is another text, or zero.
    pub fn parse(text: &str) -> Option<Self> {
        hex(text).map(Self).filter(|id| id.0 != [0; 16])
    }

    /// Returns whether the trace is in the sampled share. The last 7 bytes are random in the ids
    /// that this service makes, as W3C recommends to all.
    pub fn is_in_share(self, per_mille: u32) -> bool {
        let mut low = [0; 8];
        low[1..].copy_from_slice(&self.0[9..]);
        u128::from(u64::from_be_bytes(low)) * 1_000 < u128::from(per_mille) << 56
    }
}

impl SpanId {
    pub fn random() -> Self {
        Self(id::random_bytes())
    }

    /// Returns the id of the span that takes in the delivery or message with this id. Later jobs
    /// name it as their parent, though nothing about the trace was stored.
    pub fn for_work(work: Uuid) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&work.as_bytes()[8..]);
        Self(bytes)
    }
}

impl From<Uuid> for TraceId {
    fn from(id: Uuid) -> Self {
        Self(id.into_bytes())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A valid `traceparent`: the trace of a caller, and its span that made the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: TraceId,
    pub span: SpanId,
}

impl TraceParent {
    /// Returns the parent of the later jobs of a delivery or message.
    pub fn for_work(work: Uuid) -> Self {
        Self {
            trace: TraceId::from(work),
            span: SpanId::for_work(work),
        }
    }

    /// Parses the value of a `traceparent`. Its flag whether the caller sampled the trace is not
    /// kept: which traces cost something is the operator's decision.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version_byte] = hex(version)?;
        let [_] = hex(flags)?;
        let found = Self {
            trace: TraceId(hex(trace)?),
            span: SpanId(hex(span)?),
        };
        let is_valid = version_byte != 0xff
            && (version_byte != 0 || parts.next().is_none())
            && found.trace.0 != [0; 16]
            && found.span.0 != [0; 8];
        is_valid.then_some(found)
    }

    /// Returns the value of a `traceparent`.
    pub fn header(&self, is_sampled: bool) -> String {
        format!(
            "00-{}-{}-{:02x}",
            self.trace,
            self.span,
            u8::from(is_sampled)
        )
    }
}

/// Reads lower-case hexadecimal digits, as W3C requires.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_or_ignored() {
        let check = |text: &str, expect: bool| {
            assert_eq!(TraceParent::parse(text).is_some(), expect, "{text}");
        };
        let trace = "0af7651916cd43dd8448eb211c80319c";
        check(&format!("00-{trace}-b7ad6b7169203331-01"), true);
        check(&format!("01-{trace}-b7ad6b7169203331-01-more"), true);
        check(&format!("00-{trace}-b7ad6b7169203331-01-more"), false);
        check(&format!("ff-{trace}-b7ad6b7169203331-01"), false);
        check(&format!("00-{trace}-0000000000000000-01"), false);
        check(&format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)), false);
        check(
            &format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()),
            false,
        );
        check(&format!("00-{trace}é-b7ad6b7169203331-01"), false);
        check("", false);
        check("00", false);
    }

    #[test]
    fn a_traceparent_is_written_as_it_was_read() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = TraceParent::parse(text).expect("valid");
        assert_eq!(parent.header(true), text);
        assert!(parent.header(false).ends_with("-00"));
    }

    #[test]
    fn trace_ids_are_sampled_in_the_configured_share() {
        let sampled = |per_mille| {
            let ids =
                (0..20_000).map(|_| TraceId::from(id::uuid_at(leadhost_domain::time::Micros(0))));
            ids.filter(|id| id.is_in_share(per_mille)).count()
        };
        assert_eq!(sampled(0), 0);
        assert_eq!(sampled(1_000), 20_000);
        let tenth = sampled(100);
        assert!((1_700..2_300).contains(&tenth), "{tenth}");
    }
}
