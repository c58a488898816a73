//! `GET /openapi.json`: the document of the surface. `GET /docs`: a page that shows it. Its
//! script and style come from here too, and the browser is instructed to load nothing from
//! elsewhere. The page calls an operation only at its reader's request, with a key that was
//! typed in.

use std::sync::OnceLock;

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};

use crate::asset::Asset;
use crate::call::Call;
use crate::openapi;
use crate::reply::{self, ApiResponse};
use crate::route::{DocsFile, Surface};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the OpenAPI document of the call's surface, or 304 if the client's copy is current.
pub fn document(call: &Call<'_>) -> ApiResponse {
    static CACHED: [OnceLock<Asset>; Surface::ALL.len()] =
        [const { OnceLock::new() }; Surface::ALL.len()];
    let asset = CACHED[call.surface.place()].get_or_init(|| {
        let text = openapi::text(call.surface);
        Asset::new(reply::JSON, text)
    });
    asset.answer(call)
}

/// Returns a file of the page that shows the document, with a content security policy.
pub fn page(call: &Call<'_>, file: DocsFile) -> ApiResponse {
    static CACHED: [OnceLock<Asset>; 4] = [const { OnceLock::new() }; 4];
    let (place, content_type, text) = match file {
        DocsFile::Text if call.surface == Surface::Admin => {
            (3, "text/html; charset=utf-8", admin_page())
        }
        DocsFile::Text => (0, "text/html; charset=utf-8", PAGE),
        DocsFile::Script => (
            1,
            "text/javascript; charset=utf-8",
            include_str!("docs/page.js"),
        ),
        DocsFile::Style => (2, "text/css; charset=utf-8", include_str!("docs/page.css")),
    };
    let asset = CACHED[place].get_or_init(|| Asset::new(content_type, text));
    let mut reply = asset.answer(call);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    reply
}

const PAGE: &str = include_str!("docs/page.html");

/// Returns the page with the title of the admin API.
fn admin_page() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| PAGE.replace("Leadhost API", "Leadhost admin API"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_references_nothing_external() {
        for text in [
            include_str!("docs/page.html"),
            include_str!("docs/page.js"),
            include_str!("docs/page.css"),
        ] {
            for word in ["http:", "https:", "url(", "@import", "innerHTML", "eval("] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
