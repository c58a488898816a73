//! From a route to its endpoint: the authentication that its group requires, then one call. An
//! endpoint takes the proof as an argument, so that it cannot be reached without it.

use std::time::Duration;

use super::auth;
use super::auth::PartnerCaller;
use super::body::UnreadBody;
use super::call::Call;
use super::console;
use super::docs;
use super::endpoints::{
    admin, analytics, channel_webhook, deals, export, health, ingest, notifications, products,
    reports, tickets, whoami,
};
use super::error::ApiError;
use super::reply::ApiResponse;
use super::route::{OpenRoute, PartnerRoute, Route, TokenRoute, WorkspaceRoute};
use crate::state::Http;
use leadhost_store::StoreError;
use leadhost_telemetry::Shed;

/// Refuses requests at once, before their body is read, while this host has lost its store or
/// is catching up with the other hosts. Without its store it cannot serve any of them.
fn can_serve(http: &Http) -> Result<(), ApiError> {
    if let Some(outage) = http.core.store.outage() {
        http.core.metrics.http.shed(Shed::Store);
        return Err(StoreError::Lost(outage.reason).into());
    }
    if !http.pipeline.fleet.is_current() && !http.core.shutdown.has_begun() {
        http.core.metrics.http.shed(Shed::Fleet);
        return Err(ApiError::Overloaded {
            what: "This host was cut off and is catching up with the others; try again.",
            retry_after: Duration::from_secs(1),
        });
    }
    Ok(())
}

/// Refuses the request if its partner is past its rate.
fn within_rate(call: &Call<'_>, caller: &PartnerCaller) -> Result<(), ApiError> {
    let http = call.http;
    let asked = http
        .partner_rate
        .ask(&caller.partner().id, http.core.clock.now());
    asked.map_err(|wait| {
        http.core.metrics.http.shed(Shed::RateOfOnePartner);
        ApiError::TooManyRequests { retry_after: wait }
    })
}

/// Returns the parameters of the query that a route reads, or `None` if its endpoint decides.
pub fn parameters(route: Route<'_>) -> Option<&'static [&'static str]> {
    match route {
        Route::Partner(PartnerRoute::FindDeals) => Some(&deals::PARAMETERS),
        Route::Partner(PartnerRoute::SearchProducts) => Some(&products::PARAMETERS),
        Route::Token(TokenRoute::ListTickets) => Some(&tickets::PARAMETERS),
        Route::Token(TokenRoute::ListDealLogs { .. }) => Some(&deals::LOG_PARAMETERS),
        Route::Workspace(WorkspaceRoute::Export { .. } | WorkspaceRoute::ExportIds { .. }) => {
            Some(&export::PARAMETERS)
        }
        Route::Workspace(WorkspaceRoute::Report { .. }) => Some(&reports::PARAMETERS),
        Route::Workspace(WorkspaceRoute::Analytics { .. }) => Some(&analytics::query::PARAMETERS),
        Route::Partner(_) | Route::Token(_) | Route::Workspace(_) => Some(&[]),
        Route::Open(_) | Route::Admin(_) | Route::Console(_) => None,
    }
}

/// Authenticates the caller as the route requires, and runs its endpoint.
pub async fn run(
    call: &Call<'_>,
    route: Route<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    if !matches!(
        route,
        Route::Open(
            OpenRoute::Live
                | OpenRoute::Ready
                | OpenRoute::Metrics
                | OpenRoute::OpenApi
                | OpenRoute::Docs { .. }
        )
    ) {
        match (can_serve(call.http), route) {
            (Ok(()), _) => {}
            (Err(error), Route::Console(route)) => {
                return Ok(console::unavailable(call, route, error));
            }
            (Err(error), _) => return Err(error),
        }
    }
    match route {
        Route::Open(route) => match route {
            OpenRoute::IngestLead { connection } => ingest::receive(call, connection, body).await,
            OpenRoute::Handshake { connection } => ingest::handshake(call, connection).await,
            OpenRoute::Preflight { connection } => ingest::preflight(call, connection).await,
            OpenRoute::ChannelWebhook { instance, token } => {
                channel_webhook::receive(call, instance, token, body).await
            }
            OpenRoute::ChannelHandshake { instance, token } => {
                channel_webhook::handshake(call, instance, token).await
            }
            OpenRoute::Live => Ok(health::live()),
            OpenRoute::Ready => health::ready(call).await,
            OpenRoute::Metrics => health::metrics(call).await,
            OpenRoute::OpenApi => Ok(docs::document(call)),
            OpenRoute::Docs { file } => Ok(docs::page(call, file)),
        },
        Route::Partner(route) => {
            let caller = auth::partner(call).await?;
            within_rate(call, &caller)?;
            match route {
                PartnerRoute::FindDeals => deals::find(call, &caller).await,
                PartnerRoute::CreateDeal => deals::create(call, &caller, body).await,
                PartnerRoute::ShowDeal { deal } => deals::show(call, &caller, deal).await,
                PartnerRoute::PatchDeal { deal } => deals::patch(call, &caller, deal, body).await,
                PartnerRoute::SearchProducts => products::search(call, &caller).await,
                PartnerRoute::SendNotification => notifications::send(call, &caller, body).await,
            }
        }
        Route::Token(route) => {
            let caller = auth::access_token(call).await?;
            within_rate(call, &caller)?;
            match route {
                TokenRoute::LogDeal { deal } => deals::log(call, &caller, deal, body).await,
                TokenRoute::ListDealLogs { deal } => deals::logs(call, &caller, deal).await,
                TokenRoute::ListTickets => tickets::list(call, &caller).await,
                TokenRoute::ShowTicket { ticket } => tickets::show(call, &caller, ticket).await,
                TokenRoute::PatchTicket { ticket } => {
                    tickets::patch(call, &caller, ticket, body).await
                }
            }
        }
        Route::Workspace(route) => {
            let caller = auth::workspace(call).await?;
            let workspace = caller.workspace();
            let now = call.http.core.clock.now();
            let quota = call
                .http
                .rate
                .ask(
                    &call.http.core.store,
                    workspace.id,
                    workspace.rate_limit,
                    now,
                )
                .await?;
            let result = match (quota.retry_after, route) {
                (Some(retry_after), _) => {
                    call.http.core.metrics.http.rate_limited();
                    Err(ApiError::TooManyRequests { retry_after })
                }
                (None, WorkspaceRoute::Whoami) => whoami::show(&caller),
                (None, WorkspaceRoute::Export { entity }) => {
                    export::page(call, &caller, entity).await
                }
                (None, WorkspaceRoute::ExportIds { entity }) => {
                    export::ids(call, &caller, entity).await
                }
                (None, WorkspaceRoute::Report { report }) => {
                    reports::page(call, &caller, report).await
                }
                (None, WorkspaceRoute::Analytics { set, granularity }) => {
                    analytics::counts(call, &caller, set, granularity).await
                }
                (None, WorkspaceRoute::Freshness) => {
                    analytics::freshness::show(call, &caller).await
                }
            };
            // Every answer carries the remaining quota, even a refusal.
            let mut reply = result.unwrap_or_else(|error| call.refuse(&error));
            quota.write(reply.headers_mut());
            Ok(reply)
        }
        Route::Admin(route) => {
            let caller = auth::admin(call).await?;
            admin::run(call, &caller, route, body).await
        }
        Route::Console(route) => Ok(console::run(call, route, body).await),
    }
}
