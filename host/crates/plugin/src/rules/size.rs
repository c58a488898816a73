//! Limits on a plugin's answer: segments, fields and bytes of a request or a reply. A
//! message about something too large names the actual size and the allowed one.

use crate::prelude::*;
use leadhost_domain::exchange::{SlotArgument, TextSegment};

pub fn route(route: &[(String, String)]) -> Result<(), String> {
    if route.len() > limits::ROUTE_FIELDS {
        return Err(format!(
            "a route of {} fields; at most {} are compared",
            route.len(),
            limits::ROUTE_FIELDS
        ));
    }
    route.iter().try_for_each(|(name, value)| {
        at_most("a route's name", name.len(), limits::EXTERNAL_ID_BYTES)?;
        at_most("a route's value", value.len(), limits::EXTERNAL_ID_BYTES)
    })
}

pub fn request(request: &HttpRequest) -> Result<(), String> {
    let mut size = MessageSize::default();
    for (what, fields) in [("query", &request.query), ("header", &request.headers)] {
        let count = fields.len();
        count_at_most(
            &format!("{what} fields of a request"),
            count,
            limits::REQUEST_FIELDS,
        )?;
        for (name, value) in fields {
            size.bytes += name.len();
            size.add(value);
        }
    }
    size.bytes += request.method.len() + request.scheme.as_str().len() + request.authority.len();
    size.add(&request.path);
    size.add(&request.body);
    size.at_most("a request", limits::REQUEST_BYTES)
}

pub fn reply(reply: &PluginReply) -> Result<(), String> {
    let mut size = MessageSize::default();
    size.bytes += reply.content_type.len();
    size.add(&reply.body);
    size.at_most("a reply", limits::REPLY_BYTES)
}

pub fn handshake(answer: &HandshakeAnswer) -> Result<(), String> {
    count_at_most(
        "secrets to compare",
        answer.require.len(),
        limits::REQUIREMENTS,
    )?;
    for requirement in &answer.require {
        word("a secret's name", &requirement.secret)?;
        word("a query field's name", &requirement.query_field)?;
    }
    Ok(())
}

fn word(what: &str, text: &str) -> Result<(), String> {
    at_most(what, text.len(), limits::SENDER_CHECK_BYTES)
}

pub fn at_most(what: &str, bytes: usize, limit: usize) -> Result<(), String> {
    if bytes > limit {
        return Err(format!("{what} of {bytes} bytes; at most {limit} are kept"));
    }
    Ok(())
}

pub fn count_at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count > most {
        return Err(format!("{count} {what}; at most {most} are taken"));
    }
    Ok(())
}

/// What happens to something that is too large to be taken.
pub const KEPT: &str = "the raw delivery is kept";

/// The bytes that are left for further items or events of a delivery.
pub struct Room(usize);

impl Room {
    pub fn for_delivery() -> Self {
        Self(limits::ITEMS_BYTES)
    }

    /// Takes the bytes, or none of the room if they are too many.
    pub fn take(&mut self, bytes: usize) -> Result<(), String> {
        let (left, all) = (self.0, limits::ITEMS_BYTES);
        self.0 = left.checked_sub(bytes).ok_or_else(|| {
            format!(
                "{bytes} bytes where {left} are left of the {all} that are taken from one delivery; {KEPT}"
            )
        })?;
        Ok(())
    }
}

#[derive(Default)]
struct MessageSize {
    segments: usize,
    bytes: usize,
}

impl MessageSize {
    fn add(&mut self, segments: &[TextSegment]) {
        self.segments += segments.len();
        for segment in segments {
            match segment {
                TextSegment::Literal(text) => self.bytes += text.len(),
                TextSegment::Bytes(bytes) => self.bytes += bytes.len(),
                TextSegment::Slot(slot) => {
                    self.segments += slot.args.len();
                    self.bytes += slot.function.as_str().len();
                    for argument in &slot.args {
                        let (SlotArgument::Secret(text) | SlotArgument::Literal(text)) = argument;
                        self.bytes += text.len();
                    }
                }
            }
        }
    }

    fn at_most(&self, what: &str, bytes: usize) -> Result<(), String> {
        count_at_most(
            &format!("pieces of {what}"),
            self.segments,
            limits::SEGMENTS,
        )?;
        at_most(what, self.bytes, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{Slot, SlotFunction, UrlScheme};

    fn a_request() -> HttpRequest {
        HttpRequest {
            method: "GET".to_owned(),
            scheme: UrlScheme::Https,
            authority: "leads.example.com".to_owned(),
            path: Vec::new(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn literals(count: usize) -> Vec<TextSegment> {
        vec![TextSegment::Literal("x".to_owned()); count]
    }

    #[test]
    fn the_fields_segments_and_bytes_of_a_request_are_bounded() {
        let check = |change: &dyn Fn(&mut HttpRequest), expect: &str| {
            let mut asked = a_request();
            change(&mut asked);
            let found = request(&asked).err().unwrap_or_default();
            assert!(
                found.contains(expect) && found.is_empty() == expect.is_empty(),
                "{found}"
            );
        };
        check(&|_| {}, "");
        let fields = |count| vec![("a".to_owned(), literals(1)); count];
        check(&|asked| asked.headers = fields(limits::REQUEST_FIELDS), "");
        check(
            &|asked| asked.headers = fields(limits::REQUEST_FIELDS + 1),
            "257 header fields of a request; at most 256 are taken",
        );
        check(
            &|asked| asked.query = fields(limits::REQUEST_FIELDS + 1),
            "257 query fields of a request; at most 256 are taken",
        );
        check(&|asked| asked.body = literals(limits::SEGMENTS), "");
        check(
            &|asked| asked.body = literals(limits::SEGMENTS + 1),
            "4097 pieces of a request; at most 4096 are taken",
        );
        let slot = TextSegment::Slot(Slot {
            function: SlotFunction::Basic,
            args: vec![SlotArgument::Literal("x".to_owned()); limits::SEGMENTS],
        });
        check(
            &|asked| asked.path = vec![slot.clone()],
            "4097 pieces of a request",
        );
        check(
            &|asked| asked.body = vec![TextSegment::Bytes(vec![0; limits::REQUEST_BYTES])],
            "at most 2097152 are kept",
        );
    }

    #[test]
    fn the_bytes_of_a_reply_are_bounded() {
        let mut answer = PluginReply {
            status: 200,
            content_type: "text/plain".to_owned(),
            body: vec![TextSegment::Literal("x".repeat(limits::REPLY_BYTES - 10))],
        };
        assert_eq!(reply(&answer), Ok(()));
        answer.body.extend(literals(1));
        let error = reply(&answer).expect_err("too long");
        assert_eq!(error, "a reply of 65537 bytes; at most 65536 are kept");
    }
}
