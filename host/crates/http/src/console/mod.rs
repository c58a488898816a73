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
pub mod handler;
mod live;
mod multipart;
mod outcome;
mod pages;
mod refusal;
pub mod sessions;
mod shown;
mod sign_in;
mod table;
pub mod visit;

use hyper::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, RETRY_AFTER};

use self::answer::{FormOutcome, cookie, page, see_other, with_cookie};
use self::visit::Visit;
use crate::auth;
use crate::endpoints::admin;
use crate::prelude::*;
use crate::route::{Found, Mark, Parameters, Route};
use api::ApiRefusal;
use form::Form;
use handler::{ConsoleHandler, pages};
use leadhost_domain::key::Role;
use leadhost_domain::time::whole_seconds;
use outcome::{Notice, Tone};
use sessions::Session;

/// Pages load what is theirs, and send forms to this address alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

pub use self::pages::ROUTES as PAGES;

/// What is no page of a session, though some of it needs one.
pub static ROUTES: &[Route] = pages! {
    GET "/style.css" => special Style;
    GET "/script.js" => special Script;
    GET "/live" => special Live;
    GET "/sign-in" => special SignInPage;
    POST "/sign-in" => special SignIn;
    POST "/sign-out" => special SignOut;
};

static NOTHING: &[Route] = pages! { GET "/{page}" => special Nothing; };

/// Returns the route of an address without a page.
pub fn nothing() -> Found<'static> {
    Found {
        route: &NOTHING[0],
        parameters: Parameters::default(),
    }
}

/// Answers a page or a form. A refusal is a page too.
pub async fn run(
    call: &Call<'_>,
    handler: &ConsoleHandler,
    found: Found<'_>,
    body: UnreadBody,
) -> ApiResponse {
    let reply = match answer(call, handler, found, body).await {
        Ok(reply) => reply,
        Err(refusal) => refused(call, handler, &refusal),
    };
    with_policy(reply)
}

/// Answers a request that was refused before it was read, because this host cannot use its store now or the key
/// is past its rate.
/// The pages that follow still find their style.
pub fn unavailable(call: &Call<'_>, handler: &ConsoleHandler, error: ApiError) -> ApiResponse {
    let reply = match (admin::check_host(call), handler) {
        (Err(error), _) => sign_in::refusal(call, &error.into()),
        (Ok(()), ConsoleHandler::Style) => files::style(call),
        (Ok(()), ConsoleHandler::Script) => files::script(call),
        (Ok(()), handler) => {
            let wait = error.retry_after();
            let mut reply = refused(call, handler, &error.into());
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
fn refused(call: &Call<'_>, handler: &ConsoleHandler, refusal: &ApiRefusal) -> ApiResponse {
    if refusal.status != StatusCode::SERVICE_UNAVAILABLE {
        return sign_in::refusal(call, refusal);
    }
    let shown = refusal::UnavailablePage::new(call, handler, live_session(call).as_ref(), refusal);
    page(refusal.status, &shown).unwrap_or_else(|_| sign_in::refusal(call, refusal))
}

/// Returns the session that the browser has, whether or not its key is still valid.
fn live_session(call: &Call<'_>) -> Option<Session> {
    let now = call.http.core.clock.now();
    cookie(call).and_then(|token| call.http.sessions.find(token, now))
}

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
    handler: &ConsoleHandler,
    found: Found<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiRefusal> {
    admin::check_host(call)?;
    match handler {
        ConsoleHandler::Style => return Ok(files::style(call)),
        ConsoleHandler::Script => return Ok(files::script(call)),
        ConsoleHandler::SignInPage => return page(StatusCode::OK, &sign_in::page(call, None)),
        ConsoleHandler::SignIn => return sign_in::begin(call, body).await,
        _ => {}
    }
    let Some(session) = live_session(call) else {
        return signed_out(call, handler, found.parameters);
    };
    let caller = match auth::signed_in(call, &session.key).await {
        Ok(caller) => caller,
        Err(ApiError::Unauthorized(_)) => {
            call.http.sessions.end(&session);
            return signed_out(call, handler, found.parameters);
        }
        Err(error) => return Ok(unavailable(call, handler, error)),
    };
    let visit = Visit {
        call,
        caller: &caller,
        session: &session,
    };
    let parameters = found.parameters;
    let result = match handler {
        ConsoleHandler::Live => return Ok(live::open(&visit)),
        ConsoleHandler::Page(show) => show(&visit, parameters).await,
        ConsoleHandler::SignOut | ConsoleHandler::Form(..) => {
            form(&visit, handler, found, body).await
        }
        // The others need no session.
        _ => Err(nothing_here()),
    };
    match result {
        Ok(reply) => Ok(reply),
        Err(refusal) => page(refusal.status, &refusal::RefusalPage::new(&visit, &refusal)),
    }
}

/// Returns the refusal of an address without a page.
fn nothing_here() -> ApiRefusal {
    ApiRefusal::new(StatusCode::NOT_FOUND, "There is no such page.")
}

/// Answers a browser without a session.
fn signed_out(
    call: &Call<'_>,
    handler: &ConsoleHandler,
    parameters: Parameters<'_>,
) -> Result<ApiResponse, ApiRefusal> {
    match handler {
        ConsoleHandler::Live => Ok(live::over()),
        ConsoleHandler::Nothing => Err(nothing_here()),
        handler => Ok(sign_in::required(call, handler, parameters)),
    }
}

/// Runs a form of the session. A refusal is shown on the page that it came from.
async fn form(
    visit: &Visit<'_>,
    handler: &ConsoleHandler,
    found: Found<'_>,
    body: UnreadBody,
) -> Result<ApiResponse, ApiRefusal> {
    let form = Form::read(visit.call, body, largest(visit, found.route)).await?;
    form.check(&visit.session.form_token)?;
    let ConsoleHandler::Form(submit, origin) = handler else {
        visit.call.http.sessions.end(visit.session);
        return Ok(with_cookie(
            see_other("/console/sign-in"),
            visit.call,
            "",
            Duration::ZERO,
        ));
    };
    let (to, notice) = match submit(visit, found.parameters, &form).await {
        Ok(FormOutcome::Page(page)) => return Ok(page),
        Ok(FormOutcome::Done { to, notice }) => (to, notice),
        Err(refusal) => (
            origin.path(found.parameters, &form),
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
fn largest(visit: &Visit<'_>, route: &Route) -> usize {
    let component = visit.call.http.core.config.plugins.component_mib << 20;
    if route.is(Mark::Component) && visit.caller.role() >= Role::Operator {
        component.saturating_add(limits::ADMIN_BODY_BYTES)
    } else {
        limits::ADMIN_BODY_BYTES
    }
}
