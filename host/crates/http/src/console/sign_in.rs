//! Sign-in with an admin key, and pages for those who are not signed in.

use askama::Template;
use hyper::Uri;
use hyper::header::{HOST, REFERER};

use super::api::ApiRefusal;
use super::form::{Form, encoded, is_origin_of};
use super::{
    answer::{cookie, see_other, with_cookie},
    handler::ConsoleHandler,
    pages,
};
use crate::auth;
use crate::prelude::*;
use crate::route::{self, Parameters};

/// The word in the address of the sign-in after a session that has ended.
const ENDED: &str = "ended";

/// The same, if the browser has sent a form.
const NOT_SAVED: &str = "not-saved";

/// The form that asks for a key.
#[derive(Template)]
#[template(path = "console/sign_in.html")]
pub struct SignInPage {
    refusal: Option<String>,
    /// Why a key is asked for. Empty if the operator came to sign in.
    why: &'static str,
    /// The page to go to, below `/console`.
    next: String,
}

/// Loads the page again: a browser that comes from another site sends the cookie only then.
#[derive(Template)]
#[template(path = "console/again.html")]
struct AgainPage;

pub fn page(call: &Call<'_>, refusal: Option<String>) -> SignInPage {
    let query = call.query();
    let next = query.get("next").unwrap_or_default().to_owned();
    let why = match query.get("why").unwrap_or_default() {
        NOT_SAVED => "Your session has ended; nothing was saved. Sign in to continue.",
        ENDED => "Your session has ended. Sign in to continue.",
        _ if !next.is_empty() => "Sign in to continue.",
        _ => "",
    };
    SignInPage { refusal, why, next }
}

pub async fn begin(call: &Call<'_>, body: UnreadBody) -> Result<ApiResponse, ApiRefusal> {
    let form = Form::read(call, body, limits::ADMIN_BODY_BYTES).await?;
    let key = form.get("key");
    let refused = match auth::typed_in(call, key).await {
        Ok((caller, digest)) => {
            let now = call.http.core.clock.now();
            let token = call.http.sessions.begin(digest, now);
            tracing::info!(label = caller.label(), "signed in to the console");
            let to = format!("/console{}", own_path(form.get("next")));
            let lifetime = limits::CONSOLE_LONGEST;
            return Ok(with_cookie(see_other(&to), call, &token, lifetime));
        }
        Err(ApiError::Unauthorized(_)) => {
            let message = "This is not a valid admin key. `leadhost key create --kind admin` makes one; the first is in the file admin.key of the data folder.";
            ApiRefusal::new(StatusCode::UNAUTHORIZED, message)
        }
        Err(error @ ApiError::TooManyFailures { .. }) => error.into(),
        Err(error) => return Err(error.into()),
    };
    let page = SignInPage {
        refusal: Some(refused.message),
        why: "",
        next: own_path(form.get("next")).to_owned(),
    };
    super::answer::page(refused.status, &page)
}

/// Returns the path if it is one below `/console`, so that the form leads nowhere else.
fn own_path(next: &str) -> &str {
    let is_own = next.starts_with('/')
        && !next.starts_with("//")
        && next
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_own { next } else { "" }
}

/// Leads to the sign-in, and from there to the page: for a form, to the page on which it stands.
pub fn required(
    call: &Call<'_>,
    handler: &ConsoleHandler,
    parameters: Parameters<'_>,
) -> ApiResponse {
    let from = call
        .head
        .headers
        .get(HeaderName::from_static("sec-fetch-site"));
    let is_elsewhere = from == Some(&HeaderValue::from_static("cross-site"));
    if is_elsewhere && !handler.is_form() {
        let again = super::answer::page(StatusCode::OK, &AgainPage);
        return again.unwrap_or_else(|refusal| self::refusal(call, &refusal));
    }
    let (next, why) = match handler {
        ConsoleHandler::SignOut => (String::new(), ""),
        ConsoleHandler::Form(_, origin) => {
            let page = page_of_form(call);
            let page = page.unwrap_or_else(|| origin.path(parameters, &Form::default()));
            (page, NOT_SAVED)
        }
        _ => {
            let path = call.head.uri.path_and_query();
            let path = path.and_then(|path| path.as_str().strip_prefix("/console"));
            let why = cookie(call).map_or("", |_| ENDED);
            (path.unwrap_or_default().to_owned(), why)
        }
    };
    let why = match why {
        "" => String::new(),
        why => format!("&why={why}"),
    };
    see_other(&format!("/console/sign-in?next={}{why}", encoded(&next)))
}

fn page_of_form(call: &Call<'_>) -> Option<String> {
    let text = |name| call.head.headers.get(name)?.to_str().ok();
    let page: Uri = text(REFERER)?.parse().ok()?;
    let origin = format!("{}://{}", page.scheme_str()?, page.authority()?);
    if !is_origin_of(&origin, text(HOST)?) {
        return None;
    }
    // The answer to a form has an address too, which is no page.
    route::find(pages::ROUTES.iter().copied().flatten(), "GET", page.path())?;
    let path = page.path_and_query()?.as_str().strip_prefix("/console")?;
    Some(path.to_owned())
}

/// Returns a refusal without the frame of a session.
pub fn refusal(call: &Call<'_>, refusal: &ApiRefusal) -> ApiResponse {
    let page = page(call, Some(refusal.message.clone()));
    super::answer::page(refusal.status, &page)
        .unwrap_or_else(|_| reply::text(refusal.status, refusal.message.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_in_leads_to_pages_of_the_console_alone() {
        assert_eq!(
            own_path("/deliveries?status=failed"),
            "/deliveries?status=failed"
        );
        for elsewhere in [
            "//evil.example",
            "https://evil.example",
            "evil",
            "/\\evil",
            "/a b",
            "",
        ] {
            assert_eq!(own_path(elsewhere), "", "{elsewhere}");
        }
    }
}
