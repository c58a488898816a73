//! Rows as lines of JSON, which can be read one at a time, for clients that name them in
//! `Accept`. The last line contains everything but the rows.

use hyper::HeaderMap;
use hyper::header::ACCEPT;

use super::accept::weight;

pub const NDJSON: &str = "application/x-ndjson";

/// Returns whether the request names lines with at least the weight of JSON.
pub fn are_wanted(request: &HeaderMap) -> bool {
    let lines = weight(request, &ACCEPT, NDJSON).unwrap_or(0);
    let json = weight(request, &ACCEPT, "application/json").unwrap_or(0);
    lines > 0 && lines >= json
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn lines_are_sent_only_if_the_request_names_them() {
        let check = |accept: &'static str, expect: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(are_wanted(&headers), expect, "{accept}");
        };
        check("application/x-ndjson", true);
        check("application/x-ndjson, */*;q=0.5", true);
        check("application/json, application/x-ndjson;q=0.5", false);
        check("application/x-ndjson;q=0", false);
        check("*/*", false);
    }
}
