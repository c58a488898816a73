//! The console: pages for operators at `/console` of the admin address. A page is an askama template
//! over the typed answers of the admin API, which the console asks as the operator who is signed in.
//! Nothing is loaded from elsewhere, and all of it works without script.

mod api;
mod archive;
mod chart;
mod files;
mod form;
mod frame;
mod live;
mod multipart;
mod pages;
pub mod sessions;
mod sign_in;

use std::time::Duration;

use askama::Template;
use hyper::StatusCode;
use hyper::header::{
    CONTENT_SECURITY_POLICY, COOKIE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    RETRY_AFTER, SET_COOKIE,
};

use crate::domain::key::Role;
use crate::domain::time::whole_seconds;
use crate::http::auth::{self, AdminCaller};
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::endpoints::admin;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::http::route::ConsoleRoute;
use crate::limits;
use api::{AdminApi, ApiRefusal};
use form::Form;
use frame::Frame;
use sessions::{Notice, Session};

/// Pages load what is theirs, and send forms to this address alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";

/// The name of the session's cookie.
const SESSION_COOKIE: &str = "leadhost-console";

/// A request of an operator who is signed in.
pub struct Visit<'a> {
    pub call: &'a Call<'a>,
    pub caller: &'a AdminCaller,
    pub session: &'a Session,
}

/// The outcome of a form.
pub enum FormOutcome {
    /// To a page, which shows what was done.
    Done { to: String, notice: String },
    /// To a page of its own.
    Page(ApiResponse),
}

impl FormOutcome {
    /// Returns to a page below `/console`, with a sentence about what was done.
    pub fn done(to: impl Into<String>, notice: impl Into<String>) -> Self {
        Self::Done {
            to: to.into(),
            notice: notice.into(),
        }
    }
}

impl<'a> Visit<'a> {
    /// Returns the admin API, asked as this operator.
    pub fn api(&self) -> AdminApi<'a> {
        AdminApi {
            call: self.call,
            caller: self.caller,
        }
    }

    /// Returns the frame of a page. `section` is the first part of its path.
    pub fn frame(&self, section: &'static str, title: impl Into<String>) -> Frame {
        Frame {
            section,
            title: title.into(),
            who: self.caller.label(),
            role: self.caller.role(),
            form_token: self.session.form_token.clone(),
            notice: self.call.http.sessions.take_notice(self.session),
            host: self.call.http.pipeline.fleet.name().to_owned(),
            public_url: self
                .call
                .http
                .core
                .config
                .server
                .public("")
                .unwrap_or_default(),
            now: self.call.http.core.clock.now(),
        }
    }
}

/// Answers a page or a form. A refusal is a page too.
pub async fn run(call: &Call<'_>, route: ConsoleRoute<'_>, body: UnreadBody) -> ApiResponse {
    let reply = match answer(call, route, body).await {
        Ok(reply) => reply,
        Err(refusal) => refused(call, route, &refusal),
    };
    with_policy(reply)
}

/// Answers a request that was refused before it was read, because this host cannot use its store now.
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
    let shown = frame::UnavailablePage::new(call, route, live_session(call).as_ref(), refusal);
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
        if route == ConsoleRoute::Live {
            return Ok(live::over());
        }
        return Ok(sign_in::required(call, route));
    };
    let caller = match auth::signed_in(call, &session.key).await {
        Ok(caller) => caller,
        Err(ApiError::Unauthorized(_)) => {
            call.http.sessions.end(&session);
            if route == ConsoleRoute::Live {
                return Ok(live::over());
            }
            return Ok(sign_in::required(call, route));
        }
        Err(error) => return Err(error.into()),
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
        Err(refusal) => page(refusal.status, &frame::RefusalPage::new(&visit, &refusal)),
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
        Ok(FormOutcome::Done { to, notice }) => (
            to,
            Notice {
                is_error: false,
                text: notice,
            },
        ),
        Err(refusal) => (
            pages::origin_of(route, &form),
            Notice {
                is_error: true,
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

/// Returns the answer that shows a template.
fn page(status: StatusCode, template: &impl Template) -> Result<ApiResponse, ApiRefusal> {
    let text = template.render().map_err(ApiError::internal)?;
    Ok(reply::bytes_of(status, HTML, text))
}

fn see_other(to: &str) -> ApiResponse {
    let mut reply = reply::empty(StatusCode::SEE_OTHER);
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/console"));
    reply.headers_mut().insert(LOCATION, to);
    reply
}

/// Adds the cookie of a session. With no lifetime it removes the cookie.
fn with_cookie(
    mut reply: ApiResponse,
    call: &Call<'_>,
    token: &str,
    lifetime: Duration,
) -> ApiResponse {
    let secure = if call.http.core.config.server.has_tls() {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!(
        "{SESSION_COOKIE}={token}; Path=/console; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
        lifetime.as_secs()
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        reply.headers_mut().insert(SET_COOKIE, cookie);
    }
    reply
}

/// Returns the token that the browser sends.
fn cookie<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let lines = call.head.headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find_map(|(name, value)| (name == SESSION_COOKIE).then_some(value))
}
