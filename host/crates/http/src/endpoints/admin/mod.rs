//! `/admin/v1/...` on the admin surface: the operations of operators. A path may contain a
//! percent-encoded name instead of an id.
//!
//! The surface is meant for loopback, and a browser on the same machine is on loopback too. A
//! page that rebinds its own name to this address is refused by its Host header. Work that
//! takes long, or that must not stop half-way, continues when the operator disconnects.

mod activity;
mod apply;
pub mod audit;
mod change;
mod config;
mod connections;
mod contacts;
mod deals;
mod deliveries;
mod etl;
mod instances;
mod keys;
mod outbox;
mod people;
pub mod plugins;
mod repairs;
pub mod request;
mod status;
mod tickets;
mod trial;
mod workspaces;

use hyper::header::HOST;

use self::request::decoded;
use crate::auth::AdminCaller;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::error::ApiError;
use crate::reply::ApiResponse;
use crate::route::AdminRoute;

/// Runs an operation and records it in the audit.
pub async fn run(
    call: &Call<'_>,
    caller: &AdminCaller,
    route: AdminRoute<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    check_host(call)?;
    // On the heap: it is a large future.
    let operation = Box::pin(operation(call, caller, route, body));
    audit::recorded(call, caller, route, operation).await
}

async fn operation(
    call: &Call<'_>,
    caller: &AdminCaller,
    route: AdminRoute<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    match route {
        AdminRoute::Status => status::show(call).await,
        AdminRoute::ShowConfig => config::show(call),
        AdminRoute::Apply => apply::apply(call, body).await,
        AdminRoute::ListAudit => audit::list::list(call).await,
        AdminRoute::ListKeys => keys::list(call).await,
        AdminRoute::CreateKey => keys::create::create(call, body).await,
        AdminRoute::RevokeKey { id } => keys::revoke(call, caller, &decoded(id)).await,
        AdminRoute::ListPlugins => plugins::list::list(call).await,
        AdminRoute::UploadPlugin => plugins::upload::upload(call, caller, body).await,
        AdminRoute::CheckPlugin => plugins::upload::check(call, caller, body).await,
        AdminRoute::ListVerifications => plugins::verify::running(call),
        AdminRoute::VerifyUpload => plugins::verify::upload(call, caller, body).await,
        AdminRoute::VerifyPlugin { name } => {
            plugins::verify::stored(call, &decoded(name), body).await
        }
        AdminRoute::PluginImpact { name } => {
            plugins::verify::impact(call, &decoded(name), body).await
        }
        AdminRoute::ActivatePlugin { name } => {
            plugins::versions::activate(call, caller, &decoded(name), body).await
        }
        AdminRoute::RollBackPlugin { name } => {
            plugins::versions::roll_back(call, caller, &decoded(name), body).await
        }
        AdminRoute::RemovePlugin { name, digest } => {
            plugins::versions::remove(call, &decoded(name), &decoded(digest)).await
        }
        AdminRoute::ListRollouts => plugins::rollout::list(call).await,
        AdminRoute::PluginCalls { name } => plugins::calls::show(call, &decoded(name)).await,
        AdminRoute::PluginGolden { name, digest } => {
            plugins::versions::golden_cases(call, &decoded(name), &decoded(digest)).await
        }
        AdminRoute::ShowRollout { name } => plugins::rollout::show(call, &decoded(name)).await,
        AdminRoute::StartRollout { name } => {
            plugins::rollout::start(call, caller, &decoded(name), body).await
        }
        AdminRoute::ChangeRollout { name } => {
            plugins::rollout::change(call, caller, &decoded(name), body).await
        }
        AdminRoute::ListDeliveries => deliveries::list::list(call).await,
        AdminRoute::ShowDelivery { id } => deliveries::show::show(call, &decoded(id)).await,
        AdminRoute::ReplayDelivery { id } => {
            deliveries::replay::replay(call, &decoded(id), body).await
        }
        AdminRoute::ReplayDeliveries => deliveries::replay_many::replay(call, body).await,
        AdminRoute::CaptureDeliveries => deliveries::capture::capture(call, body).await,
        AdminRoute::ExportGolden { id } => deliveries::golden::export(call, &decoded(id)).await,
        AdminRoute::ListRepairs => repairs::list(call).await,
        AdminRoute::StartRepair => repairs::start::start(call, caller, body).await,
        AdminRoute::ShowRepair { id } => repairs::show(call, &decoded(id)).await,
        AdminRoute::ListRepairChanges { id } => repairs::changes::list(call, &decoded(id)).await,
        AdminRoute::CancelRepair { id } => repairs::cancel(call, &decoded(id)).await,
        AdminRoute::UndoRepair { id } => repairs::undo(call, &decoded(id)).await,
        AdminRoute::ListConnections => connections::list(call).await,
        AdminRoute::ChangeConnection { which } => {
            change::connection(call, &decoded(which), body).await
        }
        AdminRoute::PauseConnection { which } => {
            connections::pause(call, &decoded(which), body).await
        }
        AdminRoute::ResumeConnection { which } => connections::resume(call, &decoded(which)).await,
        AdminRoute::TryBody => trial::body(call, body).await,
        AdminRoute::TestConnection { which } => trial::delivery(call, &decoded(which), body).await,
        AdminRoute::ListInstances => instances::list(call).await,
        AdminRoute::ShowInstance { which } => instances::show(call, &decoded(which)).await,
        AdminRoute::ChangeInstance { which } => change::instance(call, &decoded(which), body).await,
        AdminRoute::PauseInstance { which } => instances::pause(call, &decoded(which), body).await,
        AdminRoute::ResumeInstance { which } => instances::resume(call, &decoded(which)).await,
        AdminRoute::SyncTemplates { which } => {
            instances::sync_templates(call, &decoded(which)).await
        }
        AdminRoute::ListOutbox => outbox::list::list(call).await,
        AdminRoute::PlayReply => outbox::reply::reply(call, body).await,
        AdminRoute::PlayStatus { id } => outbox::status::status(call, &decoded(id), body).await,
        AdminRoute::ResolveMessage { id } => {
            outbox::resolve::resolve(call, &decoded(id), body).await
        }
        AdminRoute::ResolveMessages => outbox::resolve_many::resolve(call, body).await,
        AdminRoute::ListDeals => deals::list::list(call).await,
        AdminRoute::ShowDeal { id } => deals::show::show(call, &decoded(id)).await,
        AdminRoute::RemoveDeal { id } => deals::remove(call, &decoded(id)).await,
        AdminRoute::ListContacts => contacts::find::list(call).await,
        AdminRoute::ShowContact { id } => contacts::find::show(call, &decoded(id)).await,
        AdminRoute::EraseContact => contacts::erase::run(call, caller, body).await,
        AdminRoute::ListErasures => contacts::erasures::list(call).await,
        AdminRoute::ShowErasure { id } => contacts::erasures::show(call, &decoded(id)).await,
        AdminRoute::ListTickets => tickets::list(call).await,
        AdminRoute::ShowTicket { id } => tickets::show(call, &decoded(id)).await,
        AdminRoute::ListWorkspaces => workspaces::list::list(call).await,
        AdminRoute::CountAnalytics {
            workspace,
            set,
            granularity,
        } => {
            let (set, granularity) = (decoded(set), decoded(granularity));
            workspaces::analytics::counts(call, &decoded(workspace), &set, &granularity).await
        }
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
        AdminRoute::ShowActivity => activity::show(call).await,
        AdminRoute::ShowEtl => etl::show(call).await,
        AdminRoute::RunEtl => etl::run::run(call).await,
        AdminRoute::RebuildEtl => etl::rebuild(call, body).await,
        AdminRoute::GetPart { workspace, part } => {
            workspaces::parts::get(call, &decoded(workspace), part).await
        }
        AdminRoute::PutPart { workspace, part } => {
            workspaces::parts::put(call, &decoded(workspace), part, body).await
        }
    }
}

/// Checks that the Host header names an address, this machine, or the configured name.
pub fn check_host(call: &Call<'_>) -> Result<(), ApiError> {
    let host = call
        .head
        .headers
        .get(HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if is_own(host, &call.http.core.config.server.admin_listen) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_rebound_to_this_address_is_refused() {
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
        check("POST", &["plugins", "verify"], Some("admin-verify-upload"));
        check(
            "GET",
            &["plugins", "verify"],
            Some("admin-list-verifications"),
        );
        check(
            "POST",
            &["plugins", "x", "verify"],
            Some("admin-verify-plugin"),
        );
        check(
            "POST",
            &["plugins", "x", "impact"],
            Some("admin-plugin-impact"),
        );
        check(
            "POST",
            &["plugins", "check", "rollback"],
            Some("admin-roll-back-plugin"),
        );
        check(
            "DELETE",
            &["plugins", "x", "versions", "y"],
            Some("admin-remove-plugin"),
        );
        check("DELETE", &["plugins", "x"], None);
        check(
            "GET",
            &["plugins", "x", "calls"],
            Some("admin-plugin-calls"),
        );
        check(
            "GET",
            &["plugins", "x", "versions", "y", "golden"],
            Some("admin-plugin-golden"),
        );
        check(
            "GET",
            &["repairs", "x", "changes"],
            Some("admin-list-repair-changes"),
        );
        check("POST", &["repairs", "x", "undo"], Some("admin-undo-repair"));
        check("POST", &["repairs", "x"], None);
        check("GET", &["apply"], None);
        check("POST", &["deliveries", "x"], None);
        check(
            "POST",
            &["deliveries", "x", "golden"],
            Some("admin-export-golden"),
        );
        check(
            "POST",
            &["deliveries", "captures"],
            Some("admin-capture-deliveries"),
        );
        check("POST", &["outbox", "reply"], Some("admin-play-reply"));
        check(
            "POST",
            &["outbox", "x", "status"],
            Some("admin-play-status"),
        );
        check("POST", &["outbox", "x"], None);
        check(
            "GET",
            &["workspaces", "x", "analytics", "tickets", "day"],
            Some("admin-count-analytics"),
        );
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
        check("GET", &["rollouts"], Some("admin-list-rollouts"));
        check("DELETE", &["contacts", "x"], None);
        check("GET", &["deals"], Some("admin-list-deals"));
        check("GET", &["contacts", "x"], Some("admin-show-contact"));
        check("GET", &["erasures", "x"], Some("admin-show-erasure"));
        check("GET", &["tickets"], Some("admin-list-tickets"));
        check("GET", &["tickets", "x"], Some("admin-show-ticket"));
    }
}
