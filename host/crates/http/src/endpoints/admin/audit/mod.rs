//! The audit of the admin surface: every operation that changes something is recorded before it is
//! done, and another row has its outcome. Refusals before an operation begins are counted.

pub mod list;
pub mod refused;

use crate::call::Audited;
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::request::needs;
use crate::error::ConflictDetails;
use crate::route::{Found, Mark};
use leadhost_domain::audit::{Act, ActOutcome, AuditActor, OperatorAct};
use leadhost_domain::audit_text::{LABEL_CHARACTERS, named, reason};
use leadhost_domain::key::Role;

/// Runs an operation if the caller may. If it changes something, its rows are stored before and after it.
pub async fn recorded(
    call: &Call<'_>,
    caller: &AdminCaller,
    (Found { route, parameters }, role): (Found<'_>, Role),
    operation: impl Future<Output = ApiResult>,
) -> ApiResult {
    let allowed = needs(caller, role, route.act());
    if role == Role::Viewer {
        allowed?;
        return operation.await;
    }
    let core = &call.http.core;
    // A stop waits for the row with the outcome.
    let _hold = core.shutdown.hold();
    let activates = call.query().get("activate") == Some("true");
    let is_upload = route.act() == OperatorAct::UploadPlugin.as_str();
    let name = if is_upload && activates {
        OperatorAct::ActivatePlugin.as_str()
    } else {
        route.act()
    };
    let actor = actor(call, caller);
    let act = Act {
        at: core.clock.now(),
        key_id: actor.key,
        label: actor.label,
        role: actor.role,
        address: actor.address,
        act: name.to_owned(),
        target: named(&route.target(parameters)),
        outcome: ActOutcome::Begun,
        begun: None,
        detail: "{}".to_owned(),
    };
    let (begun, result) = match allowed {
        Ok(()) => {
            let begun = core.store.add_audit(act.clone()).await?.number;
            call.audit_begun(begun);
            (Some(begun), operation.await)
        }
        Err(error) => (None, Err(error)),
    };
    let Audited {
        mut detail,
        is_partly_done,
        ..
    } = call.audited();
    let outcome = match &result {
        Ok(_) => ActOutcome::Done,
        Err(error) => match refused(error, route.is(Mark::Confidential), &mut detail) {
            ActOutcome::Refused if is_partly_done => ActOutcome::PartlyDone,
            outcome => outcome,
        },
    };
    // An upload has no name before it is read.
    let plugin = detail.get("plugin").and_then(Value::as_str);
    let target = plugin.map_or_else(|| act.target.clone(), str::to_owned);
    let end = Act {
        at: core.clock.now(),
        target,
        outcome,
        begun,
        detail: Value::Object(detail).to_string(),
        ..act
    };
    if begun.is_none() && call.http.refused_acts.counts(caller.key(), name, &end) {
        return result;
    }
    if let Err(error) = core.store.add_audit(end).await {
        tracing::error!(act = name, begun, %error, "end of an operator's act not stored in the audit");
    }
    result
}

pub fn actor(call: &Call<'_>, caller: &AdminCaller) -> AuditActor {
    AuditActor {
        key: Some(caller.key()),
        label: caller.label().chars().take(LABEL_CHARACTERS).collect(),
        role: Some(caller.role()),
        address: call.peer.to_string(),
    }
}

fn refused(error: &ApiError, is_confidential: bool, detail: &mut Map<String, Value>) -> ActOutcome {
    let (status, message) = error.outside();
    detail.insert("status".to_owned(), json!(status.as_u16()));
    if !is_confidential {
        detail.insert("reason".to_owned(), json!(reason(&message)));
    }
    if let ApiError::Conflict {
        details: Some(details),
        ..
    } = error
    {
        match details {
            ConflictDetails::Activation(activation) => {
                detail.insert("needsAccept".to_owned(), json!(activation.accept));
            }
            ConflictDetails::Ambiguous(_) | ConflictDetails::ExternalId { .. } => {}
        }
    }
    if status.is_server_error() {
        ActOutcome::Failed
    } else {
        ActOutcome::Refused
    }
}
