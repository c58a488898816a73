//! `GET /openapi.json`: the document of the surface. `GET /docs`: a page that shows it. Its
//! script and style come from here too, and the browser is instructed to load nothing from
//! elsewhere. The page calls an operation only at its reader's request, with a key that was
//! typed in.

use std::sync::{LazyLock, OnceLock};

use hyper::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY};

use crate::asset::Asset;
use crate::openapi::{self, operation::describe};
use crate::prelude::*;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe!(document, |operation| operation
    .id("describe")
    .summary("Returns this document")
    .answers_content(
        200,
        "The OpenAPI 3.1 document of this address.",
        json!({"application/json": {"schema": {"type": "object"}}}),
    )
    .header(200, "ETag", "ETag"));
pub async fn document(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    static CACHED: [OnceLock<Asset>; Surface::ALL.len()] =
        [const { OnceLock::new() }; Surface::ALL.len()];
    let asset = CACHED[call.surface.place()].get_or_init(|| {
        let text = openapi::text(call.surface);
        Asset::new(reply::JSON, text)
    });
    Ok(asset.answer(call))
}

describe!(page);
pub async fn page(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    static CACHED: [OnceLock<Asset>; 4] = [const { OnceLock::new() }; 4];
    let is_admin = call.surface == Surface::Admin;
    let in_folder = call.head.uri.path().ends_with('/');
    let place = usize::from(is_admin) + 2 * usize::from(in_folder);
    let asset = CACHED[place].get_or_init(|| {
        let mut text = include_str!("docs/page.html").to_owned();
        if is_admin {
            text = text.replace("Leadhost API", "Leadhost admin API");
        }
        if in_folder {
            // Addresses in a page are relative, so that a proxy may serve it below another path.
            text = text.replace("\"docs/", "\"../docs/");
            text = text.replace("\"openapi.json", "\"../openapi.json");
        }
        Asset::new("text/html; charset=utf-8", text.leak())
    });
    Ok(of_page(call, asset))
}

describe!(script);
pub async fn script(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    static CACHED: LazyLock<Asset> = LazyLock::new(|| {
        Asset::new(
            "text/javascript; charset=utf-8",
            include_str!("docs/page.js"),
        )
    });
    Ok(of_page(call, &CACHED))
}

describe!(style);
pub async fn style(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    static CACHED: LazyLock<Asset> =
        LazyLock::new(|| Asset::new("text/css; charset=utf-8", include_str!("docs/page.css")));
    Ok(of_page(call, &CACHED))
}

fn of_page(call: &Call<'_>, asset: &Asset) -> ApiResponse {
    let mut reply = asset.answer(call);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    reply
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
