//! `POST /ingest-lead/{connection}`: takes a delivery in.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;

use crate::domain::delivery::{DeliveryStatus, ItemStatus};
use crate::domain::id::{ContactId, DealId, DeliveryId};
use crate::http::body::Unread;
use crate::http::error::{ApiError, Challenge};
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::limits;
use crate::pipeline::intake::{self, FilledReply, Received};
use crate::store::DeliveryOutcome;

/// What a sender hears when its source has no answer of its own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    success: bool,
    delivery_id: DeliveryId,
    status: DeliveryStatus,
    leads: Vec<LeadAnswer>,
    problems: Vec<ProblemAnswer>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeadAnswer {
    item: u32,
    status: ItemStatus,
    external_id: Option<String>,
    deal_id: Option<DealId>,
    contact_id: Option<ContactId>,
    duplicate: bool,
}

#[derive(Serialize)]
struct ProblemAnswer {
    item: u32,
    status: ItemStatus,
    message: String,
}

pub async fn run(call: &Call<'_>, connection: &str, body: Unread) -> Result<Reply, ApiError> {
    let (app, head) = (call.app, call.head);
    // An address that cannot exist is refused before its body is read.
    super::inbound(app, head, connection, vec![])?;
    let (bytes, held) = body.read(app, limits::DELIVERY_BYTES).await?.into_parts();
    let inbound = super::inbound(app, head, connection, bytes.to_vec())?;

    // From here on the delivery goes its way even when the sender hangs up.
    let task_app = Arc::clone(app);
    let work = crate::pipeline::spawn(app, async move {
        let received = intake::receive(&task_app, inbound).await;
        drop(held);
        received
    });
    match work.await.map_err(ApiError::internal)?? {
        Received::Stored {
            reply: Some(reply), ..
        } => Ok(filled(reply)),
        Received::Stored {
            outcome,
            reply: None,
        } => reply::json(StatusCode::OK, &answer(outcome)),
        Received::Rejected { delivery, message } => Err(ApiError::BadRequest(format!(
            "The body cannot be read: {message}. It is kept as delivery {delivery}."
        ))),
        Received::Unproven => Err(ApiError::Unauthorized(Challenge::Sender)),
    }
}

fn answer(outcome: DeliveryOutcome) -> Answer {
    let mut leads = Vec::new();
    let mut problems = Vec::new();
    for item in outcome.items {
        match item.status {
            ItemStatus::Ignored
            | ItemStatus::Invalid
            | ItemStatus::Unrouted
            | ItemStatus::Failed => {
                problems.push(ProblemAnswer {
                    item: item.index,
                    status: item.status,
                    message: item.message.unwrap_or_default(),
                });
            }
            ItemStatus::Waiting
            | ItemStatus::Converted
            | ItemStatus::Duplicate
            | ItemStatus::Updated => leads.push(LeadAnswer {
                item: item.index,
                status: item.status,
                external_id: item.external_id,
                deal_id: item.deal_id,
                contact_id: item.contact_id,
                duplicate: item.status == ItemStatus::Duplicate,
            }),
        }
    }
    Answer {
        success: true,
        delivery_id: outcome.delivery,
        status: outcome.status.answered(),
        leads,
        problems,
    }
}

/// The source's own answer, as its plugin composed it.
pub(super) fn filled(filled: FilledReply) -> Reply {
    let mut reply = reply::text(
        StatusCode::from_u16(filled.status).unwrap_or(StatusCode::OK),
        filled.body,
    );
    if let Ok(value) = HeaderValue::from_str(&filled.content_type) {
        reply.headers_mut().insert(CONTENT_TYPE, value);
    }
    reply
}
