//! Authentication. Each scheme yields a caller that its endpoints take as an argument. There is
//! no other way to make one.
//!
//! A text that cannot be a key is refused without asking the store. The store's answer about a key,
//! good or bad, is trusted for at most a second, so a revoked key stops working on every host by
//! then. If the store cannot be asked, no request is let in. Failures are counted by the address
//! that they come from (`failures`). Unknown, revoked, expired and malformed keys, and keys of
//! another kind, get the same answer.

use hyper::header::AUTHORIZATION;

use super::error::Challenge;
use super::failures::FailedPeer;
use crate::prelude::*;
use leadhost_domain::id::KeyId;
use leadhost_domain::key::{KeyKind, PlainKey, Role};
use leadhost_domain::workspace::Partner;
use leadhost_store::{ByPartner, Caller, Scope};
use leadhost_trace::{self as trace, SpanKind, StepOutcome};

/// A client of the data API. It reads one workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceCaller {
    key: KeyId,
    workspace: Arc<Workspace>,
    scope: Scope,
}

impl WorkspaceCaller {
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn key(&self) -> KeyId {
        self.key
    }
}

/// A partner's system. It works in one workspace, with a partner key or an access token.
#[derive(Clone, Debug)]
pub struct PartnerCaller {
    key: KeyId,
    workspace: Arc<Workspace>,
    partner: Arc<Partner>,
    scope: Scope,
}

impl PartnerCaller {
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn partner(&self) -> &Partner {
        &self.partner
    }

    pub fn key(&self) -> KeyId {
        self.key
    }

    /// Returns the partner's identity, as commits record who changed a deal.
    pub fn by(&self) -> ByPartner {
        ByPartner {
            workspace: self.workspace.id,
            partner: self.partner.id,
            key: self.key,
        }
    }
}

#[derive(Clone, Debug)]
pub struct AdminCaller {
    caller: Arc<Caller>,
}

impl AdminCaller {
    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }

    pub fn role(&self) -> Role {
        self.caller.key.role.unwrap_or(Role::Viewer)
    }

    pub fn label(&self) -> String {
        self.caller.key.shown()
    }
}

/// Authenticates a workspace key, sent as a bearer token.
pub async fn workspace(call: &Call<'_>) -> Result<WorkspaceCaller, ApiError> {
    let caller = bearer_grant(call, KeyKind::Workspace).await?;
    let (workspace, scope) = workspace_of(&caller)?;
    Ok(WorkspaceCaller {
        key: caller.key.id,
        workspace,
        scope,
    })
}

/// Authenticates a partner key in `x-service-api-key`.
pub async fn partner(call: &Call<'_>) -> Result<PartnerCaller, ApiError> {
    let headers = &call.head.headers;
    let presented = only(headers, &HeaderName::from_static("x-service-api-key"))?;
    let caller = grant(call, presented, KeyKind::Partner, Challenge::PartnerKey).await?;
    partner_caller(&caller)
}

pub async fn access_token(call: &Call<'_>) -> Result<PartnerCaller, ApiError> {
    let caller = bearer_grant(call, KeyKind::AccessToken).await?;
    partner_caller(&caller)
}

/// Authenticates an admin key, sent as a bearer token.
pub async fn admin(call: &Call<'_>) -> Result<AdminCaller, ApiError> {
    within_rate(call, bearer_grant(call, KeyKind::Admin).await?)
}

/// Returns the operator, unless the key is past its rate.
fn within_rate(call: &Call<'_>, caller: Arc<Caller>) -> Result<AdminCaller, ApiError> {
    tracing::Span::current().record("key", caller.key.label.as_str());
    let http = call.http;
    let asked = http.admin_rate.ask(&caller.key.id, http.core.clock.now());
    asked.map_err(|retry_after| ApiError::TooManyRequests {
        shed: Shed::RateOfOneAdminKey,
        retry_after,
    })?;
    Ok(AdminCaller { caller })
}

/// Authenticates an admin key that was typed into the console. Returns its digest too, by which
/// [`signed_in`] finds it again.
pub async fn typed_in(call: &Call<'_>, key: &str) -> Result<(AdminCaller, [u8; 32]), ApiError> {
    let challenge = Challenge::Bearer(KeyKind::Admin);
    let caller = grant(call, Some(key), KeyKind::Admin, challenge).await?;
    let digest = PlainKey::parse(key).ok_or(ApiError::Unauthorized(challenge))?;
    Ok((AdminCaller { caller }, digest.digest()))
}

/// Authenticates the admin key of a session by its digest.
pub async fn signed_in(call: &Call<'_>, digest: &[u8; 32]) -> Result<AdminCaller, ApiError> {
    let caller = live(call.http, digest, KeyKind::Admin).await?;
    let caller = caller.ok_or(ApiError::Unauthorized(Challenge::Bearer(KeyKind::Admin)))?;
    within_rate(call, caller)
}

pub async fn is_signed_in(http: &Http, digest: &[u8; 32]) -> Result<bool, StoreError> {
    Ok(live(http, digest, KeyKind::Admin).await?.is_some())
}

fn partner_caller(caller: &Caller) -> Result<PartnerCaller, ApiError> {
    let (workspace, scope) = workspace_of(caller)?;
    let partner = caller
        .partner
        .clone()
        .ok_or_else(|| incomplete(caller, "partner"))?;
    Ok(PartnerCaller {
        key: caller.key.id,
        workspace,
        partner,
        scope,
    })
}

fn workspace_of(caller: &Caller) -> Result<(Arc<Workspace>, Scope), ApiError> {
    let workspace = caller
        .workspace
        .clone()
        .ok_or_else(|| incomplete(caller, "workspace"))?;
    tracing::Span::current().record("workspace", workspace.slug.as_str());
    let scope = caller
        .scope()
        .ok_or_else(|| incomplete(caller, "workspace"))?;
    Ok((workspace, scope))
}

fn incomplete(caller: &Caller, what: &str) -> ApiError {
    ApiError::Store(StoreError::Inconsistent {
        what: format!("key {} names no {what}", caller.key.id),
    })
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let pair = only(headers, &AUTHORIZATION)?.and_then(|text| text.split_once(' '));
    let key = pair.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Ok(key.map(|(_, key)| key.trim()))
}

/// Returns the value of a header with a key. Two different ones are refused: the client and a proxy
/// may not agree on which counts.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.any(|other| Some(other) != first) {
        return Err(ApiError::BadRequest(format!(
            "The request has several different {name} headers; send exactly one."
        )));
    }
    Ok(first.and_then(|value| value.to_str().ok()))
}

async fn bearer_grant(call: &Call<'_>, kind: KeyKind) -> Result<Arc<Caller>, ApiError> {
    let presented = bearer(&call.head.headers)?;
    grant(call, presented, kind, Challenge::Bearer(kind)).await
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
    let who = FailedPeer::new(call.peer, call.surface);
    let too_many = http.failures.refused(who, now);
    let key = PlainKey::parse(presented).filter(|key| key.kind() == kind);
    let digest = key.map(|key| key.digest());
    let checking = trace::span("check key", SpanKind::Internal);
    // A key that was valid before is looked up even if this address had too many failures, so that failed
    // guesses do not lock out valid clients at the same address. So is every admin key: the admin listener has few
    // connections, and the look-up is one row of an index.
    let is_tried = |digest: &[u8; 32]| {
        too_many.is_none() || kind == KeyKind::Admin || http.pipeline.keys.was_good(digest)
    };
    let known = match digest.filter(is_tried) {
        Some(digest) => checking.run(live(http, &digest, kind)).await?,
        None => None,
    };
    if let Some(caller) = known {
        checking.set("leadhost.check.outcome", StepOutcome::Passed);
        return Ok(caller);
    }
    checking.set("leadhost.check.outcome", StepOutcome::Refused);
    http.failures.note(who, now);
    http.core.metrics.http.key_failed();
    match too_many {
        Some(retry_after) => Err(ApiError::TooManyFailures { retry_after }),
        None => Err(refused),
    }
}

/// Returns the caller with a key of this kind that is valid now, and notes its use.
async fn live(
    http: &Http,
    digest: &[u8; 32],
    kind: KeyKind,
) -> Result<Option<Arc<Caller>>, StoreError> {
    let known = http.pipeline.keys.known(&http.core, digest).await?;
    let now = http.core.clock.now();
    let live = known.filter(|caller| caller.key.kind == kind && caller.key.is_live(now));
    if let Some(caller) = &live {
        http.pipeline.keys.note_use(caller, now);
    }
    Ok(live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_is_read_in_any_case_and_with_any_space() {
        let check = |text: &'static str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(text));
            assert_eq!(bearer(&headers).ok(), Some(expect), "{text}");
        };
        check("Bearer key", Some("key"));
        check("bearer   key ", Some("key"));
        check("Basic key", None);
        check("Bearer", None);
        check("key", None);
        check("", None);
    }

    #[test]
    fn a_repeated_key_counts_once_and_a_different_one_is_refused() {
        let name = HeaderName::from_static("x-service-api-key");
        let mut headers = HeaderMap::new();
        for expect in [Some("a"), Some("a")] {
            headers.append(&name, HeaderValue::from_static("a"));
            assert_eq!(only(&headers, &name).ok(), Some(expect));
        }
        headers.append(&name, HeaderValue::from_static("b"));
        let refused = only(&headers, &name).expect_err("two keys").to_string();
        assert!(
            refused.contains("several different x-service-api-key"),
            "{refused}"
        );
    }
}
