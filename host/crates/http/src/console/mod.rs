//! The console: pages for operators at `/console` of the admin address. A page is an askama template
//! over the typed answers of the admin API, which the console asks as the operator who is signed in.
//! Nothing is loaded from elsewhere, and all of it works without script.

pub mod answer;
mod api;
mod archive;
mod chart;
mod files;
mod form;
mod frame;
mod live;
mod multipart;
mod outcome;
mod pages;
mod refusal;
pub mod sessions;
mod sign_in;
mod table;
pub mod visit;

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, RETRY_AFTER,
};

use self::answer::{FormOutcome, cookie, page, see_other, with_cookie};
use self::visit::Visit;
use crate::auth::{self};
use crate::body::UnreadBody;
use crate::call::Call;
use crate::endpoints::admin;
use crate::error::ApiError;
use crate::reply::ApiResponse;
use crate::route::ConsoleRoute;
use api::ApiRefusal;
use form::Form;
use leadhost_domain::key::Role;
use leadhost_domain::limits;
use leadhost_domain::time::whole_seconds;
use outcome::{Notice, Tone};
use sessions::Session;

/// Pages load what is theirs, and send forms to this address alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Answers a page or a form. A refusal is a page too.
pub async fn run(call: &Call<'_>, route: ConsoleRoute<'_>, body: UnreadBody) -> ApiResponse {
    let reply = match answer(call, route, body).await {
        Ok(reply) => reply,
        Err(refusal) => refused(call, route, &refusal),
    };
    with_policy(reply)
}

/// Answers a request that was refused before it was read, because this host cannot use its store now or the key
/// is past its rate.
/// The pages that follow still find their style.
pub fn unavailable(call: &Call<'_>, route: ConsoleRoute<'_>, error: ApiError) -> ApiResponse {
    let reply = match (admin::check_host(call), route) {
        (Err(error), _) => sign_in::refusal(call, &error.into()),
        (Ok(()), ConsoleRoute::Style) => files::style(call),
        (Ok(()), ConsoleRoute::Script) => files::script(call),
        (Ok(()), route) => {
            let wait = error.retry_after();
            let mut reply = refused(call, route, &error.into());
            if let Some(wait) = wait {
                let wait = HeaderValue::from(whole_seconds(wait));
                reply.headers_mut().insert(RETRY_AFTER, wait);
            }
            reply
        }
    };
    with_policy(reply)
}

/// Returns a refusal without the frame of a session.
fn refused(call: &Call<'_>, route: ConsoleRoute<'_>, refusal: &ApiRefusal) -> ApiResponse {
    if refusal.status != StatusCode::SERVICE_UNAVAILABLE {
        return sign_in::refusal(call, refusal);
    }
    let shown = refusal::UnavailablePage::new(call, route, live_session(call).as_ref(), refusal);
    page(refusal.status, &shown).unwrap_or_else(|_| sign_in::refusal(call, refusal))
}

/// Returns the session that the browser has, whether or not its key is still valid.
fn live_session(call: &Call<'_>) -> Option<Session> {
    let now = call.http.core.clock.now();
    cookie(call).and_then(|token| call.http.sessions.find(token, now))
}

/// Adds the headers of every answer of the console.
fn with_policy(mut reply: ApiResponse) -> ApiResponse {
    let headers = reply.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Forms say their origin only if pages may.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(
        HeaderName::from_static("x-frame-options"),
        HeaderValue::from_static("DENY"),
    );
    reply
}

async fn answer(
    call: &Call<'_>,
    route: ConsoleRoute<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiRefusal> {
    admin::check_host(call)?;
    match route {
        ConsoleRoute::Style => return Ok(files::style(call)),
        ConsoleRoute::Script => return Ok(files::script(call)),
        ConsoleRoute::SignInPage => return page(StatusCode::OK, &sign_in::page(call, None)),
        ConsoleRoute::SignIn => return sign_in::begin(call, body).await,
        _ => {}
    }
    let Some(session) = live_session(call) else {
        return signed_out(call, route);
    };
    let caller = match auth::signed_in(call, &session.key).await {
        Ok(caller) => caller,
        Err(ApiError::Unauthorized(_)) => {
            call.http.sessions.end(&session);
            return signed_out(call, route);
        }
        Err(error) => return Ok(unavailable(call, route, error)),
    };
    let visit = Visit {
        call,
        caller: &caller,
        session: &session,
    };
    if route == ConsoleRoute::Live {
        return Ok(live::open(&visit));
    }
    let result = if route.is_form() {
        form(&visit, route, body).await
    } else {
        pages::show(&visit, route).await
    };
    match result {
        Ok(reply) => Ok(reply),
        Err(refusal) => page(refusal.status, &refusal::RefusalPage::new(&visit, &refusal)),
    }
}

/// Answers a browser without a session.
fn signed_out(call: &Call<'_>, route: ConsoleRoute<'_>) -> Result<ApiResponse, ApiRefusal> {
    match route {
        ConsoleRoute::Live => Ok(live::over()),
        ConsoleRoute::Nothing => Err(pages::nothing_here()),
        route => Ok(sign_in::required(call, route)),
    }
}

/// Runs a form of the session. A refusal is shown on the page that it came from.
async fn form(
    visit: &Visit<'_>,
    route: ConsoleRoute<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiRefusal> {
    let form = Form::read(visit.call, body, largest(visit, route)).await?;
    form.check(&visit.session.form_token)?;
    if route == ConsoleRoute::SignOut {
        visit.call.http.sessions.end(visit.session);
        return Ok(with_cookie(
            see_other("/console/sign-in"),
            visit.call,
            "",
            Duration::ZERO,
        ));
    }
    let (to, notice) = match pages::submit(visit, route, &form).await {
        Ok(FormOutcome::Page(page)) => return Ok(page),
        Ok(FormOutcome::Done { to, notice }) => (to, notice),
        Err(refusal) => (
            pages::origin_of(route, &form),
            Notice {
                tone: Tone::Bad,
                text: refusal.message,
            },
        ),
    };
    visit.call.http.sessions.notify(visit.session, notice);
    Ok(see_other(&format!("/console{to}")))
}

/// Returns how large a form may be. Only the upload of a component is large, and only of those who may.
fn largest(visit: &Visit<'_>, route: ConsoleRoute<'_>) -> usize {
    let component = visit.call.http.core.config.plugins.component_mib << 20;
    match route {
        ConsoleRoute::UploadPlugin if visit.caller.role() >= Role::Operator => {
            component.saturating_add(limits::ADMIN_BODY_BYTES)
        }
        _ => limits::ADMIN_BODY_BYTES,
    }
}
