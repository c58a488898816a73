//! One operation, one file; the small verbs of one resource (list, pause, resume) share a file.
//! `ARCHITECTURE.md` has the recipe for adding an endpoint. An endpoint imports no other one, with
//! the exceptions that `ARCHITECTURE.md` names.

pub mod admin;
pub mod analytics;
pub mod channel_webhook;
pub mod deals;
pub mod export;
pub mod health;
pub mod ingest;
pub mod notifications;
mod prelude;
pub mod products;
pub mod reports;
pub mod tickets;
pub mod whoami;

use crate::docs;
use crate::route::{Route, routes};

/// On every surface.
pub static SERVICE: &[Route] = routes! {
    Open "" "";
    "service" {
        GET "/health/live" "health-live" => health::live() [Probe, Storeless, Liveness];
        GET "/health/ready" "health-ready" => health::ready() [Probe, Storeless];
        GET "/openapi.json" "openapi" => docs::document() [Storeless];
        GET "/docs" "docs" => docs::page() [Storeless];
        GET "/docs/page.js" "docs" => docs::script() [Storeless];
        GET "/docs/page.css" "docs" => docs::style() [Storeless];
    }
};

pub static SENDERS: &[Route] = routes! {
    Open "" "";
    "leads" {
        POST "/ingest-lead/{partnerConnectionId}" "ingest-lead" => ingest::post::receive(partnerConnectionId, body) [Delivery];
        GET "/ingest-lead/{partnerConnectionId}" "ingest-handshake" => ingest::handshake::handshake(partnerConnectionId);
        OPTIONS "/ingest-lead/{partnerConnectionId}" "ingest-preflight" => ingest::origins::preflight(partnerConnectionId);
    }
    "channels" {
        POST "/channel-webhook/{instanceId}/{token}" "channel-webhook" => channel_webhook::receive(instanceId, token, body);
        GET "/channel-webhook/{instanceId}/{token}" "channel-handshake" => channel_webhook::handshake(instanceId, token);
    }
};

pub static PARTNERS: &[Route] = routes! {
    Partner "" "";
    "deals" {
        GET "/deal" "find-deals" => deals::find::find(caller);
        POST "/deal" "create-deal" => deals::create::create(caller, body);
        GET "/deal/{dealId}" "show-deal" => deals::show::show(caller, dealId);
        PATCH "/deal/{dealId}" "patch-deal" => deals::patch::patch(caller, dealId, body);
    }
    "products" {
        GET "/products-by-name" "products-by-name" => products::search(caller);
    }
    "messages" {
        POST "/send-notification" "send-notification" => notifications::send::send(caller, body);
    }
};

pub static TOKENS: &[Route] = routes! {
    Token "" "";
    "deals" {
        POST "/api/v1/deals/{dealId}/log" "log-deal" => deals::log::log(caller, dealId, body);
        GET "/api/v1/deals/{dealId}/log" "list-deal-logs" => deals::logs::list(caller, dealId);
    }
    "desk" {
        GET "/tickets" "list-tickets" => tickets::list::list(caller);
        GET "/tickets/{id}" "show-ticket" => tickets::show::show(caller, id);
        PATCH "/tickets/{id}" "patch-ticket" => tickets::patch::patch(caller, id, body);
    }
};

pub static WORKSPACES: &[Route] = routes! {
    Workspace "/v1" "";
    "data" {
        GET "/whoami" "whoami" => whoami::show(caller);
        GET "/export/conversations" "export" => export::conversations(caller);
        GET "/export/messages" "export" => export::messages(caller);
        GET "/export/contacts" "export" => export::contacts(caller);
        GET "/export/deals" "export" => export::deals(caller);
        GET "/export/{entity}" "export" => export::page(caller, entity);
        GET "/export/{entity}/ids" "export-ids" => export::ids(caller, entity);
        GET "/reports/{report}" "report" => reports::page(caller, report);
        GET "/reports/{report}/ids" "report-ids" => reports::ids(caller, report);
        GET "/analytics/freshness" "freshness" => analytics::freshness::show(caller);
        GET "/analytics/conversations/{granularity}" "analytics" => analytics::conversations(caller, granularity);
        GET "/analytics/tickets/{granularity}" "analytics" => analytics::tickets(caller, granularity);
    }
};

/// On the admin surface.
pub static METRICS: &[Route] = routes! {
    Open "" "";
    "service" {
        GET "/metrics" "metrics" => health::metrics() [Probe, Storeless];
    }
};
