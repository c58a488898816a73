//! The package `leadhost:types@1.0.0`, which converters and adapters share, and
//! how its records become the domain's: bindings are generated once, so a
//! delivery or a request is one type in both contracts. Deliveries go in by
//! moving their parts, but for the body, which the store has too: its copy is made
//! when the call begins, where the guest runs. What comes out and breaks a rule of the host is refused
//! here.

use leadhost_golden::{Case, Response};

pub use self::bindings::leadhost::types::core;
use super::Fault;
use super::texts::told;
use crate::domain::exchange::{
    HandshakeAnswer, HttpRequest, HttpResponse, Location, Problem, Reply, Requirement, Segment,
    SenderCheck, SenderChecks, SignedPart, Slot, SlotArgument,
};
use crate::domain::plugin::{Description, PluginDelivery, SecretDeclaration};
use crate::plugin::rules;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit/v1/types",
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

/// A response whose body is the case's.
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
) -> Result<Result<SenderChecks, Problem>, Fault> {
    match answer {
        Ok(policy) => {
            let checks = policy.into();
            rules::sender_checks(&checks).map_err(Fault::Rule)?;
            Ok(Ok(checks))
        }
        Err(problem) => Ok(Err(problem.into())),
    }
}

pub fn handshake(
    answer: Result<Option<core::HandshakeAnswer>, core::Problem>,
) -> Result<Result<Option<HandshakeAnswer>, Problem>, Fault> {
    match answer {
        Ok(answer) => {
            let answer = answer.map(HandshakeAnswer::from);
            if let Some(answer) = &answer {
                rules::handshake(answer).map_err(Fault::Rule)?;
            }
            Ok(Ok(answer))
        }
        Err(problem) => Ok(Err(problem.into())),
    }
}

pub fn reply(reply: Option<core::Reply>) -> Result<Option<Reply>, Fault> {
    let reply = reply.map(Reply::from);
    if let Some(reply) = &reply {
        rules::reply(reply).map_err(Fault::Rule)?;
    }
    Ok(reply)
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

impl From<core::SenderPolicy> for SenderChecks {
    fn from(policy: core::SenderPolicy) -> Self {
        Self {
            checks: policy.checks.into_iter().map(SenderCheck::from).collect(),
            carried_secrets: policy
                .carried_secrets
                .into_iter()
                .map(Location::from)
                .collect(),
        }
    }
}

impl From<core::SenderCheck> for SenderCheck {
    fn from(check: core::SenderCheck) -> Self {
        Self {
            secret: check.secret,
            scheme: check.scheme,
            proof: check.proof.into(),
            encoding: check.encoding,
            prefix: check.prefix,
            timestamp_header: check.timestamp_header,
            tolerance_seconds: check.tolerance_seconds,
            signed: check
                .signed
                .into_iter()
                .map(|part| SignedPart {
                    kind: part.kind,
                    value: part.value,
                })
                .collect(),
        }
    }
}

impl From<core::Location> for Location {
    fn from(location: core::Location) -> Self {
        Self {
            place: location.place,
            name: location.name,
        }
    }
}

impl From<core::HandshakeAnswer> for HandshakeAnswer {
    fn from(answer: core::HandshakeAnswer) -> Self {
        Self {
            require: answer
                .require
                .into_iter()
                .map(|requirement| Requirement {
                    secret: requirement.secret,
                    query_field: requirement.query_field,
                })
                .collect(),
            reply: answer.reply.into(),
        }
    }
}

impl From<core::Reply> for Reply {
    fn from(reply: core::Reply) -> Self {
        Self {
            status: reply.status,
            content_type: reply.content_type,
            body: segments(reply.body),
        }
    }
}

impl From<core::HttpRequest> for HttpRequest {
    fn from(request: core::HttpRequest) -> Self {
        let fields = |fields: Vec<(String, Vec<core::Segment>)>| {
            fields
                .into_iter()
                .map(|(name, value)| (name, segments(value)))
                .collect()
        };
        Self {
            method: request.method,
            scheme: request.scheme,
            authority: request.authority,
            path: segments(request.path),
            query: fields(request.query),
            headers: fields(request.headers),
            body: segments(request.body),
        }
    }
}

fn segments(segments: Vec<core::Segment>) -> Vec<Segment> {
    segments
        .into_iter()
        .map(|segment| match segment {
            core::Segment::Literal(text) => Segment::Literal(text),
            core::Segment::Bytes(bytes) => Segment::Bytes(bytes),
            core::Segment::Slot(slot) => Segment::Slot(Slot {
                function: slot.function,
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
        .collect()
}

impl From<core::Problem> for Problem {
    fn from(problem: core::Problem) -> Self {
        Self {
            message: told(problem.message),
            path: told(problem.path),
        }
    }
}
