use super::api::ApiRefusal;
use super::outcome::Notice;
use crate::prelude::*;
use askama::Template;
use hyper::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};

use leadhost_domain::size;
use leadhost_domain::text::{is_active, written_out};

const HTML: &str = "text/html; charset=utf-8";

/// The name of the session's cookie.
const SESSION_COOKIE: &str = "leadhost-console";

pub enum FormOutcome {
    Done { to: String, notice: Notice },
    Page(ApiResponse),
}

impl FormOutcome {
    /// Returns to a page below `/console`, with a sentence about what was done.
    pub fn done(to: impl Into<String>, notice: impl Into<Notice>) -> Self {
        Self::Done {
            to: to.into(),
            notice: notice.into(),
        }
    }
}

pub fn page(status: StatusCode, template: &impl Template) -> Result<ApiResponse, ApiRefusal> {
    let mut page = BoundedPage::default();
    let rendered = template.render_into(&mut page);
    if !page.is_too_long {
        rendered.map_err(ApiError::internal)?;
        page.text = readable(page.text);
    }
    if page.is_too_long || page.text.len() > limits::CONSOLE_PAGE_BYTES {
        return Err(ApiRefusal::new(
            StatusCode::CONFLICT,
            format!(
                "This page would have more than {}; the commands of `leadhost` show the same with `--json`.",
                size::readable(limits::CONSOLE_PAGE_BYTES as u64)
            ),
        ));
    }
    Ok(reply::bytes_of(status, HTML, page.text))
}

/// A page as far as it is rendered, which ends with an error when it is too long.
#[derive(Default)]
struct BoundedPage {
    text: String,
    is_too_long: bool,
}

impl std::fmt::Write for BoundedPage {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        self.is_too_long |= self.text.len() + piece.len() > limits::CONSOLE_PAGE_BYTES;
        if self.is_too_long {
            return Err(std::fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

/// Characters that a page may contain although they are active.
pub const BLANKS: &[char] = &['\n', '\r', '\t'];

/// The attributes whose values a person sees or hears.
const SHOWN: [&str; 4] = [" data-ask=", " aria-label=", " title=", " placeholder="];

/// Escapes active characters in the text of a page and in the attributes that are [shown](SHOWN), so that no
/// value of a source turns around or hides what stands beside it. The values of fields, and what a field for
/// text contains, stay exact: forms send them back.
fn readable(html: String) -> String {
    if !html.contains(|c: char| is_active(c) && !BLANKS.contains(&c)) {
        return html;
    }
    let mut out = String::with_capacity(html.len() + 64);
    let mut rest = html.as_str();
    while !rest.is_empty() {
        let (text, tag) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        out.push_str(&written_out(text, BLANKS));
        let end = if tag.starts_with("<textarea") {
            "</textarea>"
        } else {
            ">"
        };
        let end = tag.find(end).map_or(tag.len(), |at| at + end.len());
        let mut before = "";
        // Within a value, a quote is an entity.
        for piece in tag[..end].split_inclusive('"') {
            if SHOWN.iter().any(|shown| {
                before
                    .strip_suffix('"')
                    .is_some_and(|name| name.ends_with(shown))
            }) {
                out.push_str(&written_out(piece, BLANKS))
            } else {
                out.push_str(piece)
            }
            before = piece;
        }
        rest = &tag[end..];
    }
    out
}

pub fn see_other(to: &str) -> ApiResponse {
    let mut reply = reply::empty(StatusCode::SEE_OTHER);
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/console"));
    reply.headers_mut().insert(LOCATION, to);
    reply
}

/// Adds the cookie of a session. With no lifetime it removes the cookie. The service itself speaks plain HTTP with
/// operators: whether a proxy speaks HTTPS with the browser, the origin of the form says.
pub fn with_cookie(
    mut reply: ApiResponse,
    call: &Call<'_>,
    token: &str,
    lifetime: Duration,
) -> ApiResponse {
    let origin = call.head.headers.get(ORIGIN);
    let secure = if origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https://")) {
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

pub fn cookie<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let lines = call.head.headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find_map(|(name, value)| (name == SESSION_COOKIE).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_when_it_is_too_long() {
        #[derive(Template)]
        #[template(source = "{% for _ in 0..times %}{{ text }}{% endfor %}", ext = "html")]
        struct Long {
            times: usize,
            text: String,
        }
        let long = |times, text: &str| {
            let text = text.repeat(1 << 10);
            page(StatusCode::OK, &Long { times, text })
        };
        let most = limits::CONSOLE_PAGE_BYTES >> 10;
        assert!(long(most - 1, "x").is_ok());
        for (times, text) in [(most + 1, "x"), (most / 4, "<"), (most / 5, "\u{1b}")] {
            let refused = long(times, text).err().expect("it is refused");
            assert_eq!(refused.status, StatusCode::CONFLICT);
            assert!(
                refused.message.contains("more than 16 MiB"),
                "{}",
                refused.message
            );
        }
    }

    #[test]
    fn active_characters_are_escaped_in_text_and_exact_in_what_a_form_sends() {
        for c in ('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}')
            .chain("\u{200e}\u{200f}\u{61c}\u{1b}".chars())
        {
            let escaped = format!("\\u{:04x}", u32::from(c));
            let html =
                format!("<td title=\"{c}\">Ana{c}</td>\t\n<textarea>{c}<\u{2f}textarea>{c}<br>{c}");
            let expected = format!(
                "<td title=\"{escaped}\">Ana{escaped}</td>\t\n<textarea>{c}</textarea>{escaped}<br>{escaped}"
            );
            assert_eq!(readable(html), expected);
            let html = format!(
                "<input value=\"{c}\" data-ask=\"Revoke {c}?\" aria-label=\"{c}\" name=\"{c}\">"
            );
            let expected = format!(
                "<input value=\"{c}\" data-ask=\"Revoke {escaped}?\" aria-label=\"{escaped}\" name=\"{c}\">"
            );
            assert_eq!(readable(html), expected);
        }
        assert_eq!(readable("<p>Ação\r\n".to_owned()), "<p>Ação\r\n");
        assert_eq!(readable("\u{202e}<p".to_owned()), "\\u202e<p");
    }
}
