use leadhost_golden::{Call as GoldenCall, Case, Delivery};

use super::connections::find;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::connections::{TestDeliveryRequest, TestReply, TestedDelivery};
use leadhost_admin_api::tried::{self, TriedBody, TryRequest};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::plugin::PluginKind;
use leadhost_pipeline::answering::FilledReply;
use leadhost_pipeline::intake::{self, Address, InboundRequest, Received};

/// The converter that says where it found each value, if its configuration asks for it.
const EXPLAINS: &str = "mapping";

describe!(body, |operation| {
    operation
        .summary("Shows what a converter reads in a body")
        .describe("The active version converts the body under this configuration. Nothing is stored. The mapping converter says of each field where it was read and whether that was guessed, and what it left unread.")
        .takes::<TryRequest>(&[("guessed", "Without a configuration", json!({"plugin": "mapping", "body": "{\"nome\":\"Ada Prado\"}"}))])
        .answers::<TriedBody>(200, "The items that the converter reads.")
        .refuses(&[404, 422])
});
pub async fn body(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: TryRequest = read_json(call, body).await?;
    let plugins = &call.http.core.plugins;
    let name = &request.plugin;
    let loaded = plugins
        .active(name)
        .filter(|loaded| loaded.kind == PluginKind::Converter)
        .ok_or_else(|| ApiError::NotFound(format!("No converter `{name}` is active.")))?;
    let mut config = request.config;
    if !config.is_object() {
        return Err(ApiError::BadRequest(
            "`config` is not a JSON object.".to_owned(),
        ));
    }
    if name == EXPLAINS {
        config["explain"] = true.into();
    }
    let faults = plugins
        .config_faults(&loaded, vec![config.clone()])
        .await
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let faults: Vec<String> = faults.iter().flatten().map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(ApiError::unprocessable(format!(
            "The plugin {name} does not take this configuration: {}",
            faults.join("; ")
        )));
    }
    let content_type = content_type(request.content_type, &request.body);
    let case = Case {
        delivery: Delivery {
            method: "POST".to_owned(),
            query: request.query.into_iter().collect(),
            headers: vec![("content-type".to_owned(), content_type)],
            received_at: call.http.core.clock.now().text(),
            config,
            ..Delivery::default()
        },
        body: request.body.into_bytes(),
        ..Case::new("try", GoldenCall::Convert)
    };
    let answer = plugins.answer_case(&loaded, Arc::new(case)).await;
    let output = answer.output.map_err(|error| {
        ApiError::unprocessable(format!("The converter gave no answer: {error}"))
    })?;
    let (explanations, notes) = tried::explained(&output["ok"]);
    reply::ok(&TriedBody {
        plugin: loaded.description.name.clone(),
        version: loaded.description.version.clone(),
        problem: tried::refusal(&output),
        items: tried::items(&output["ok"], &explanations),
        notes: notes.into_iter().map(str::to_owned).collect(),
        log: answer.usage.log,
    })
}

describe!(delivery, |operation| {
    operation
        .summary("Accepts a test delivery")
        .describe("The service processes the delivery like one from the source, but without sender checks: it creates deals, contacts and greetings. The audit records its id.")
        .takes::<TestDeliveryRequest>(&[("json", "A JSON body", json!({"body": "{\"id\":\"7\",\"name\":\"Ada Prado\"}"}))])
        .answers::<TestedDelivery>(200, "It is stored.")
        .refuses(&[404, 409])
});
pub async fn delivery(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    let request: TestDeliveryRequest = read_json(call, body).await?;
    let http = call.http;
    let connection = find(&http.core.store, which).await?;
    if http.core.plugins.active(&connection.plugin).is_none() {
        return Err(ApiError::conflict(format!(
            "No version of `{}` is active.",
            connection.plugin
        )));
    }
    let path = format!("/ingest-lead/{}", connection.id);
    let server = &http.core.config.server;
    let inbound = InboundRequest {
        address: Address::Source(connection.id.clone()),
        peer: call.peer,
        method: "POST".to_owned(),
        public_url: server.public(&path).unwrap_or_else(|| path.clone()),
        path,
        query: request.query.into_iter().collect(),
        headers: vec![(
            "content-type".to_owned(),
            content_type(request.content_type, &request.body),
        )],
        body: request.body.into(),
        sent: None,
        by_operator: true,
    };
    let work = call.to_end(|http| async move { intake::receive(&http.pipeline, inbound).await });
    let tested = match work.await?? {
        Received::Stored { outcome, reply } => {
            let is_open = connection.settings.reply_secrets.is_empty();
            TestedDelivery {
                delivery: outcome.delivery,
                status: outcome.status,
                items: outcome.items,
                problem: None,
                reply: reply.map(|reply| shown(reply, is_open)),
            }
        }
        Received::Rejected { delivery, message } => TestedDelivery {
            delivery,
            status: DeliveryStatus::Rejected,
            items: Vec::new(),
            problem: Some(message),
            reply: None,
        },
        // Without the checks, no sender fails them.
        Received::Unproven => {
            return Err(ApiError::conflict(
                "The delivery was not accepted: its sender check failed.",
            ));
        }
    };
    call.audit(json!({"delivery": tested.delivery, "status": tested.status}));
    reply::ok(&tested)
}

/// Returns the converter's answer to its source. An operator sees no secret, so the answer is left out if the
/// connection's answers may have one.
fn shown(reply: FilledReply, is_open: bool) -> TestReply {
    TestReply {
        status: reply.status,
        content_type: reply.content_type,
        body: String::from_utf8(reply.body).ok().filter(|_| is_open),
    }
}

/// Returns the content type of a body, as `leadhost plugin run` guesses it.
fn content_type(named: Option<String>, body: &str) -> String {
    let guessed = || {
        let text = body.trim_start();
        let is_json = serde_json::from_str::<Value>(text).is_ok();
        match text.as_bytes().first() {
            _ if is_json => "application/json",
            Some(b'<') => "application/xml",
            _ if text.contains('=') => "application/x-www-form-urlencoded",
            _ => "text/plain",
        }
    };
    named.unwrap_or_else(|| guessed().to_owned())
}
