//! From a route to its endpoint: the proof that its group asks for, then one
//! call. An endpoint takes the proof as an argument, so that it cannot be
//! reached without.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;

use super::auth::PartnerCaller;
use super::body::Unread;
use super::endpoints::{
    admin, analytics, channel_webhook, deals, docs, export, health, ingest, notifications,
    products, reports, tickets, whoami,
};
use super::error::{ApiError, Family};
use super::presence::Client;
use super::reply::Reply;
use super::request_id::RequestId;
use super::route::{OpenRoute, PartnerRoute, Route, Surface, TokenRoute, WorkspaceRoute};
use super::{auth, query::Query};
use crate::app::App;
use crate::store::StoreError;

/// Without its store a host can do nothing for anybody: better told at once than
/// after a wait, body unread.
fn can_serve(app: &App) -> Result<(), ApiError> {
    if let Some(outage) = app.store.outage() {
        app.metrics.shed("store");
        return Err(StoreError::Lost(outage.reason).into());
    }
    if !app.fleet.is_current() && !app.shutdown.has_begun() {
        app.metrics.shed("fleet");
        return Err(ApiError::Overloaded {
            what: "This host was cut off and is catching up with the others; come again.",
            retry_after: 1,
        });
    }
    Ok(())
}

/// Refused while its partner is past its rate.
fn in_pace(call: &Call<'_>, caller: &PartnerCaller) -> Result<(), ApiError> {
    let app = call.app;
    let asked = app
        .http
        .partner_pace
        .ask(&caller.partner().id, app.clock.now());
    asked.map_err(|retry_after| {
        app.metrics.shed("rate of one partner");
        ApiError::TooManyRequests { retry_after }
    })
}

/// A request on its way to its endpoint.
pub struct Call<'a> {
    pub app: &'a Arc<App>,
    pub head: &'a Parts,
    pub id: &'a RequestId,
    pub surface: Surface,
    pub family: Family,
    /// Who asks: the far end, or whom a trusted proxy names.
    pub peer: IpAddr,
    /// Whether it waits for the answer still; known on the admin surface.
    pub client: Client,
}

impl Call<'_> {
    pub fn query(&self) -> Query<'_> {
        Query::of(self.head)
    }

    /// The answer to a request that fails, its inside logged.
    pub fn refuse(&self, error: &ApiError) -> Reply {
        error.log();
        error.reply(self.family, &self.head.headers, self.id)
    }
}

pub async fn run(call: &Call<'_>, route: Route<'_>, body: Unread) -> Result<Reply, ApiError> {
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
        can_serve(call.app)?;
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
            in_pace(call, &caller)?;
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
            in_pace(call, &caller)?;
            match route {
                TokenRoute::LogDeal { deal } => deals::log(call, &caller, deal, body).await,
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
            let now = call.app.clock.now();
            let quota = call
                .app
                .http
                .rate
                .ask(&*call.app.store, workspace.id, workspace.rate_limit, now)
                .await?;
            let result = match (quota.retry_after, route) {
                (Some(retry_after), _) => {
                    call.app.metrics.rate_limited();
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
            // What is left is told with every answer, also with a refusal.
            let mut reply = result.unwrap_or_else(|error| call.refuse(&error));
            quota.write(reply.headers_mut());
            Ok(reply)
        }
        Route::Admin(route) => {
            let caller = auth::admin(call).await?;
            admin::run(call, &caller, route, body).await
        }
    }
}
