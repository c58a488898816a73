use super::{Channels, parse_id, request_view, text_or_base64, unknown};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::deliveries::{AnswerView, DeliveryDetailView, FetchView};
use leadhost_domain::exchange::HttpRequest;
use leadhost_pipeline::{mask, offload};
use leadhost_store::{DeliveryDetail, WaitingFetch};

describe!(show, |operation| {
    operation
    .summary("Shows a delivery with its request and its items")
    .describe("The request is as it is stored, with its secrets masked, and with values under the usual names of credentials masked.")
    .answers::<DeliveryDetailView>(200, "The delivery.")
    .refuses(&[404])
});
pub async fn show(call: &Call<'_>, id: &str) -> ApiResult {
    let id = parse_id(id)?;
    let delivery = call
        .http
        .core
        .store
        .delivery(id)
        .await?
        .ok_or_else(|| unknown(&id.to_string()))?;
    let channels = Channels::load(&call.http.core.store).await?;
    let store = &call.http.core.store;
    let most = limits::SHOWN_FETCHES;
    let fetches = store.waiting_fetches(delivery.workspace, id, most).await?;
    let kept = store.answers(id, 0, most).await?;
    let is_long = offload::is_long(&delivery.request.body);
    let hidden = offload::run(is_long, move || without_credentials(delivery));
    let mut view = to_view(hidden.await, &channels);
    view.fetches = fetches.into_iter().map(fetch).collect();
    view.answers_left_out = kept.len() == most as usize;
    let mut room = limits::SHOWN_ANSWER_BYTES;
    for answer in kept {
        let Some(left) = room.checked_sub(answer.response.body.len()) else {
            view.answers_left_out = true;
            continue;
        };
        room = left;
        let (body, body_base64) = text_or_base64(answer.response.body);
        view.answers.push(AnswerView {
            item: answer.index,
            external_id: answer.external_id,
            request: line(&answer.request),
            status: answer.response.status,
            body,
            body_base64,
        });
    }
    reply::ok(&view)
}

/// Returns the line of a request as far as it is shown: a plugin may compose one of megabytes.
fn line(request: &HttpRequest) -> String {
    let mut line = request.line();
    line.truncate(line.floor_char_boundary(limits::SHOWN_VALUE_BYTES));
    line
}

fn fetch(fetch: WaitingFetch) -> FetchView {
    FetchView {
        item: fetch.index,
        external_id: fetch.external_id,
        request: line(&fetch.request),
        attempts: fetch.attempts,
        next_attempt_at: fetch.due_at,
        given_up_at: fetch.until,
    }
}

fn without_credentials(mut delivery: DeliveryDetail) -> DeliveryDetail {
    let request = &mut delivery.request;
    mask::hide_credentials(&mut request.query, &mut request.headers, &mut request.body);
    delivery
}

fn to_view(delivery: DeliveryDetail, channels: &Channels) -> DeliveryDetailView {
    DeliveryDetailView {
        facts: channels.facts(delivery.summary),
        workspace_id: delivery.workspace,
        items: delivery.items,
        notes: delivery.notes,
        next_attempt_at: delivery.next_attempt_at,
        fetches: Vec::new(),
        answers: Vec::new(),
        answers_left_out: false,
        request: request_view(delivery.request),
    }
}
