use super::{find, parse_id, play, sandbox_of, simulated};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::outbox::{SimulatedEvent, StatusRequest};
use leadhost_store::OutboxMessage;

describe!(status, |operation| operation
    .summary("Simulates a status report for a message of the sandbox")
    .describe(super::SIMULATED)
    .takes::<StatusRequest>(&[("read", "It was read", json!({"status": "read"}))])
    .answers::<SimulatedEvent>(200, "The event is stored.")
    .refuses(&[404, 409, 422]));
pub async fn status(call: &Call<'_>, id: &str, body: UnreadBody) -> ApiResult {
    let request: StatusRequest = read_json(call, body).await?;
    if !StatusRequest::WORDS.contains(&request.status.as_str()) {
        return Err(ApiError::BadRequest(format!(
            "`{}` is not a status; there are {}.",
            request.status,
            StatusRequest::WORDS.join(", ")
        )));
    }
    let store = &call.http.core.store;
    let message = find(store, parse_id(id)?).await?;
    let channel = sandbox_of(store, &message).await?;
    let outcome = play(call, &channel, event(&message, &request.status)).await?;
    reply::ok(&simulated(outcome))
}

fn event(message: &OutboxMessage, status: &str) -> Value {
    let mut simulated = json!({ "messageId": message.id, "status": status });
    if status == "failed" {
        simulated["code"] = json!("undeliverable");
        simulated["text"] = json!("The message cannot be delivered: simulated by an operator");
    }
    json!({ "status": simulated })
}
