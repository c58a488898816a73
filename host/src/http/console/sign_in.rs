//! Sign-in with an admin key, and pages for those who are not signed in.

use askama::Template;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

use super::api::ApiRefusal;
use super::form::{Form, encoded};
use super::{see_other, with_cookie};
use crate::http::auth;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::http::route::ConsoleRoute;
use crate::limits;

/// The form that asks for a key.
#[derive(Template)]
#[template(path = "console/sign_in.html")]
pub struct SignInPage {
    refusal: Option<String>,
    /// The page to go to, below `/console`.
    next: String,
}

/// Loads the page again: a browser that comes from another site sends the cookie only then.
#[derive(Template)]
#[template(path = "console/again.html")]
struct AgainPage;

/// Returns the form, with why the last key was refused.
pub fn page(call: &Call<'_>, refusal: Option<String>) -> SignInPage {
    let next = call.query().get("next").unwrap_or_default().to_owned();
    SignInPage { refusal, next }
}

/// Begins a session for a valid key.
///
/// # Errors
///
/// [`ApiRefusal`] if the form is not of this service, or the key cannot be looked up.
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
        next: own_path(form.get("next")).to_owned(),
    };
    super::page(refused.status, &page)
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

/// Leads to the sign-in, and from there to the page.
pub fn required(call: &Call<'_>, route: ConsoleRoute<'_>) -> ApiResponse {
    let from = call
        .head
        .headers
        .get(HeaderName::from_static("sec-fetch-site"));
    let is_elsewhere = from == Some(&HeaderValue::from_static("cross-site"));
    if is_elsewhere && !route.is_form() {
        let again = super::page(StatusCode::OK, &AgainPage);
        return again.unwrap_or_else(|refusal| self::refusal(call, &refusal));
    }
    let path = call
        .head
        .uri
        .path_and_query()
        .map_or("", |path| path.as_str());
    let next = path.strip_prefix("/console").filter(|_| !route.is_form());
    see_other(&format!(
        "/console/sign-in?next={}",
        encoded(next.unwrap_or_default())
    ))
}

/// Returns a refusal without the frame of a session.
pub fn refusal(call: &Call<'_>, refusal: &ApiRefusal) -> ApiResponse {
    let page = page(call, Some(refusal.message.clone()));
    super::page(refusal.status, &page)
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
