//! The hosts that a connection's calls may reach, as a workspace file lists them:
//! `"https://graph.example"`, or with `!private` (or `private = true`) for a machine of the
//! operator. A private address without that mark is refused here, where the file's author
//! reads the reason, and not at the first lead.

use std::net::IpAddr;

use serde_json::Value;
use url::{Host, Url};

use super::reader::kind;
use leadhost_domain::connection::AllowedHost;
use leadhost_egress::is_public;

const EXPECTED: &str =
    "expected a scheme and a host, such as https://graph.example or http://127.0.0.1:9000!private";

pub fn allowed_host(entry: &Value) -> Result<AllowedHost, String> {
    match entry {
        Value::String(text) => match text.strip_suffix("!private") {
            Some(address) => parse(address, true),
            None => parse(text, false),
        },
        Value::Object(fields) => {
            if let Some(name) = fields
                .keys()
                .find(|name| *name != "url" && *name != "private")
            {
                return Err(format!(
                    "`{name}` is not a known field; the fields are url and private"
                ));
            }
            let private = match fields.get("private") {
                None => false,
                Some(Value::Bool(private)) => *private,
                Some(other) => {
                    return Err(format!(
                        "private: expected true or false, found {}",
                        kind(other)
                    ));
                }
            };
            match fields.get("url") {
                Some(Value::String(text)) => parse(text, private),
                _ => Err("url is missing".to_owned()),
            }
        }
        other => Err(format!("{EXPECTED}, found {}", kind(other))),
    }
}

fn parse(text: &str, private: bool) -> Result<AllowedHost, String> {
    let url = Url::parse(text).map_err(|error| format!("`{text}`: {error}; {EXPECTED}"))?;
    let scheme = url
        .scheme()
        .parse()
        .map_err(|_| format!("`{text}`: expected http or https"))?;
    if !url.username().is_empty() || url.password().is_some() {
        // The message does not repeat the address, because it contains a credential.
        return Err("an address must not contain credentials: declare them as secrets".to_owned());
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(format!(
            "`{text}`: a host is allowed as a whole; leave out the path"
        ));
    }
    let host = url.host().ok_or_else(|| format!("`{text}`: {EXPECTED}"))?;
    if is_own(&host) && !private {
        return Err(format!(
            "`{text}` is not a public address: to allow it, write {text}!private"
        ));
    }
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_string(),
    };
    Ok(AllowedHost {
        scheme,
        authority: authority.to_lowercase(),
        private,
    })
}

/// Returns whether the address is not reachable from outside. The addresses behind a name
/// are checked when it is called.
fn is_own(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => !is_public(IpAddr::V4(*address)),
        Host::Ipv6(address) => !is_public(IpAddr::V6(*address)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        for (entry, expect, private) in [
            (json!("https://Graph.Example"), "https graph.example", false),
            (
                json!("https://graph.example:443/"),
                "https graph.example",
                false,
            ),
            (
                json!("http://graph.example:8080"),
                "http graph.example:8080",
                false,
            ),
            (
                json!("http://127.0.0.1:9999!private"),
                "http 127.0.0.1:9999",
                true,
            ),
            (json!("http://[::1]:9999!private"), "http [::1]:9999", true),
            (
                json!({"url": "http://crm.internal", "private": true}),
                "http crm.internal",
                true,
            ),
        ] {
            let host = allowed_host(&entry).expect("it is allowed");
            let found = format!("{} {}", host.scheme.as_str(), host.authority);
            assert_eq!((found.as_str(), host.private), (expect, private), "{entry}");
        }
    }

    #[test]
    fn a_host_that_is_not_public_is_refused_with_a_reason() {
        let check = |entry: Value, expect: &str| {
            let message = allowed_host(&entry).expect_err("it is refused");
            assert!(message.contains(expect), "{entry}: {message}");
        };
        check(json!("graph.example"), "scheme");
        check(json!("ftp://graph.example"), "http or https");
        check(json!("https://graph.example/v1"), "path");
        check(json!("https://user:hush@graph.example"), "secrets");
        check(json!("http://127.0.0.1:9999"), "!private");
        check(json!("http://10.1.2.3"), "!private");
        check(json!("http://169.254.169.254"), "!private");
        check(json!("http://[::ffff:10.0.0.1]"), "!private");
        check(json!("http://localhost:1"), "!private");
        check(
            json!({"url": "https://a.example", "public": true}),
            "public",
        );
        check(json!(7), "a number");
        assert!(
            !allowed_host(&json!("https://user:hush@graph.example"))
                .expect_err("refused")
                .contains("hush")
        );
    }
}
