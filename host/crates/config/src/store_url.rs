//! The URL of the store.

use std::fmt;

use serde::Deserialize;

/// The URL of the store. It may contain a password, which it never shows.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct StoreUrl(String);

impl StoreUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Returns the URL with its password. Do not log it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Omits the parts that may be secret: user, password and parameters.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match url::Url::parse(&self.0) {
            Ok(url) if url.has_authority() => {
                write!(f, "{}://", url.scheme())?;
                if let Some(host) = url.host_str() {
                    f.write_str(host)?;
                }
                if let Some(port) = url.port() {
                    write!(f, ":{port}")?;
                }
                f.write_str(url.path())
            }
            _ if self.0.is_empty() => Ok(()),
            // `user:password@host` parses as a URL whose path contains the password.
            _ => f.write_str("(not a URL)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_store_is_not_shown() {
        let url = StoreUrl::new("postgres://ana:hidden@db.example.com:6432/leads?sslkey=hidden");
        let shown = format!("{url:?} {url}");
        assert!(
            !shown.contains("hidden") && !shown.contains("ana"),
            "{shown}"
        );
        assert!(shown.contains("db.example.com:6432/leads"), "{shown}");
        for unfinished in [
            "ana:hidden@db.example.com",
            "postgres:hidden@db.example.com",
        ] {
            let shown = StoreUrl::new(unfinished).to_string();
            assert!(!shown.contains("hidden"), "{shown}");
        }
    }
}
