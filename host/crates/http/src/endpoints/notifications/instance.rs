//! The instance that a request names, in the caller's workspace. The reason why an instance
//! cannot send is logged for the operator; the partner gets the same answer in every case.

use super::body::impossible_phone;
use crate::endpoints::prelude::*;
use crate::zod::issue::Issue;
use leadhost_domain::phone::{self, Phone};
use leadhost_pipeline::connections::{ConnectionError, Live};

/// Returns the channel of the instance that a body names, and the body's phone number, normalised
/// for the instance's region. A number that cannot exist is added to the issues.
pub async fn addressed(
    call: &Call<'_>,
    caller: &PartnerCaller,
    instance: Option<AgentId>,
    phone_number: Option<&str>,
    issues: &mut Vec<Issue>,
) -> ApiResult<(Option<Arc<Live>>, Option<Phone>)> {
    let live = match instance {
        Some(id) => channel_of(call, caller, id).await?,
        None => None,
    };
    let region = region(caller, live.as_deref());
    let phone = phone_number.map(|text| phone::normalise(text, region));
    if phone.as_ref().is_some_and(|phone| phone.e164.is_none()) {
        issues.push(impossible_phone());
    }
    Ok((live, phone))
}

async fn channel_of(
    call: &Call<'_>,
    caller: &PartnerCaller,
    instance: AgentId,
) -> ApiResult<Option<Arc<Live>>> {
    let connections = &call.http.pipeline.connections;
    let found = connections.for_instance(caller.workspace().id, instance);
    found.await.map_err(|error| match error {
        ConnectionError::Store(error) => ApiError::Store(error),
        error => ApiError::internal(error),
    })
}

/// Returns the instance's region, or the workspace's without an instance.
fn region<'a>(caller: &'a PartnerCaller, live: Option<&'a Live>) -> &'a str {
    live.map_or(caller.workspace().region.as_str(), |live| {
        live.connection.region.as_str()
    })
}

/// Returns whether the workspace has the instance, with or without a channel.
pub async fn is_there(
    call: &Call<'_>,
    caller: &PartnerCaller,
    instance: AgentId,
) -> ApiResult<bool> {
    let agents = call.http.core.store.agents(caller.workspace().id).await?;
    Ok(agents.iter().any(|agent| agent.id == instance))
}

/// Logs why the instance cannot send.
pub async fn log_reason(
    call: &Call<'_>,
    caller: &PartnerCaller,
    instance: AgentId,
) -> ApiResult<()> {
    let reason = if is_there(call, caller, instance).await? {
        "the instance has no channel: name an adapter for it in the workspace file and apply the file"
    } else {
        "the key's workspace has no such instance"
    };
    tracing::info!(%instance, reason, "message refused, its instance cannot send");
    Ok(())
}

/// Returns the refusal for an instance that cannot send.
pub fn not_found() -> ApiError {
    ApiError::coded(ErrorCode::InstanceNotFound, "Instance not found")
}
