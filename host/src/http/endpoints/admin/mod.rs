//! `/admin/v1/...` on the admin surface: what operators do. A path may hold a
//! name instead of an id, percent-encoded.
//!
//! The surface is for loopback, and a browser on the same machine is on
//! loopback too: a page whose name was rebound to this address is turned away
//! by the Host header. Work that takes long, or that must not stop half-way,
//! goes on when the operator hangs up.

mod apply;
mod connections;
mod deliveries;
mod keys;
mod plugins;
mod status;

use std::borrow::Cow;

use hyper::header::HOST;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::http::auth::AdminCaller;
use crate::http::body::Unread;
use crate::http::error::ApiError;
use crate::http::reply::Reply;
use crate::http::router::Call;
use crate::limits;

/// Every operation under `/admin/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminRoute<'a> {
    Status,
    Apply,
    ListKeys,
    CreateKey,
    RevokeKey { id: &'a str },
    ListPlugins,
    UploadPlugin,
    CheckPlugin,
    ActivatePlugin { name: &'a str },
    RollBackPlugin { name: &'a str },
    ListDeliveries,
    ShowDelivery { id: &'a str },
    ReplayDelivery { id: &'a str },
    ListConnections,
    PauseConnection { which: &'a str },
    ResumeConnection { which: &'a str },
}

impl<'a> AdminRoute<'a> {
    /// `segments`: those after `/admin/v1`.
    pub fn parse(method: &str, segments: &[&'a str]) -> Option<Self> {
        Some(match (method, segments) {
            ("GET", ["status"]) => Self::Status,
            ("POST", ["apply"]) => Self::Apply,
            ("GET", ["keys"]) => Self::ListKeys,
            ("POST", ["keys"]) => Self::CreateKey,
            ("DELETE", ["keys", id]) => Self::RevokeKey { id },
            ("GET", ["plugins"]) => Self::ListPlugins,
            ("POST", ["plugins"]) => Self::UploadPlugin,
            ("POST", ["plugins", "check"]) => Self::CheckPlugin,
            ("POST", ["plugins", name, "activate"]) => Self::ActivatePlugin { name },
            ("POST", ["plugins", name, "rollback"]) => Self::RollBackPlugin { name },
            ("GET", ["deliveries"]) => Self::ListDeliveries,
            ("GET", ["deliveries", id]) => Self::ShowDelivery { id },
            ("POST", ["deliveries", id, "replay"]) => Self::ReplayDelivery { id },
            ("GET", ["connections"]) => Self::ListConnections,
            ("POST", ["connections", which, "pause"]) => Self::PauseConnection { which },
            ("POST", ["connections", which, "resume"]) => Self::ResumeConnection { which },
            _ => return None,
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Status => "admin-status",
            Self::Apply => "admin-apply",
            Self::ListKeys => "admin-list-keys",
            Self::CreateKey => "admin-create-key",
            Self::RevokeKey { .. } => "admin-revoke-key",
            Self::ListPlugins => "admin-list-plugins",
            Self::UploadPlugin => "admin-upload-plugin",
            Self::CheckPlugin => "admin-check-plugin",
            Self::ActivatePlugin { .. } => "admin-activate-plugin",
            Self::RollBackPlugin { .. } => "admin-roll-back-plugin",
            Self::ListDeliveries => "admin-list-deliveries",
            Self::ShowDelivery { .. } => "admin-show-delivery",
            Self::ReplayDelivery { .. } => "admin-replay-delivery",
            Self::ListConnections => "admin-list-connections",
            Self::PauseConnection { .. } => "admin-pause-connection",
            Self::ResumeConnection { .. } => "admin-resume-connection",
        }
    }
}

pub async fn run(
    call: &Call<'_>,
    caller: &AdminCaller,
    route: AdminRoute<'_>,
    body: Unread,
) -> Result<Reply, ApiError> {
    check_host(call)?;
    match route {
        AdminRoute::Status => status::show(call).await,
        AdminRoute::Apply => apply::apply(call, body).await,
        AdminRoute::ListKeys => keys::list::list(call).await,
        AdminRoute::CreateKey => keys::create::create(call, body).await,
        AdminRoute::RevokeKey { id } => keys::revoke::revoke(call, caller, &decoded(id)).await,
        AdminRoute::ListPlugins => plugins::list::list(call).await,
        AdminRoute::UploadPlugin => plugins::upload::upload(call, body).await,
        AdminRoute::CheckPlugin => plugins::check::check(call, body).await,
        AdminRoute::ActivatePlugin { name } => {
            plugins::activate::activate(call, &decoded(name), body).await
        }
        AdminRoute::RollBackPlugin { name } => {
            plugins::rollback::roll_back(call, &decoded(name)).await
        }
        AdminRoute::ListDeliveries => deliveries::list::list(call).await,
        AdminRoute::ShowDelivery { id } => deliveries::show::show(call, &decoded(id)).await,
        AdminRoute::ReplayDelivery { id } => {
            deliveries::replay::replay(call, &decoded(id), body).await
        }
        AdminRoute::ListConnections => connections::list::list(call).await,
        AdminRoute::PauseConnection { which } => {
            connections::pause::pause(call, &decoded(which), body).await
        }
        AdminRoute::ResumeConnection { which } => {
            connections::resume::resume(call, &decoded(which)).await
        }
    }
}

/// The Host header names an address, this machine, or what the configuration says.
fn check_host(call: &Call<'_>) -> Result<(), ApiError> {
    let host = call
        .head
        .headers
        .get(HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if is_own(host, &call.app.config.server.admin_listen) {
        return Ok(());
    }
    Err(ApiError::Forbidden(format!(
        "The admin API answers to its address or to localhost, not to the name `{}`.",
        host.chars().take(100).collect::<String>()
    )))
}

fn is_own(host: &str, configured: &str) -> bool {
    let name = without_port(host);
    name.eq_ignore_ascii_case("localhost")
        || name
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok()
        || (!name.is_empty() && name.eq_ignore_ascii_case(without_port(configured)))
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

fn decoded(segment: &str) -> Cow<'_, str> {
    percent_decode_str(segment).decode_utf8_lossy()
}

/// A JSON body; an empty one counts as an empty object.
async fn read_json<T: DeserializeOwned>(call: &Call<'_>, body: Unread) -> Result<T, ApiError> {
    let body = body.read(call.app, limits::ADMIN_BODY_BYTES).await?;
    let bytes: &[u8] = if body.bytes.is_empty() {
        b"{}"
    } else {
        &body.bytes
    };
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::BadRequest(format!("The body is not as expected: {error}.")))
}

/// A yes or no of the query; absent is no.
fn flag(call: &Call<'_>, name: &str) -> Result<bool, ApiError> {
    match call.query().get(name) {
        None | Some("" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(ApiError::BadRequest(format!(
            "`{name}={other}`: expected true or false."
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_rebound_to_this_address_is_not_ours() {
        let check = |host: &str, expect: bool| {
            assert_eq!(is_own(host, "admin.internal:8081"), expect, "{host}");
        };
        check("127.0.0.1:8081", true);
        check("[::1]:8081", true);
        check("LOCALHOST", true);
        check("admin.internal:8081", true);
        check("evil.example:8081", false);
        check("localhost.evil.example", false);
        check("", false);
    }

    #[test]
    fn every_operation_is_found_by_its_method_and_path() {
        let check = |method: &str, segments: &[&'static str], name: Option<&str>| {
            let found = AdminRoute::parse(method, segments).map(|route| route.name());
            assert_eq!(found, name, "{method} {segments:?}");
        };
        check("GET", &["keys"], Some("admin-list-keys"));
        check("DELETE", &["keys", "x"], Some("admin-revoke-key"));
        check("POST", &["plugins", "check"], Some("admin-check-plugin"));
        check(
            "POST",
            &["plugins", "check", "rollback"],
            Some("admin-roll-back-plugin"),
        );
        check("GET", &["apply"], None);
        check("POST", &["deliveries", "x"], None);
    }
}
