//! The package `leadhost:types@1.0.0`, which converters and adapters share, and the conversions
//! between its records and the domain's. Its bindings are generated once, so a delivery or a
//! request is one type in both contracts. A delivery's parts are moved into a call, except for
//! the body, which the store needs too: it is copied when the call begins, on the thread of the
//! guest. Output that breaks a rule of the host is refused here.

use crate::prelude::*;
use leadhost_golden::Response;

pub use self::bindings::leadhost::types::core;
use crate::abi::texts::cut_note;
use crate::rules;
use leadhost_domain::exchange::{
    Requirement, SenderCheck, SignedPart, Slot, SlotArgument, TextSegment, ValueLocation,
};
use leadhost_domain::plugin::SecretDeclaration;
use leadhost_domain::word::UnknownWord;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../../wit/v1/types",
        inline: "
            package leadhost:shared;
            world types {
                import leadhost:types/core@1.0.0;
            }
        ",
        world: "leadhost:shared/types",
        additional_derives: [serde::Serialize],
    });
}

// ---- in

impl From<PluginDelivery> for core::Delivery {
    fn from(delivery: PluginDelivery) -> Self {
        Self {
            id: delivery.id,
            received_at: delivery.received_at,
            method: delivery.method,
            path: delivery.path,
            query: delivery.query,
            headers: delivery.headers,
            body: content(delivery.body.into()),
            config: delivery.config,
            context: delivery.context,
        }
    }
}

impl From<HttpResponse> for core::HttpResponse {
    fn from(response: HttpResponse) -> Self {
        Self {
            status: response.status,
            headers: response.headers,
            body: content(response.body),
        }
    }
}

fn content(body: Vec<u8>) -> core::Content {
    match String::from_utf8(body) {
        Ok(text) => core::Content::Text(text),
        Err(error) => core::Content::Bytes(error.into_bytes()),
    }
}

pub fn golden_delivery(case: &Case) -> core::Delivery {
    let given = &case.delivery;
    core::Delivery {
        id: given.id.clone(),
        received_at: given.received_at.clone(),
        method: given.method_for(case.call).to_owned(),
        path: given.path.clone(),
        query: given.query.clone(),
        headers: given.headers.clone(),
        body: content(case.body.clone()),
        config: given.config_text(),
        context: given.context.clone(),
    }
}

pub fn golden_response(case: &Case, given: &Response) -> core::HttpResponse {
    core::HttpResponse {
        status: given.status,
        headers: given.headers.clone(),
        body: content(case.body.clone()),
    }
}

// ---- out

pub fn sender_checks(
    answer: Result<core::SenderPolicy, core::Problem>,
) -> Result<Result<SenderChecks, InputProblem>, Fault> {
    match answer {
        Ok(policy) => checked(policy, rules::sender_checks).map(Ok),
        Err(problem) => Ok(Err(problem.into())),
    }
}

pub fn handshake(
    answer: Result<Option<core::HandshakeAnswer>, core::Problem>,
) -> Result<Result<Option<HandshakeAnswer>, InputProblem>, Fault> {
    match answer {
        Ok(Some(answer)) => checked(answer, rules::handshake).map(|answer| Ok(Some(answer))),
        Ok(None) => Ok(Ok(None)),
        Err(problem) => Ok(Err(problem.into())),
    }
}

pub fn reply(reply: Option<core::Reply>) -> Result<Option<PluginReply>, Fault> {
    reply.map(|reply| checked(reply, rules::reply)).transpose()
}

fn checked<F, T: TryFrom<F, Error = UnknownWord>>(
    answer: F,
    rule: fn(&T) -> Result<(), String>,
) -> Result<T, Fault> {
    let answer = T::try_from(answer)?;
    rule(&answer).map_err(Fault::Rule)?;
    Ok(answer)
}

impl From<core::Description> for Description {
    fn from(description: core::Description) -> Self {
        Self {
            name: description.name,
            version: description.version,
            summary: description.summary,
            config_schema: description.config_schema,
            secrets: description
                .secrets
                .into_iter()
                .map(|secret| SecretDeclaration {
                    name: secret.name,
                    kind: secret.kind,
                    summary: secret.summary,
                    required: secret.required,
                })
                .collect(),
            hosts: description.hosts,
        }
    }
}

impl From<UnknownWord> for Fault {
    fn from(word: UnknownWord) -> Self {
        Self::Rule(word.to_string())
    }
}

impl TryFrom<core::SenderPolicy> for SenderChecks {
    type Error = UnknownWord;

    fn try_from(policy: core::SenderPolicy) -> Result<Self, UnknownWord> {
        Ok(Self {
            checks: all(policy.checks)?,
            carried_secrets: all(policy.carried_secrets)?,
        })
    }
}

fn all<T: TryFrom<F, Error = UnknownWord>, F>(from: Vec<F>) -> Result<Vec<T>, UnknownWord> {
    from.into_iter().map(T::try_from).collect()
}

impl TryFrom<core::SenderCheck> for SenderCheck {
    type Error = UnknownWord;

    fn try_from(check: core::SenderCheck) -> Result<Self, UnknownWord> {
        Ok(Self {
            scheme: check.scheme.parse()?,
            proof: check.proof.try_into()?,
            encoding: check.encoding.parse()?,
            signed: all(check.signed)?,
            secret: check.secret,
            prefix: check.prefix,
            timestamp_header: check.timestamp_header,
            tolerance_seconds: check.tolerance_seconds,
        })
    }
}

impl TryFrom<core::SignedPart> for SignedPart {
    type Error = UnknownWord;

    fn try_from(part: core::SignedPart) -> Result<Self, UnknownWord> {
        Ok(Self {
            kind: part.kind.parse()?,
            value: part.value,
        })
    }
}

impl TryFrom<core::Location> for ValueLocation {
    type Error = UnknownWord;

    fn try_from(location: core::Location) -> Result<Self, UnknownWord> {
        Ok(Self {
            place: location.place.parse()?,
            name: location.name,
        })
    }
}

impl TryFrom<core::HandshakeAnswer> for HandshakeAnswer {
    type Error = UnknownWord;

    fn try_from(answer: core::HandshakeAnswer) -> Result<Self, UnknownWord> {
        Ok(Self {
            require: answer
                .require
                .into_iter()
                .map(|requirement| Requirement {
                    secret: requirement.secret,
                    query_field: requirement.query_field,
                })
                .collect(),
            reply: answer.reply.try_into()?,
        })
    }
}

impl TryFrom<core::Reply> for PluginReply {
    type Error = UnknownWord;

    fn try_from(reply: core::Reply) -> Result<Self, UnknownWord> {
        Ok(Self {
            status: reply.status,
            content_type: reply.content_type,
            body: all(reply.body)?,
        })
    }
}

impl TryFrom<core::HttpRequest> for HttpRequest {
    type Error = UnknownWord;

    fn try_from(request: core::HttpRequest) -> Result<Self, UnknownWord> {
        let fields = |fields: Vec<(String, Vec<core::Segment>)>| {
            fields
                .into_iter()
                .map(|(name, value)| Ok((name, all(value)?)))
                .collect::<Result<Vec<_>, UnknownWord>>()
        };
        Ok(Self {
            method: request.method,
            scheme: request.scheme.parse()?,
            authority: request.authority,
            path: all(request.path)?,
            query: fields(request.query)?,
            headers: fields(request.headers)?,
            body: all(request.body)?,
        })
    }
}

impl TryFrom<core::Segment> for TextSegment {
    type Error = UnknownWord;

    fn try_from(segment: core::Segment) -> Result<Self, UnknownWord> {
        Ok(match segment {
            core::Segment::Literal(text) => Self::Literal(text),
            core::Segment::Bytes(bytes) => Self::Bytes(bytes),
            core::Segment::Slot(slot) => Self::Slot(Slot {
                function: slot.function.parse()?,
                args: slot
                    .args
                    .into_iter()
                    .map(|argument| match argument {
                        core::SlotArgument::Secret(name) => SlotArgument::Secret(name),
                        core::SlotArgument::Literal(text) => SlotArgument::Literal(text),
                    })
                    .collect(),
            }),
        })
    }
}

impl From<core::Problem> for InputProblem {
    fn from(problem: core::Problem) -> Self {
        Self {
            message: cut_note(problem.message),
            path: cut_note(problem.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::Encoding;

    fn policy() -> core::SenderPolicy {
        core::SenderPolicy {
            checks: vec![core::SenderCheck {
                secret: "key".to_owned(),
                scheme: "hmac-sha256".to_owned(),
                proof: core::Location {
                    place: "header".to_owned(),
                    name: "x-sig".to_owned(),
                },
                encoding: "hex".to_owned(),
                prefix: String::new(),
                timestamp_header: String::new(),
                tolerance_seconds: 0,
                signed: vec![core::SignedPart {
                    kind: "body".to_owned(),
                    value: String::new(),
                }],
            }],
            carried_secrets: Vec::new(),
        }
    }

    #[test]
    fn an_unknown_word_in_a_check_is_refused_with_the_known_words() {
        let read = |change: &dyn Fn(&mut core::SenderCheck)| {
            let mut policy = policy();
            change(&mut policy.checks[0]);
            sender_checks(Ok(policy)).map(|checks| checks.expect("no problem"))
        };
        let refused = |change: &dyn Fn(&mut core::SenderCheck), known: &str| {
            let Err(Fault::Rule(why)) = read(change) else {
                panic!("it was taken");
            };
            assert!(why.contains("\"md5\"") && why.contains(known), "{why}");
        };
        assert!(read(&|_| {}).is_ok());
        let unsaid = read(&|check| check.encoding.clear()).expect("it is taken");
        assert_eq!(unsaid.checks[0].encoding, Encoding::Hex);
        refused(
            &|check| check.scheme = "md5".to_owned(),
            "hmac-sha256, hmac-sha1, basic",
        );
        refused(
            &|check| check.encoding = "md5".to_owned(),
            "hex, base64, base64url, plain",
        );
        refused(
            &|check| check.proof.place = "md5".to_owned(),
            "header, query, form, json",
        );
        refused(
            &|check| check.signed[0].kind = "md5".to_owned(),
            "public-url",
        );
    }

    #[test]
    fn unknown_words_are_refused_in_replies_and_requests() {
        let slot = |function: &str| {
            core::Segment::Slot(core::Slot {
                function: function.to_owned(),
                args: vec![core::SlotArgument::Secret("key".to_owned())],
            })
        };
        let replied = |function: &str| {
            reply(Some(core::Reply {
                status: 200,
                content_type: "text/plain".to_owned(),
                body: vec![slot(function)],
            }))
        };
        assert!(replied("secret").is_ok());
        assert!(matches!(replied("env"), Err(Fault::Rule(why)) if why.contains("\"env\"")));
        let asked = |scheme: &str, function: &str| {
            HttpRequest::try_from(core::HttpRequest {
                method: "GET".to_owned(),
                scheme: scheme.to_owned(),
                authority: "x.example".to_owned(),
                path: Vec::new(),
                query: vec![("q".to_owned(), vec![slot(function)])],
                headers: Vec::new(),
                body: Vec::new(),
            })
        };
        assert!(asked("https", "basic").is_ok());
        assert!(asked("https", "rot13").is_err());
        let unknown = asked("ftp", "basic").expect_err("calls are made over HTTP only");
        assert_eq!(
            unknown.to_string(),
            r#"the scheme of a request "ftp": not known to this host, expected one of https, http"#
        );
    }
}
