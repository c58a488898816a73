//! The audit of the admin surface: every operation that changes something is a row before it is
//! done, and another one says what became of it.

pub mod list;

use serde_json::{Value, json};

use crate::domain::audit::{Act, ActOutcome};
use crate::http::auth::AdminCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::route::AdminRoute;

/// Runs an operation. If it changes something, its rows are stored before and after it.
///
/// # Errors
///
/// The errors of the operation, and [`ApiError::Store`] if its first row cannot be stored: then
/// nothing is done.
pub async fn recorded(
    call: &Call<'_>,
    caller: &AdminCaller,
    route: AdminRoute<'_>,
    operation: impl Future<Output = Result<Reply, ApiError>>,
) -> Result<Reply, ApiError> {
    if !route.changes() {
        return operation.await;
    }
    let core = &call.http.core;
    let act = Act {
        at: core.clock.now(),
        key_id: Some(caller.key()),
        label: caller.label().to_owned(),
        role: Some(caller.role()),
        address: call.peer.to_string(),
        act: route.act().to_owned(),
        target: super::decoded(&route.target()).into_owned(),
        outcome: ActOutcome::Begun,
        begun: None,
        detail: "{}".to_owned(),
    };
    let begun = core.store.add_audit(act.clone()).await?;
    let result = operation.await;
    let (outcome, detail) = match &result {
        Ok(_) => (ActOutcome::Done, call.detail().unwrap_or_else(|| json!({}))),
        Err(error) => refused(error),
    };
    let end = Act {
        at: core.clock.now(),
        outcome,
        begun: Some(begun.number),
        detail: detail.to_string(),
        ..act
    };
    if let Err(error) = core.store.add_audit(end).await {
        tracing::error!(act = route.act(), begun = begun.number, %error, "end of an operator's act not stored in the audit");
    }
    result
}

/// Returns the outcome and the detail of a failed operation. Messages may name a person, so they
/// are left out.
fn refused(error: &ApiError) -> (ActOutcome, Value) {
    let (status, _) = error.outside();
    let outcome = match status.is_server_error() {
        true => ActOutcome::Failed,
        false => ActOutcome::Refused,
    };
    let mut detail = json!({ "status": status.as_u16() });
    if let ApiError::Conflict { details, .. } = error
        && let Some(needed) = details.get("accept")
    {
        detail["needsAccept"] = needed.clone();
    }
    (outcome, detail)
}
