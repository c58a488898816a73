use hyper::header::CONTENT_TYPE;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::origins;
use crate::decoding;
use crate::endpoints::prelude::*;
use crate::error::Challenge;
use leadhost_domain::content_coding::{self, BodyCoding};
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_pipeline::answering::FilledReply;
use leadhost_pipeline::intake::{self, Address, IntakeError, Received};
use leadhost_store::DeliveryOutcome;
use leadhost_trace::{self as trace, SpanKind};

/// The answer to a sender whose converter composes no reply.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestAnswer {
    /// Always true: the delivery is stored.
    success: bool,
    delivery_id: DeliveryId,
    #[schema(schema_with = answered)]
    status: DeliveryStatus,
    leads: Vec<LeadAnswer>,
    problems: Vec<ProblemAnswer>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LeadAnswer {
    /// Its place in the body, from 0.
    item: u32,
    #[schema(schema_with = lead_status)]
    status: ItemStatus,
    external_id: Option<String>,
    deal_id: Option<DealId>,
    contact_id: Option<ContactId>,
    duplicate: bool,
    /// Why a value of the lead was not taken: newer ones are known. Or that no phone number and no e-mail address
    /// could be read.
    message: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct ProblemAnswer {
    /// Its place in the body, from 0.
    item: u32,
    #[schema(schema_with = problem_status)]
    status: ItemStatus,
    message: String,
}

fn answered() -> ObjectBuilder {
    let mut words: Vec<_> = DeliveryStatus::ALL
        .iter()
        .map(|status| status.answered().as_str())
        .collect();
    words.sort_unstable();
    words.dedup();
    one_of(words)
}

fn lead_status() -> ObjectBuilder {
    item_status(false)
}

fn problem_status() -> ObjectBuilder {
    item_status(true)
}

fn item_status(problems: bool) -> ObjectBuilder {
    let all = ItemStatus::ALL.into_iter();
    let words = all.filter(|status| is_problem(*status) == problems);
    one_of(words.map(ItemStatus::as_str).collect())
}

fn one_of(words: Vec<&'static str>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
}

describe!(receive, |mut operation| {
    let example = |summary: &str, value: Value| json!({"summary": summary, "value": value});
    // Only JSON is listed: generators of clients do not agree on a body of several types.
    let body = json!({
        "application/json": {
            "schema": {"description": "The source's own format, which a converter reads. Form fields, multipart, XML and text are read too, each with its own content type."},
            "examples": {
                "leadForm": example("A social ad lead form reports a lead", json!({
                    "object": "page",
                    "entry": [{
                        "id": 1_234_500_017_u64,
                        "time": 1_767_268_800,
                        "changes": [{
                            "field": "leadgen",
                            "value": {
                                "leadgen_id": 120_210_000_000_345_017_u64,
                                "page_id": 1_234_500_017_u64,
                                "form_id": 120_210_000_000_111_017_u64,
                                "adgroup_id": 120_210_000_000_222_017_u64,
                                "ad_id": 120_210_000_000_333_017_u64,
                                "created_time": 1_767_268_790,
                            },
                        }],
                    }],
                })),
                "crm": example("A CRM sends a lead", json!({
                    "id": "L-1044",
                    "name": "Otávio Prates",
                    "phone": "+55 21 97777-0102",
                    "email": "otavio.prates@example.com",
                    "message": "Is the flat still free?",
                })),
            },
        },
    });
    let answers = json!({
        "application/json": {"schema": operation.schema::<IngestAnswer>()},
        "text/plain": {"schema": {"type": "string", "description": "The source's own answer, as its converter composes it."}},
    });
    operation
        .summary("Receives a delivery from a lead source")
        .describe(
            "The body has the source's own format. 200 means that the delivery is stored. Sending a delivery again is safe. \
             The connection determines how the source authenticates: by a signature, Basic credentials or a token.",
        )
        .takes_content(&body)
        .answers_content(200, "The delivery is stored. `status` is its outcome.", answers)
        .shows("converted", "A lead became a deal", json!({
            "success": true,
            "deliveryId": "019cae2b-3f60-7c11-b0de-1f2a5b7c9d01",
            "status": "converted",
            "leads": [{
                "item": 0,
                "status": "converted",
                "externalId": "L-1044",
                "dealId": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
                "contactId": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
                "duplicate": false,
                "message": null,
            }],
            "problems": [],
        }))
        .refuses(&[401, 404, 429])
});
pub async fn receive(call: &Call<'_>, connection: &str, body: UnreadBody) -> ApiResult {
    // An address that cannot exist is refused before its body is read.
    let address = super::inbound::address(connection)?;
    let answered = match take(call, address.clone(), body).await {
        Ok((_, Some(reply))) => Ok(filled(reply)),
        Ok((outcome, None)) => reply::ok(&answer(outcome)),
        Err(error) => Err(error),
    };
    // A page may read a refusal too.
    let mut reply = answered.unwrap_or_else(|error| call.refuse(&error));
    origins::share(call, &address, &mut reply).await;
    Ok(reply)
}

/// Takes a delivery in, for a source or a channel. Returns its outcome, and the plugin's own
/// reply.
pub async fn take(
    call: &Call<'_>,
    address: Address,
    body: UnreadBody,
) -> ApiResult<(DeliveryOutcome, Option<FilledReply>)> {
    let http = call.http;
    // Checked before the body is read: deliveries to unknown addresses, or past the rate, cost
    // nothing.
    let finding = intake::expect(&http.pipeline, &address);
    let connection = match trace::step("find connection", finding).await {
        Err(error @ IntakeError::UnknownAddress(_)) => {
            http.core.metrics.http.address_unknown();
            return Err(error.into());
        }
        found => found?,
    };
    let charged = http.connection_rate.ask(&connection, http.core.clock.now());
    charged.map_err(|retry_after| ApiError::TooManyRequests {
        shed: Shed::RateOfOneConnection,
        retry_after,
    })?;
    let body = body.going_to(&connection);
    let limit = limits::DELIVERY_BYTES;
    let reading = trace::span("read body", SpanKind::Internal);
    let (sent, mut held) = body.read(http, limit).await?.into_parts();
    reading.set("http.request.body.size", sent.len());
    let mut inbound = super::inbound::inbound(call, address, sent);
    let is_mislabelled = content_coding::is_mislabelled(&inbound.headers, &inbound.body);
    if let BodyCoding::Coded(coding) = BodyCoding::of(&inbound.headers, &inbound.body) {
        let sent = inbound.body.clone();
        let work = decoding::decode(http, connection.as_str(), coding, sent, limit, held);
        let (body, share) = work.await?;
        held = share;
        if let Some(body) = body {
            inbound = inbound.decoded(body.into());
        }
    }
    drop(reading);

    // From here on, the delivery is processed even if the sender hangs up.
    let work = call.to_end(|http| async move {
        let received = intake::receive(&http.pipeline, inbound).await;
        drop(held);
        received
    });
    match work.await?? {
        Received::Stored { outcome, reply } => Ok((outcome, reply)),
        Received::Rejected { delivery, message } => Err(ApiError::coded(
            ErrorCode::DeliveryRejected,
            if is_mislabelled {
                format!(
                    "The body cannot be read: {message}. It is a text, and not compressed as its Content-Encoding says. It is kept as delivery {delivery}."
                )
            } else {
                format!("The body cannot be read: {message}. It is kept as delivery {delivery}.")
            },
        )),
        Received::Unproven => Err(ApiError::Unauthorized(Challenge::Sender)),
    }
}

/// Returns whether an item had no result. Its message then says why.
fn is_problem(status: ItemStatus) -> bool {
    match status {
        ItemStatus::Ignored | ItemStatus::Invalid | ItemStatus::Unrouted | ItemStatus::Failed => {
            true
        }
        ItemStatus::Waiting
        | ItemStatus::Converted
        | ItemStatus::Duplicate
        | ItemStatus::Updated => false,
    }
}

fn answer(outcome: DeliveryOutcome) -> IngestAnswer {
    let mut leads = Vec::new();
    let mut problems = Vec::new();
    for item in outcome.items {
        if is_problem(item.status) {
            problems.push(ProblemAnswer {
                item: item.index,
                status: item.status,
                message: item.message.unwrap_or_default(),
            });
        } else {
            leads.push(LeadAnswer {
                item: item.index,
                status: item.status,
                external_id: item.external_id,
                deal_id: item.deal_id,
                contact_id: item.contact_id,
                duplicate: item.status == ItemStatus::Duplicate,
                message: item.message.filter(|_| item.status != ItemStatus::Waiting),
            });
        }
    }
    IngestAnswer {
        success: true,
        delivery_id: outcome.delivery,
        status: outcome.status.answered(),
        leads,
        problems,
    }
}

/// Returns the source's own answer, as its plugin composed it.
pub fn filled(filled: FilledReply) -> ApiResponse {
    let mut reply = reply::text(
        StatusCode::from_u16(filled.status).unwrap_or(StatusCode::OK),
        filled.body,
    );
    if let Ok(value) = HeaderValue::from_str(&filled.content_type) {
        reply.headers_mut().insert(CONTENT_TYPE, value);
    }
    reply
}
