//! From a route to its endpoint: the authentication that its group requires, then one call. An
//! endpoint takes the proof as an argument, so that it cannot be reached without it.

use super::auth;
use super::auth::PartnerCaller;
use super::console;
use super::endpoints::admin;
use super::openapi;
use super::route::{Found, Handler, Mark, Route};
use crate::prelude::*;

/// Refuses requests at once, before their body is read, while this host has lost its store or
/// is catching up with the other hosts. Without its store it cannot serve any of them.
fn can_serve(http: &Http) -> Result<(), ApiError> {
    if let Some(outage) = http.core.store.outage() {
        return Err(StoreError::Lost(outage.reason).into());
    }
    if !http.pipeline.fleet.is_current() && !http.core.shutdown.has_begun() {
        return Err(ApiError::Overloaded {
            shed: Shed::Fleet,
            what: "This host was cut off and is catching up with the others; try again.",
            retry_after: Duration::from_secs(1),
        });
    }
    Ok(())
}

fn within_rate(call: &Call<'_>, caller: &PartnerCaller) -> Result<(), ApiError> {
    let http = call.http;
    let asked = http
        .partner_rate
        .ask(&caller.partner().id, http.core.clock.now());
    asked.map_err(|retry_after| ApiError::TooManyRequests {
        shed: Shed::RateOfOnePartner,
        retry_after,
    })
}

/// Names the parameters of the query that the description of the route does not have. Operators' tools are
/// not told, and senders neither: their parameters are for their converters.
pub fn name_ignored(call: &Call<'_>, route: &Route, reply: &mut ApiResponse) {
    let is_told = matches!(
        route.handler,
        Handler::Partner(_) | Handler::Token(_) | Handler::Workspace(_)
    );
    if is_told && call.head.uri.query().is_some() {
        let known = openapi::parameters(route);
        call.query().name_ignored(known, reply.headers_mut());
    }
}

pub async fn run(
    call: &Call<'_>,
    found: Found<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiError> {
    let Found { route, parameters } = found;
    if !route.is(Mark::Storeless)
        && let Err(error) = can_serve(call.http)
    {
        return match &route.handler {
            Handler::Console(handler) => Ok(console::unavailable(call, handler, error)),
            _ => Err(error),
        };
    }
    match &route.handler {
        Handler::Open(run) => run(call, &(), parameters, body).await,
        Handler::Partner(run) => {
            let caller = auth::partner(call).await?;
            within_rate(call, &caller)?;
            run(call, &caller, parameters, body).await
        }
        Handler::Token(run) => {
            let caller = auth::access_token(call).await?;
            within_rate(call, &caller)?;
            run(call, &caller, parameters, body).await
        }
        Handler::Workspace(run) => {
            let caller = auth::workspace(call).await?;
            let workspace = caller.workspace();
            let now = call.http.core.clock.now();
            let store = &call.http.core.store;
            let rate = &call.http.rate;
            let quota = rate
                .ask(store, workspace.id, workspace.rate_limit, now)
                .await?;
            let result = match quota.retry_after {
                Some(retry_after) => Err(ApiError::TooManyRequests {
                    shed: Shed::RateOfOneWorkspace,
                    retry_after,
                }),
                None => run(call, &caller, parameters, body).await,
            };
            // Every answer carries the remaining quota, even a refusal.
            let mut reply = result.unwrap_or_else(|error| call.refuse(&error));
            quota.write(reply.headers_mut());
            Ok(reply)
        }
        Handler::Admin(..) => {
            let caller = auth::admin(call).await?;
            admin::run(call, &caller, found, body).await
        }
        Handler::Console(handler) => Ok(console::run(call, handler, found, body).await),
    }
}
