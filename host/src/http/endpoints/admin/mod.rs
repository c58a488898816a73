//! `/admin/v1/...` on the admin surface: what operators do. A path may hold a
//! name instead of an id, percent-encoded.
//!
//! The surface is for loopback, and a browser on the same machine is on
//! loopback too: a page whose name was rebound to this address is turned away
//! by the Host header. Work that takes long, or that must not stop half-way,
//! goes on when the operator hangs up.

mod apply;
mod connections;
mod contacts;
mod deals;
mod deliveries;
mod etl;
mod instances;
mod keys;
mod outbox;
mod plugins;
mod status;
mod workspaces;

use std::borrow::Cow;

use hyper::header::HOST;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::http::auth::AdminCaller;
use crate::http::body::Unread;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::reply::Reply;
use crate::http::router::Call;
use crate::limits;
use crate::pipeline::apply::Part;

/// Every operation under `/admin/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminRoute<'a> {
    Status,
    Apply,
    ListKeys,
    CreateKey,
    RevokeKey {
        id: &'a str,
    },
    ListPlugins,
    UploadPlugin,
    CheckPlugin,
    ActivatePlugin {
        name: &'a str,
    },
    RollBackPlugin {
        name: &'a str,
    },
    ListDeliveries,
    ShowDelivery {
        id: &'a str,
    },
    ReplayDelivery {
        id: &'a str,
    },
    ListConnections,
    PauseConnection {
        which: &'a str,
    },
    ResumeConnection {
        which: &'a str,
    },
    ListInstances,
    ShowInstance {
        which: &'a str,
    },
    PauseInstance {
        which: &'a str,
    },
    ResumeInstance {
        which: &'a str,
    },
    SyncTemplates {
        which: &'a str,
    },
    ListOutbox,
    PlayReply,
    PlayStatus {
        id: &'a str,
    },
    ResolveMessage {
        id: &'a str,
    },
    ShowDeal {
        id: &'a str,
    },
    RemoveDeal {
        id: &'a str,
    },
    EraseContact,
    ListErasures,
    ListWorkspaces,
    ImportProducts {
        workspace: &'a str,
    },
    RemoveProduct {
        workspace: &'a str,
        external_id: &'a str,
    },
    ShowEtl,
    RunEtl,
    RebuildEtl,
    GetPart {
        workspace: &'a str,
        part: Part,
    },
    PutPart {
        workspace: &'a str,
        part: Part,
    },
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
            ("GET", ["instances"]) => Self::ListInstances,
            ("GET", ["instances", which]) => Self::ShowInstance { which },
            ("POST", ["instances", which, "pause"]) => Self::PauseInstance { which },
            ("POST", ["instances", which, "resume"]) => Self::ResumeInstance { which },
            ("POST", ["instances", which, "sync-templates"]) => Self::SyncTemplates { which },
            ("GET", ["outbox"]) => Self::ListOutbox,
            ("POST", ["outbox", "reply"]) => Self::PlayReply,
            ("POST", ["outbox", id, "status"]) => Self::PlayStatus { id },
            ("POST", ["outbox", id, "resolve"]) => Self::ResolveMessage { id },
            ("GET", ["deals", id]) => Self::ShowDeal { id },
            ("DELETE", ["deals", id]) => Self::RemoveDeal { id },
            ("POST", ["contacts", "erase"]) => Self::EraseContact,
            ("GET", ["erasures"]) => Self::ListErasures,
            ("GET", ["workspaces"]) => Self::ListWorkspaces,
            ("PUT", ["workspaces", workspace, "products"]) => Self::ImportProducts { workspace },
            ("DELETE", ["workspaces", workspace, "products", external_id]) => Self::RemoveProduct {
                workspace,
                external_id,
            },
            ("GET", ["etl"]) => Self::ShowEtl,
            ("POST", ["etl", "runs"]) => Self::RunEtl,
            ("POST", ["etl", "rebuilds"]) => Self::RebuildEtl,
            ("GET", ["workspaces", workspace, "owners"]) => Self::GetPart {
                workspace,
                part: Part::Owners,
            },
            ("PUT", ["workspaces", workspace, "owners"]) => Self::PutPart {
                workspace,
                part: Part::Owners,
            },
            ("GET", ["workspaces", workspace, "agents"]) => Self::GetPart {
                workspace,
                part: Part::Agents,
            },
            ("PUT", ["workspaces", workspace, "agents"]) => Self::PutPart {
                workspace,
                part: Part::Agents,
            },
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
            Self::ListInstances => "admin-list-instances",
            Self::ShowInstance { .. } => "admin-show-instance",
            Self::PauseInstance { .. } => "admin-pause-instance",
            Self::ResumeInstance { .. } => "admin-resume-instance",
            Self::SyncTemplates { .. } => "admin-sync-templates",
            Self::ListOutbox => "admin-list-outbox",
            Self::PlayReply => "admin-play-reply",
            Self::PlayStatus { .. } => "admin-play-status",
            Self::ResolveMessage { .. } => "admin-resolve-message",
            Self::ShowDeal { .. } => "admin-show-deal",
            Self::RemoveDeal { .. } => "admin-remove-deal",
            Self::EraseContact => "admin-erase-contact",
            Self::ListErasures => "admin-list-erasures",
            Self::ListWorkspaces => "admin-list-workspaces",
            Self::ImportProducts { .. } => "admin-import-products",
            Self::RemoveProduct { .. } => "admin-remove-product",
            Self::ShowEtl => "admin-show-etl",
            Self::RunEtl => "admin-run-etl",
            Self::RebuildEtl => "admin-rebuild-etl",
            Self::GetPart {
                part: Part::Owners, ..
            } => "admin-list-owners",
            Self::GetPart {
                part: Part::Agents, ..
            } => "admin-list-agents",
            Self::PutPart {
                part: Part::Owners, ..
            } => "admin-put-owners",
            Self::PutPart {
                part: Part::Agents, ..
            } => "admin-put-agents",
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
        AdminRoute::UploadPlugin => plugins::upload::upload(call, caller, body).await,
        AdminRoute::CheckPlugin => plugins::check::check(call, caller, body).await,
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
        AdminRoute::ListInstances => instances::list::list(call).await,
        AdminRoute::ShowInstance { which } => instances::show::show(call, &decoded(which)).await,
        AdminRoute::PauseInstance { which } => {
            instances::pause::pause(call, &decoded(which), body).await
        }
        AdminRoute::ResumeInstance { which } => {
            instances::resume::resume(call, &decoded(which)).await
        }
        AdminRoute::SyncTemplates { which } => {
            instances::sync_templates::sync(call, &decoded(which)).await
        }
        AdminRoute::ListOutbox => outbox::list::list(call).await,
        AdminRoute::PlayReply => outbox::reply::reply(call, body).await,
        AdminRoute::PlayStatus { id } => outbox::status::status(call, &decoded(id), body).await,
        AdminRoute::ResolveMessage { id } => {
            outbox::resolve::resolve(call, &decoded(id), body).await
        }
        AdminRoute::ShowDeal { id } => deals::show(call, &decoded(id)).await,
        AdminRoute::RemoveDeal { id } => deals::remove(call, &decoded(id)).await,
        AdminRoute::EraseContact => contacts::erase::run(call, caller, body).await,
        AdminRoute::ListErasures => contacts::erasures::list(call).await,
        AdminRoute::ListWorkspaces => workspaces::list::list(call).await,
        AdminRoute::ImportProducts { workspace } => {
            workspaces::products::import(call, &decoded(workspace), body).await
        }
        AdminRoute::RemoveProduct {
            workspace,
            external_id,
        } => {
            let (workspace, external_id) = (decoded(workspace), decoded(external_id));
            workspaces::products::remove(call, &workspace, &external_id).await
        }
        AdminRoute::ShowEtl => etl::show::show(call).await,
        AdminRoute::RunEtl => etl::run::run(call).await,
        AdminRoute::RebuildEtl => etl::rebuild::rebuild(call, body).await,
        AdminRoute::GetPart { workspace, part } => {
            workspaces::parts::get(call, &decoded(workspace), part).await
        }
        AdminRoute::PutPart { workspace, part } => {
            workspaces::parts::put(call, &decoded(workspace), part, body).await
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

/// The only one with this name; each comes with its workspace and its own name.
fn only<T>(
    what: &str,
    text: &str,
    all: impl Iterator<Item = (String, String, T)>,
) -> Result<T, ApiError> {
    let mut found: Vec<_> = all
        .filter(|(workspace, name, _)| name == text || format!("{workspace}/{name}") == text)
        .collect();
    match found.len() {
        0 => Err(ApiError::NotFound(format!(
            "There is no {what} `{text}`; `leadhost {what} list` shows those that there are."
        ))),
        1 => Ok(found.remove(0).2),
        _ => {
            let names: Vec<String> = found
                .iter()
                .map(|(workspace, name, _)| format!("{workspace}/{name}"))
                .collect();
            let mut details = serde_json::Map::new();
            details.insert(format!("{what}s"), names.clone().into());
            Err(ApiError::Conflict {
                message: format!("`{text}` is in several workspaces: {}.", names.join(", ")),
                details: details.into(),
            })
        }
    }
}

/// A JSON body; an empty one counts as an empty object.
async fn read_json<T: DeserializeOwned>(call: &Call<'_>, body: Unread) -> Result<T, ApiError> {
    json::refuse_compressed(&call.head.headers)?;
    let body = body.read(call.app, limits::ADMIN_BODY_BYTES).await?;
    let bytes: &[u8] = if body.bytes.is_empty() {
        b"{}"
    } else {
        &body.bytes
    };
    serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() {
            "not as expected"
        } else {
            "no JSON"
        };
        ApiError::BadRequest(format!("The body is {what}: {error}."))
    })
}

/// Rows of a page that nobody says more of.
const PAGE: u32 = 50;

/// The `limit` of a list that comes in pages.
fn page_limit(query: &Query<'_>) -> Result<u32, ApiError> {
    let Some(text) = query.filled(&["limit"]) else {
        return Ok(PAGE);
    };
    let limit: u32 = text
        .parse()
        .map_err(|_| ApiError::BadRequest(format!("`limit={text}`: expected a whole number.")))?;
    Ok(limit.clamp(1, limits::DELIVERIES_PER_PAGE))
}

/// The row before which the next page begins: a page that is not full is the last.
fn last_of_full<T>(rows: &[T], limit: u32) -> Option<&T> {
    rows.last().filter(|_| rows.len() >= limit as usize)
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
        check("POST", &["outbox", "reply"], Some("admin-play-reply"));
        check(
            "POST",
            &["outbox", "x", "status"],
            Some("admin-play-status"),
        );
        check("POST", &["outbox", "x"], None);
        check(
            "PUT",
            &["workspaces", "x", "agents"],
            Some("admin-put-agents"),
        );
        check("PUT", &["workspaces", "x"], None);
        check("DELETE", &["deals", "x"], Some("admin-remove-deal"));
        check(
            "DELETE",
            &["workspaces", "x", "products", "y"],
            Some("admin-remove-product"),
        );
        check("POST", &["contacts", "erase"], Some("admin-erase-contact"));
        check("DELETE", &["contacts", "x"], None);
    }
}
