//! The preferences of a client: headers of comma-separated names with weights, such as `Accept`
//! and `Accept-Encoding`.

use crate::prelude::*;

/// Returns the weight, in thousandths, that the headers called `header` give to `name`, or
/// `None` if they do not name it. Malformed weights count as zero.
pub fn weight(headers: &HeaderMap, header: &HeaderName, name: &str) -> Option<u16> {
    headers
        .get_all(header)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            if !parts.next()?.eq_ignore_ascii_case(name) {
                return None;
            }
            let q = parts.find_map(|part| {
                let (key, value) = part.split_once('=')?;
                key.trim().eq_ignore_ascii_case("q").then(|| value.trim())
            });
            Some(q.map_or(1000, thousandths))
        })
}

fn thousandths(text: &str) -> u16 {
    match text.parse::<f32>() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 1000 by the guard"
        )]
        Ok(q) if (0.0..=1.0).contains(&q) => (q * 1000.0) as u16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::ACCEPT;

    #[test]
    fn weights_are_read_as_written() {
        let check = |text: &'static str, name: &str, expect: Option<u16>| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(text));
            assert_eq!(weight(&headers, &ACCEPT, name), expect, "{text}");
        };
        check("gzip, deflate", "gzip", Some(1000));
        check("gzip;q=0", "gzip", Some(0));
        check("GZIP ; Q=0.5", "gzip", Some(500));
        check("gzip;q=high", "gzip", Some(0));
        check("gzip;q=7", "gzip", Some(0));
        check("deflate", "gzip", None);
        check("", "gzip", None);
        check("text/html;level=1;q=0.1", "text/html", Some(100));
    }
}
