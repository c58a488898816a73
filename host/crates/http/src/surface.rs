use percent_encoding::percent_decode_str;

use super::error::Family;
use crate::prelude::*;

/// The operation of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    Gateway,
    Data,
    /// Gateway and data API on one address.
    Both,
    Admin,
}

/// The authentication that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    PartnerKey,
    AccessToken,
    WorkspaceKey,
    AdminKey,
}

/// Below it, answers are pages.
pub const CONSOLE: &str = "console";

/// Its errors have a shape of their own.
const NOTIFICATION: &str = "send-notification";

impl Surface {
    pub const ALL: [Self; 4] = [Self::Gateway, Self::Data, Self::Both, Self::Admin];

    pub fn has_data(self) -> bool {
        matches!(self, Self::Data | Self::Both)
    }

    pub fn place(self) -> usize {
        self as usize
    }

    /// Returns the shape of errors at a path of this surface, even if there is nothing.
    pub fn family(self, path: &str) -> Family {
        let path = without_end(path);
        let first = path.trim_start_matches('/').split('/').next();
        match self {
            Self::Gateway | Self::Both if first == Some(NOTIFICATION) => Family::Notification,
            Self::Gateway => Family::Gateway,
            Self::Data => Family::Data,
            Self::Both if path == "/v1" || path.starts_with("/v1/") => Family::Data,
            Self::Both => Family::Gateway,
            Self::Admin if first == Some(CONSOLE) => Family::Console,
            Self::Admin => Family::Admin,
        }
    }
}

/// Decodes the characters of a path that need no encoding. By RFC 3986 `%41` means `A`
/// everywhere, while what stays encoded means something else.
pub fn plain(path: &str) -> Cow<'_, str> {
    let Some(first) = path.find('%') else {
        return Cow::Borrowed(path);
    };
    let mut plain = path[..first].to_owned();
    let mut rest = &path[first..];
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.map(char::from).filter(|c| is_unreserved(*c)) {
            Some(character) => {
                plain.push(character);
                rest = &rest[at + 3..];
            }
            None => {
                plain.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns a path without the slashes and blanks at its end: people and tools add them, and no route
/// ends with one.
pub fn without_end(mut path: &str) -> &str {
    loop {
        let shorter = path.strip_suffix('/').or_else(|| {
            let (rest, end) = path.split_at_checked(path.len().checked_sub("%20".len())?)?;
            let is_blank = percent_decode_str(end).all(|byte| byte.is_ascii_whitespace());
            is_blank.then_some(rest)
        });
        match shorter {
            Some(rest) if !rest.is_empty() => path = rest,
            _ => return path,
        }
    }
}

fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needlessly_encoded_characters_are_decoded() {
        let check = |path: &str, expect: &str| assert_eq!(plain(path), expect, "{path}");
        check("/deal", "/deal");
        check("/%64eal/%7Ea%2db", "/deal/~a-b");
        check("/a%2Fb%20%C3%A9", "/a%2Fb%20%C3%A9");
        check("/%", "/%");
        check("/%4", "/%4");
        check("/%+1%zz%é", "/%+1%zz%é");
        check("/%2541", "/%2541");
    }

    #[test]
    fn slashes_and_blanks_at_the_end_are_left_out() {
        let check = |path: &str, expect: &str| assert_eq!(without_end(path), expect, "{path}");
        for path in [
            "/deal",
            "/deal/",
            "/deal//",
            "/deal%20",
            "/deal/%20%09",
            "/deal%0A/",
        ] {
            check(path, "/deal");
        }
        for path in ["/", "", "/a%2F", "/a%C3%A0", "//deal", "/é"] {
            check(path, path);
        }
    }

    #[test]
    fn errors_have_their_familys_shape_even_at_unknown_paths() {
        assert_eq!(Surface::Both.family("/v1/nothing"), Family::Data);
        assert_eq!(Surface::Both.family("/v10/nothing"), Family::Gateway);
        for path in [
            "/send-notification",
            "/send-notification/",
            "/send-notification%20",
        ] {
            assert_eq!(Surface::Both.family(path), Family::Notification);
            assert_eq!(Surface::Gateway.family(path), Family::Notification);
            assert_eq!(Surface::Data.family(path), Family::Data);
        }
        assert_eq!(
            Surface::Both.family("/api/v1/deals/abc/log"),
            Family::Gateway
        );
        assert_eq!(Surface::Data.family("/nothing"), Family::Data);
        assert_eq!(Surface::Gateway.family("/v1/whoami"), Family::Gateway);
    }
}
