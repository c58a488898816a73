//! Who is asking. Each scheme gives a proof that its endpoints take as an
//! argument; there is no other way to make one.
//!
//! A text that cannot be a key is refused without asking the store. What the
//! store said of a key, good or bad, is believed for a second at most: a revoked
//! key is dead by then on every host. When the store cannot be asked, nobody is
//! let in. Failures are counted by the address that they come from (`failures`). Unknown, revoked, expired and malformed keys and keys of another kind
//! hear the same.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::call::Call;
use super::error::{ApiError, Challenge};
use super::failures::Who;
use crate::domain::id::KeyId;
use crate::domain::key::{KeyKind, PlainKey};
use crate::domain::workspace::{Partner, Workspace};
use crate::store::{ByPartner, Caller, Scope, StoreError};

/// A data client: it reads one workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceCaller {
    caller: Arc<Caller>,
    scope: Scope,
}

impl WorkspaceCaller {
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace(&self) -> &Workspace {
        workspace_of(&self.caller)
    }

    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }
}

/// A partner's system: it works in one workspace, by partner key or access token.
#[derive(Clone, Debug)]
pub struct PartnerCaller {
    caller: Arc<Caller>,
    scope: Scope,
}

impl PartnerCaller {
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace(&self) -> &Workspace {
        workspace_of(&self.caller)
    }

    pub fn partner(&self) -> &Partner {
        self.caller.partner.as_ref().expect("checked when granted")
    }

    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }

    /// Who works on deals, for what is committed.
    pub fn by(&self) -> ByPartner {
        ByPartner {
            workspace: self.workspace().id,
            partner: self.partner().id,
            key: self.key(),
        }
    }
}

/// An operator.
#[derive(Clone, Debug)]
pub struct AdminCaller {
    caller: Arc<Caller>,
}

impl AdminCaller {
    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }
}

fn workspace_of(caller: &Caller) -> &Workspace {
    caller.workspace.as_ref().expect("checked when granted")
}

/// By workspace key, as bearer.
pub async fn workspace(call: &Call<'_>) -> Result<WorkspaceCaller, ApiError> {
    let presented = bearer(&call.head.headers);
    let caller = grant(call, presented, KeyKind::Workspace, Challenge::Bearer).await?;
    let scope = scope_of(&caller)?;
    Ok(WorkspaceCaller { caller, scope })
}

/// By partner key, in `x-service-api-key`.
pub async fn partner(call: &Call<'_>) -> Result<PartnerCaller, ApiError> {
    let headers = &call.head.headers;
    let presented = headers
        .get("x-service-api-key")
        .and_then(|value| value.to_str().ok());
    partner_caller(grant(call, presented, KeyKind::Partner, Challenge::PartnerKey).await?)
}

/// By a partner's access token, as bearer.
pub async fn access_token(call: &Call<'_>) -> Result<PartnerCaller, ApiError> {
    let presented = bearer(&call.head.headers);
    partner_caller(grant(call, presented, KeyKind::AccessToken, Challenge::Bearer).await?)
}

/// By admin key, as bearer.
pub async fn admin(call: &Call<'_>) -> Result<AdminCaller, ApiError> {
    let presented = bearer(&call.head.headers);
    let caller = grant(call, presented, KeyKind::Admin, Challenge::Bearer).await?;
    tracing::Span::current().record("key", caller.key.label.as_str());
    Ok(AdminCaller { caller })
}

fn partner_caller(caller: Arc<Caller>) -> Result<PartnerCaller, ApiError> {
    let scope = scope_of(&caller)?;
    if caller.partner.is_none() {
        return Err(incomplete(&caller, "partner"));
    }
    Ok(PartnerCaller { caller, scope })
}

fn scope_of(caller: &Caller) -> Result<Scope, ApiError> {
    let workspace = caller
        .workspace
        .as_ref()
        .ok_or_else(|| incomplete(caller, "workspace"))?;
    tracing::Span::current().record("workspace", workspace.slug.as_str());
    caller
        .scope()
        .ok_or_else(|| incomplete(caller, "workspace"))
}

fn incomplete(caller: &Caller, what: &str) -> ApiError {
    ApiError::Store(StoreError::Inconsistent {
        what: format!("key {} names no {what}", caller.key.id),
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

async fn grant(
    call: &Call<'_>,
    presented: Option<&str>,
    kind: KeyKind,
    challenge: Challenge,
) -> Result<Arc<Caller>, ApiError> {
    let http = call.http;
    let refused = ApiError::Unauthorized(challenge);
    let Some(presented) = presented else {
        return Err(refused);
    };
    let now = http.core.clock.now();
    let who = Who::new(call.peer, call.surface);
    let too_many = http.failures.refused(who, now);
    let key = PlainKey::parse(presented).filter(|key| key.kind() == kind);
    let digest = key.map(|key| key.digest());
    let known = match digest {
        // What was good is asked after all the same: who guesses does not lock out
        // whoever has the same address.
        Some(digest) if too_many.is_none() || http.pipeline.keys.was_good(&digest) => {
            http.pipeline.keys.known(&http.core, &digest).await?
        }
        _ => None,
    };
    if let Some(caller) = known.filter(|caller| caller.key.kind == kind && caller.key.is_live(now))
    {
        http.pipeline.keys.note_use(&caller, now);
        return Ok(caller);
    }
    http.failures.note(who, now);
    http.core.metrics.key_failed();
    match too_many {
        Some(retry_after) => Err(ApiError::TooManyFailures { retry_after }),
        None => Err(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn a_bearer_is_read_in_any_case_and_with_any_space() {
        let check = |text: &'static str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(text));
            assert_eq!(bearer(&headers), expect, "{text}");
        };
        check("Bearer key", Some("key"));
        check("bearer   key ", Some("key"));
        check("Basic key", None);
        check("Bearer", None);
        check("key", None);
        check("", None);
    }
}
