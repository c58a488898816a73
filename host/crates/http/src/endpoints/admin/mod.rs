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
mod prelude;
mod repairs;
pub mod request;
pub mod status;
mod tickets;
mod trial;
mod workspaces;

use hyper::header::HOST;
use leadhost_domain::audit::OperatorAct;
use leadhost_domain::key::Role;
use leadhost_plugin::on_behalf_of;

use crate::endpoints::admin::prelude::*;
use crate::route::{Found, Handler, Route, routes};

pub static ROUTES: &[Route] = routes! {
    Admin "/admin/v1" "admin-";
    "status" {
        GET "/status" "status" Viewer => status::show();
        GET "/config" "show-config" Viewer => config::show();
    }
    "workspaces" {
        POST "/apply" "apply" Admin => apply::apply(body) [Confidential];
        GET "/workspaces" "list-workspaces" Viewer => workspaces::list::list();
        GET "/workspaces/{workspace}/analytics/{metricSet}/{granularity}" "count-analytics" Viewer
            => workspaces::analytics::counts(workspace, metricSet, granularity);
        PUT "/workspaces/{workspace}/products" "import-products" Operator
            => workspaces::products::import(workspace, body) [Confidential, Unbounded];
        DELETE "/workspaces/{workspace}/products/{externalId}" "remove-product" Operator
            => workspaces::products::remove(workspace, externalId) [WholeTarget];
        GET "/workspaces/{workspace}/owners" "list-owners" Viewer => workspaces::parts::owners(workspace);
        PUT "/workspaces/{workspace}/owners" "put-owners" Admin
            => workspaces::parts::put_owners(workspace, body) [Confidential];
        GET "/workspaces/{workspace}/agents" "list-agents" Viewer => workspaces::parts::agents(workspace);
        PUT "/workspaces/{workspace}/agents" "put-agents" Admin
            => workspaces::parts::put_agents(workspace, body) [Confidential];
    }
    "audit" {
        GET "/audit" "list-audit" Viewer => audit::list::list();
    }
    "keys" {
        GET "/keys" "list-keys" Viewer => keys::list();
        POST "/keys" "create-key" Admin => keys::create::create(body);
        DELETE "/keys/{key}" "revoke-key" Admin => keys::revoke(caller, key);
    }
    "plugins" {
        GET "/plugins" "list-plugins" Viewer => plugins::list::list();
        POST "/plugins" "upload-plugin" Operator => plugins::upload::upload(caller, body);
        POST "/plugins/check" "check-plugin" Operator => plugins::upload::check(caller, body);
        GET "/plugins/verify" "list-verifications" Viewer => plugins::verify::running();
        POST "/plugins/verify" "verify-upload" Operator => plugins::verify::upload(caller, body);
        POST "/plugins/{plugin}/verify" "verify-plugin" Viewer => plugins::verify::stored(plugin, body);
        POST "/plugins/{plugin}/impact" "plugin-impact" Viewer => plugins::verify::impact(plugin, body);
        POST "/plugins/{plugin}/activate" "activate-plugin" Operator
            => plugins::versions::activate(caller, plugin, body);
        POST "/plugins/{plugin}/rollback" "roll-back-plugin" Operator
            => plugins::versions::roll_back(caller, plugin, body);
        DELETE "/plugins/{plugin}/versions/{digest}" "remove-plugin" Operator
            => plugins::versions::remove(plugin, digest);
        GET "/rollouts" "list-rollouts" Viewer => plugins::rollout::list();
        GET "/plugins/{plugin}/calls" "plugin-calls" Viewer => plugins::calls::show(plugin);
        GET "/plugins/{plugin}/versions/{digest}/golden" "plugin-golden" Viewer
            => plugins::versions::golden_cases(plugin, digest);
        GET "/plugins/{plugin}/rollout" "show-rollout" Viewer => plugins::rollout::show(plugin);
        POST "/plugins/{plugin}/rollout" "start-rollout" Operator
            => plugins::rollout::start(caller, plugin, body);
        PATCH "/plugins/{plugin}/rollout" "change-rollout" Operator
            => plugins::rollout::change(caller, plugin, body);
    }
    "deliveries" {
        GET "/deliveries" "list-deliveries" Viewer => deliveries::list::list();
        POST "/deliveries/captures" "capture-deliveries" Operator => deliveries::capture::capture(body);
        GET "/deliveries/{delivery}" "show-delivery" Viewer => deliveries::show::show(delivery);
        POST "/deliveries/replay" "replay-deliveries" Operator => deliveries::replay_many::run(body);
        POST "/deliveries/{delivery}/replay" "replay-delivery" Operator
            => deliveries::replay::run(delivery, body);
        POST "/deliveries/{delivery}/golden" "export-golden" Operator => deliveries::golden::export(delivery);
    }
    "repairs" {
        GET "/repairs" "list-repairs" Viewer => repairs::list();
        POST "/repairs" "start-repair" Operator => repairs::start::start(caller, body);
        GET "/repairs/{repair}" "show-repair" Viewer => repairs::show(repair);
        GET "/repairs/{repair}/changes" "list-repair-changes" Viewer => repairs::changes::list(repair);
        POST "/repairs/{repair}/cancel" "cancel-repair" Operator => repairs::cancel(repair);
        POST "/repairs/{repair}/undo" "undo-repair" Operator => repairs::undo(repair);
    }
    "connections" {
        GET "/connections" "list-connections" Viewer => connections::list();
        PATCH "/connections/{connection}" "change-connection" Admin
            => change::connection(connection, body) [Confidential];
        POST "/connections/{connection}/pause" "pause-connection" Operator => connections::pause(connection, body);
        POST "/connections/{connection}/resume" "resume-connection" Operator => connections::resume(connection);
        POST "/connections/try" "try-body" Viewer => trial::body(body);
        POST "/connections/{connection}/test" "test-connection" Operator => trial::delivery(connection, body);
    }
    "instances" {
        GET "/instances" "list-instances" Viewer => instances::list();
        GET "/instances/{instance}" "show-instance" Viewer => instances::show(instance);
        PATCH "/instances/{instance}" "change-instance" Admin => change::instance(instance, body) [Confidential];
        POST "/instances/{instance}/pause" "pause-instance" Operator => instances::pause(instance, body);
        POST "/instances/{instance}/resume" "resume-instance" Operator => instances::resume(instance);
        POST "/instances/{instance}/sync-templates" "sync-templates" Operator
            => instances::sync_templates(instance);
    }
    "outbox" {
        GET "/outbox" "list-outbox" Viewer => outbox::list::list();
        POST "/outbox/reply" "play-reply" Operator => outbox::reply::run(body) [Confidential];
        POST "/outbox/resolve" "resolve-messages" Operator => outbox::resolve_many::resolve(body);
        POST "/outbox/{message}/status" "play-status" Operator
            => outbox::status::status(message, body) [Confidential];
        POST "/outbox/{message}/resolve" "resolve-message" Operator => outbox::resolve::resolve(message, body);
    }
    "deals" {
        GET "/deals" "list-deals" Viewer => deals::list::list();
        GET "/deals/{deal}" "show-deal" Viewer => deals::show::show(deal);
        DELETE "/deals/{deal}" "remove-deal" Operator => deals::remove(deal);
    }
    "contacts" {
        GET "/contacts" "list-contacts" Viewer => contacts::find::list();
        GET "/contacts/{contact}" "show-contact" Viewer => contacts::find::show(contact);
        POST "/contacts/erase" "erase-contact" Operator => contacts::erase::run(caller, body) [Confidential];
        GET "/erasures" "list-erasures" Viewer => contacts::erasures::list();
        GET "/erasures/{erasure}" "show-erasure" Viewer => contacts::erasures::show(erasure);
    }
    "tickets" {
        GET "/tickets" "list-tickets" Viewer => tickets::list();
        GET "/tickets/{ticket}" "show-ticket" Viewer => tickets::show(ticket);
    }
    "service" {
        GET "/activity" "show-activity" Viewer => activity::show();
    }
    "etl" {
        GET "/etl" "show-etl" Viewer => etl::show();
        POST "/etl/runs" "run-etl" Operator => etl::run::run();
        POST "/etl/rebuilds" "rebuild-etl" Operator => etl::rebuild(body);
    }
};

/// The acts of the audit: the operations that viewers may not call, and what the service does by itself.
fn acts() -> Vec<&'static str> {
    let recorded = ROUTES
        .iter()
        .filter(|route| matches!(route.handler, Handler::Admin(role, _) if role > Role::Viewer));
    let mut acts: Vec<_> = recorded.map(Route::act).collect();
    for act in OperatorAct::ALL.map(OperatorAct::as_str) {
        if !acts.contains(&act) {
            acts.push(act);
        }
    }
    acts
}

pub async fn run(
    call: &Call<'_>,
    caller: &AdminCaller,
    found: Found<'_>,
    body: UnreadBody,
) -> ApiResult {
    check_host(call)?;
    let Handler::Admin(role, run) = found.route.handler else {
        return Err(ApiError::internal("not an operation of the admin API"));
    };
    let key = caller.key().to_string().into();
    let operation = on_behalf_of(Some(key), run(call, caller, found.parameters, body));
    audit::recorded(call, caller, (found, role), operation).await
}

/// Checks that the Host header names an address, this machine, or the configured name.
pub fn check_host(call: &Call<'_>) -> ApiResult<()> {
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
    use leadhost_domain::audit::AuditRow;

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

    /// Roles are promised to those who hand out keys, in the guide of operators.
    #[test]
    fn a_viewer_reads_an_operator_acts_and_an_admin_grants() {
        let reads = ["verify-plugin", "plugin-impact", "try-body"];
        let grants = [
            "apply",
            "put-owners",
            "put-agents",
            "create-key",
            "revoke-key",
            "change-connection",
            "change-instance",
        ];
        let mut named = 0;
        for route in ROUTES {
            let Handler::Admin(role, _) = route.handler else {
                panic!("{} has no role", route.name);
            };
            let (is_read, is_grant) = (reads.contains(&route.act()), grants.contains(&route.act()));
            named += usize::from(is_read) + usize::from(is_grant);
            let expect = match (route.method, is_read, is_grant) {
                (_, false, true) => Role::Admin,
                ("GET", ..) | (_, true, _) => Role::Viewer,
                _ => Role::Operator,
            };
            assert_eq!(role, expect, "{}", route.act());
        }
        assert_eq!(named, reads.len() + grants.len());
    }

    #[test]
    fn every_act_is_words() {
        for act in acts() {
            let row: AuditRow = serde_json::from_value(json!({
                "number": 1, "at": "2026-03-02T12:00:00Z", "keyId": null, "label": "ana", "role": null, "address": "",
                "act": act, "target": "x", "outcome": "done", "begun": null, "detail": "{}", "hash": "",
            }))
            .expect("a row");
            let (said, _) = row.sentence();
            assert!(!said.contains('-') && !said.contains("  "), "{said}");
        }
    }
}
