//! Fuzz tests of everything that a component supplies: its bytes and custom sections,
//! golden cases, description, checks, replies, requests, templates and events, changed at
//! random. For every input, the code returns a verdict without a panic, accepted input
//! keeps to its bounds, and refusals are short, since they go into logs and answers.

use crate::prelude::*;
use leadhost_fuzz::holds;
use leadhost_fuzz::proptest::prelude::any;
use leadhost_golden::{
    MAX_CASES, MAX_NAME_BYTES, MAX_PACKED_BYTES, append_custom, append_section, normalise, pack,
    read_section, unpack,
};
use serde_json::json;

use super::engine::CodeUse;
use super::load::InspectedComponent;
use super::test_rng::TestRng;
use super::{compile, replies, rules, signature};
use leadhost_domain::channel::{AcceptedSend, EventBody, StatusUpdate, Template, TemplateChange};
use leadhost_domain::exchange::{
    Encoding, Place, Requirement, Scheme, SenderCheck, SignedKind, SignedPart, Slot, SlotArgument,
    SlotFunction, TextSegment, UrlScheme, ValueLocation,
};
use leadhost_domain::plugin::{SecretDeclaration, SecretKind};

/// Most bytes of a refusal, including the words around what it quotes.
const FEW_WORDS: usize = 2 * limits::REFUSAL_BYTES;

fn in_few_words<T, E: ToString>(verdict: Result<T, E>) -> Option<T> {
    match verdict {
        Ok(taken) => Some(taken),
        Err(why) => {
            let why = why.to_string();
            assert!(
                !why.is_empty() && why.len() <= FEW_WORDS,
                "{} bytes: {}",
                why.len(),
                &why[..why.floor_char_boundary(200)]
            );
            None
        }
    }
}

// ---- bytes

impl TestRng {
    fn index(&mut self, end: usize) -> usize {
        self.below(end.max(1) as u64) as usize
    }

    fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.index(all.len())]
    }

    fn any_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// Flips, inserts, removes or doubles some of the bytes from `from` on.
    fn change(&mut self, bytes: &mut Vec<u8>, from: usize) {
        for _ in 0..=self.below(4) {
            let from = from.min(bytes.len());
            let begin = from + self.index(bytes.len() - from + 1);
            let end = begin + self.index((bytes.len() - begin).min(64) + 1);
            match self.below(5) {
                0 if begin < bytes.len() => bytes[begin] ^= 1 << self.below(8),
                1 if begin < bytes.len() => {
                    // Bytes that make lengths wrong, and the characters of JSON.
                    let odd = b"\x00\x01\x7f\x80\xff\"{}[]:,\\u0-9e+";
                    bytes[begin] = odd[self.index(odd.len())];
                }
                2 => {
                    let more: Vec<u8> = (0..self.below(9)).map(|_| self.below(256) as u8).collect();
                    bytes.splice(begin..begin, more);
                }
                3 => drop(bytes.drain(begin..end)),
                _ => {
                    let again = bytes[begin..end].to_vec();
                    bytes.splice(begin..begin, again);
                }
            }
        }
    }

    /// Replaces some parts of a value.
    fn change_value(&mut self, value: &mut Value) {
        if self.below(12) == 0 {
            *value = match self.below(9) {
                0 => Value::Null,
                1 => json!(self.below(3) == 0),
                2 => json!(u64::MAX),
                3 => json!(-1.5e300),
                4 => Value::String(self.text()),
                5 => Value::Array(vec![value.clone(); self.index(40)]),
                6 => json!({ self.text(): value.clone() }),
                7 => json!({"function": "basic", "args": [{"secret": self.text()}]}),
                _ => Value::Array(Vec::new()),
            };
            return;
        }
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.change_value(value)),
            Value::Object(fields) => {
                fields
                    .values_mut()
                    .for_each(|value| self.change_value(value));
                if self.below(30) == 0 {
                    fields.insert(self.text(), Value::Null);
                }
            }
            Value::String(text) if self.below(6) == 0 => *text = self.text(),
            _ => {}
        }
    }
}

/// Returns a component with a nested module that does nothing, and a section of names.
fn component() -> Vec<u8> {
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    bytes.extend([1, 8]);
    bytes.extend(b"\0asm\x01\0\0\0");
    append_custom(&bytes, "component-name", b"\0\x02\x01a").expect("it is a component")
}

/// Returns cases of several calls, with replies, requests, bodies and secrets.
fn cases() -> Vec<Case> {
    let slot = json!({"slot": {"function": "hmac-sha256-hex", "args": [{"secret": "k"}, {"literal": "c"}]}});
    let reply =
        json!({"status": 200, "contentType": "text/plain", "body": [{"literal": "x"}, slot]});
    let request = json!({
        "method": "GET", "scheme": "https", "authority": "a.example", "path": [{"literal": "/"}],
        "query": [], "headers": [["a", [slot]]], "body": [{"bytes": {"base64": "/w=="}}]
    });
    let case = |name: &str, call, body: &[u8], expect: Value| Case {
        about: "what it shows".to_owned(),
        body: body.to_vec(),
        expect: Some(json!({ "ok": expect })),
        ..Case::new(name, call)
    };
    let describe = json!({"name": "a", "version": "1.0.0", "configSchema": {"type": "object"}});
    vec![
        case("says", Call::Describe, b"", describe),
        case(
            "shakes",
            Call::Handshake,
            b"",
            json!({"require": [], "reply": reply}),
        ),
        case(
            "converts",
            Call::Convert,
            br#"{"a":1}"#,
            json!({"reply": reply, "items": [
                {"route": [], "outcome": {"fetch": {"request": request, "state": "s"}}}
            ]}),
        ),
        case("completes", Call::Complete, &[0xff, 0], json!([])),
        case("reads", Call::ReadAnswer, b"x", json!({"unknown": "why"})),
    ]
}

fn packed() -> Vec<u8> {
    pack(&cases()).expect("they are few")
}

/// Returns the verdict about a component's bytes, and checks that accepted input keeps to
/// its bounds.
fn read(component: &[u8]) -> Option<InspectedComponent> {
    let limit = 1 << 20;
    let read = InspectedComponent::from_wasm(component, limit);
    // The inbox uses this to wait for complete files, and it walks the same sections.
    let _ = in_few_words(read_section(component));
    let read = in_few_words(read)?;
    assert!(component.len() <= limit && read.cases.len() <= MAX_CASES);
    assert!(read.reply_slots.len() <= limits::REPLY_SLOTS);
    for slot in &read.reply_slots {
        assert!(slot.secret.len() <= limits::SENDER_CHECK_BYTES);
    }
    let bodies: usize = read.cases.iter().map(|case| case.body.len()).sum();
    assert!(bodies <= MAX_PACKED_BYTES);
    assert!(
        read.cases
            .iter()
            .all(|case| case.name.len() <= MAX_NAME_BYTES)
    );
    Some(read)
}

#[test]
fn fuzz_a_random_component_is_read_or_refused_in_few_words() {
    let key = signature::new_key().expect("a key");
    let own = signature::public_key(&key);
    let golden = append_section(&component(), &packed()).expect("a component");
    let whole = signature::sign(&golden, &key)
        .expect("a component")
        .expect("a key");
    assert_eq!(read(&whole).and_then(|read| read.signer), own);
    // Changes begin anywhere: in the code, in the cases, in the signature.
    let starts = [0, 8, component().len(), golden.len(), golden.len() + 20];
    holds(2_000, any::<u64>(), |seed| {
        let rng = &mut TestRng::from_seed(*seed);
        let mut changed = whole.clone();
        let from = starts[rng.index(starts.len())];
        rng.change(&mut changed, from);
        if let Some(read) = read(&changed)
            && changed != whole
            && read.signer == own
        {
            panic!("unsigned bytes pass as signed");
        }
        if rng.below(16) == 0
            && let Err(why) = compile::translate(CodeUse::Serving, &changed, None)
        {
            assert!(!why.is_empty());
        }
    });
}

#[test]
fn fuzz_a_random_golden_section_is_unpacked_or_refused_in_few_words() {
    let good = packed();
    holds(1_500, any::<u64>(), |seed| {
        let rng = &mut TestRng::from_seed(*seed);
        let bytes = if rng.below(2) == 0 {
            let mut bytes = good.clone();
            rng.change(&mut bytes, 0);
            bytes
        } else {
            let mut value: Value = serde_json::from_slice(&good).expect("it is JSON");
            rng.change_value(&mut value);
            value.to_string().into_bytes()
        };
        let component = append_section(&component(), &bytes).expect("a component");
        let read = read(&component);
        // Unpacked cases can be packed again, so no case grows by unpacking.
        if let Some(read) = read {
            let again: Vec<Case> = read.cases.iter().map(|case| Case::clone(case)).collect();
            let again = pack(&again).expect("what came out goes in");
            let cases = unpack(&again).expect("and comes out");
            assert!(cases.iter().eq(read.cases.iter().map(|case| &**case)));
        }
    });
}

#[test]
fn fuzz_a_random_answer_to_a_golden_case_has_a_short_difference() {
    let cases = cases();
    holds(1_000, any::<u64>(), |seed| {
        let rng = &mut TestRng::from_seed(*seed);
        let case = &cases[rng.index(cases.len())];
        let mut answer = case.expect.clone().expect("each expects something");
        rng.change_value(&mut answer);
        let difference = case.difference(&normalise(answer.clone()));
        // Twenty lines, each with a path and two quotes of three hundred characters.
        assert!(difference.is_none_or(|text| text.len() < 21 * 3 * 310 * 4));
        let changed = Case {
            expect: Some(answer),
            ..case.clone()
        };
        let _ = in_few_words(replies::shown_in(&[changed]).map_err(LoadError::Answer));
    });
}

// ---- descriptions and answers

/// Texts and segments that are valid, nearly valid, or random.
impl TestRng {
    fn word(&mut self, right: &[&str]) -> String {
        if self.below(5) == 0 {
            self.text()
        } else {
            self.one_of(right).to_owned()
        }
    }

    /// Usually a few, and sometimes more than allowed.
    fn many<T: Clone>(&mut self, most: usize, one: impl Fn(&mut Self) -> T) -> Vec<T> {
        match self.below(8) {
            0 => vec![one(self); most + 1],
            _ => (0..self.index(3)).map(|_| one(self)).collect(),
        }
    }

    fn description(&mut self) -> Description {
        let kinds: Vec<&str> = SecretKind::ALL.iter().map(|kind| kind.as_str()).collect();
        Description {
            name: self.word(&["site-form", "a"]),
            version: self.word(&["1.0.0", "1.2.3-rc.1+build"]),
            summary: self.word(&[""]),
            config_schema: self.word(&["", "{}", r#"{"$ref":"/"#]),
            secrets: self.many(limits::DESCRIBED_SECRETS, |rng| SecretDeclaration {
                name: rng.word(&["key", "page-token/*", "*"]),
                kind: rng.word(&kinds),
                summary: rng.word(&["", "what it is"]),
                required: rng.below(2) == 0,
            }),
            hosts: self.many(limits::DESCRIBED_HOSTS, |rng| {
                rng.word(&["a.example", "a.example:8443", "https://x"])
            }),
        }
    }

    fn location(&mut self) -> ValueLocation {
        ValueLocation {
            place: self.any_of(&Place::ALL),
            name: self.word(&["x-signature", "a.b.0.c", ""]),
        }
    }

    fn checks(&mut self) -> SenderChecks {
        SenderChecks {
            checks: self.many(limits::SENDER_CHECKS, |rng| SenderCheck {
                secret: rng.word(&["key"]),
                scheme: rng.any_of(&Scheme::ALL),
                proof: rng.location(),
                encoding: rng.any_of(&Encoding::ALL),
                prefix: rng.word(&["", "sha256="]),
                timestamp_header: rng.word(&["", "x-time"]),
                tolerance_seconds: rng.below(u64::from(u32::MAX)) as u32,
                signed: rng.many(limits::SENDER_CHECKS, |rng| SignedPart {
                    kind: rng.any_of(&SignedKind::ALL),
                    value: rng.word(&["", "x"]),
                }),
            }),
            carried_secrets: self.many(limits::SENDER_CHECKS, Self::location),
        }
    }

    fn segments(&mut self) -> Vec<TextSegment> {
        self.many(limits::SEGMENTS, |rng| match rng.below(3) {
            0 => TextSegment::Literal(rng.word(&["", "/v1"])),
            1 => TextSegment::Bytes(rng.word(&["x"]).into_bytes()),
            _ => TextSegment::Slot(Slot {
                function: rng.any_of(&SlotFunction::ALL),
                args: (0..rng.below(4))
                    .map(|_| match rng.below(2) {
                        0 => SlotArgument::Secret(rng.word(&["key"])),
                        _ => SlotArgument::Literal(rng.word(&["challenge"])),
                    })
                    .collect(),
            }),
        })
    }

    fn reply(&mut self) -> PluginReply {
        PluginReply {
            status: self.below(700) as u16,
            content_type: self.word(&rules::REPLY_TYPES),
            body: self.segments(),
        }
    }

    fn request(&mut self) -> HttpRequest {
        let fields = |rng: &mut Self| {
            rng.many(limits::REQUEST_FIELDS, |rng| {
                (
                    rng.word(&["a"]),
                    vec![TextSegment::Literal(rng.word(&[""]))],
                )
            })
        };
        HttpRequest {
            method: self.word(&rules::METHODS),
            scheme: self.any_of(&UrlScheme::ALL),
            authority: self.word(&["", "a.example"]),
            path: self.segments(),
            query: fields(self),
            headers: fields(self),
            body: self.segments(),
        }
    }

    fn template(&mut self) -> Template {
        Template {
            name: self.word(&["welcome", ""]),
            text: self.word(&["hello {{1}}"]),
            components: self.word(&["[]"]),
            language: self.word(&["pt_BR"]),
            status: self.word(&["approved"]),
            category: String::new(),
            reason: self.word(&[""]),
            placeholders: Vec::new(),
        }
    }

    fn pairs(&mut self) -> Vec<(String, String)> {
        self.many(limits::ROUTE_FIELDS, |rng| {
            (rng.word(&["page-id"]), rng.word(&["1"]))
        })
    }
}

#[test]
fn fuzz_random_answers_of_a_plugin_are_accepted_or_refused_in_few_words() {
    holds(500, any::<u64>(), |seed| {
        let rng = &mut TestRng::from_seed(*seed);
        let description = rng.description();
        if in_few_words(rules::description(&description)).is_some() {
            assert!(description.name.len() <= 64 && description.version.len() <= 64);
            assert!(description.secrets.len() <= limits::DESCRIBED_SECRETS);
            assert!(description.hosts.len() <= limits::DESCRIBED_HOSTS);
        }
        let _ = in_few_words(leadhost_input::Schema::read(&description.config_schema));
        let checks = rng.checks();
        if in_few_words(rules::sender_checks(&checks)).is_some() {
            assert!(checks.checks.len() <= limits::SENDER_CHECKS);
        }
        let reply = rng.reply();
        if in_few_words(rules::reply(&reply)).is_some() {
            assert!(reply.body.len() <= limits::SEGMENTS);
        }
        let _ = in_few_words(rules::reply_type(&reply.content_type));
        let handshake = HandshakeAnswer {
            require: rng.many(limits::REQUIREMENTS, |rng| Requirement {
                secret: rng.word(&["key"]),
                query_field: rng.word(&["token"]),
            }),
            reply,
        };
        let _ = in_few_words(rules::handshake(&handshake));
        let _ = in_few_words(rules::request(&rng.request()));
    });
}

#[test]
fn fuzz_random_answers_of_an_adapter_are_accepted_or_refused_in_few_words() {
    holds(500, any::<u64>(), |seed| {
        let rng = &mut TestRng::from_seed(*seed);
        let template = rng.template();
        if in_few_words(rules::channel::template(&template)).is_some() {
            assert!(template.components.len() <= limits::TEMPLATE_BYTES);
        }
        let _ = in_few_words(rules::channel::route(&rng.pairs()));
        let accepted = AcceptedSend {
            external_ids: rng.many(limits::EXTERNAL_IDS_PER_MESSAGE, |rng| {
                rng.word(&["wamid.1", ""])
            }),
            recipient_id: Some(rng.word(&["551199"])),
            further_ids: Vec::new(),
            status: rng.word(&["sent"]),
        };
        let _ = in_few_words(rules::channel::accepted(&accepted));
        let body = match rng.below(2) {
            0 => EventBody::Status(Box::new(StatusUpdate {
                external_id: rng.word(&["wamid.1"]),
                message_id: None,
                status: rng.word(&["delivered"]),
                occurred_at: None,
                recipient_id: Some(rng.word(&["551199"])),
                errors: Vec::new(),
            })),
            _ => EventBody::Template(TemplateChange {
                name: rng.word(&["welcome"]),
                language: rng.word(&["pt_BR"]),
                status: rng.word(&["approved"]),
                reason: rng.word(&[""]),
            }),
        };
        let _ = in_few_words(rules::channel::event(&body).map_err(|(what, _)| what));
    });
}
