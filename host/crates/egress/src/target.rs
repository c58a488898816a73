//! The allowed targets of a request: first the allow-list is checked, then the addresses
//! that the name resolves to. All of them must pass, and the connection goes to one of
//! them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::EgressError;
use leadhost_domain::connection::AllowedHost;
use leadhost_domain::exchange::{HttpRequest, UrlScheme};

/// The target of a request that passed the allow-list.
#[derive(Clone)]
pub struct AllowedTarget {
    pub place: RemoteServer,
    /// As the plugin wrote it.
    pub authority: String,
}

/// The remote server of a connection. A connection that may go to a private address is not used
/// for a call that may not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoteServer {
    pub scheme: UrlScheme,
    pub host: String,
    pub port: u16,
    pub private: bool,
}

impl AllowedTarget {
    /// Checks the request against the allow-list.
    pub fn check(request: &HttpRequest, allow: &[AllowedHost]) -> Result<Self, EgressError> {
        let scheme = request.scheme;
        let not_allowed = || EgressError::NotAllowed {
            scheme,
            authority: request.authority.clone(),
        };
        let default_port = scheme.default_port();
        let (host, port) = split_authority(&request.authority, default_port).ok_or_else(|| {
            EgressError::Malformed(format!(
                "`{}` is not a host with an optional port",
                request.authority
            ))
        })?;
        let entry = allow
            .iter()
            .filter(|entry| entry.scheme == scheme)
            .find(|entry| {
                split_authority(&entry.authority, default_port).as_ref()
                    == Some(&(host.clone(), port))
            })
            .ok_or_else(not_allowed)?;
        Ok(Self {
            place: RemoteServer {
                scheme,
                host,
                port,
                private: entry.private,
            },
            authority: request.authority.clone(),
        })
    }

    /// Returns the target of an entry of the allow-list itself.
    pub fn from_entry(entry: &AllowedHost) -> Result<Self, EgressError> {
        let scheme = entry.scheme;
        let authority = &entry.authority;
        let (host, port) = split_authority(authority, scheme.default_port()).ok_or_else(|| {
            EgressError::Malformed(format!("`{authority}` is not a host with an optional port"))
        })?;
        Ok(Self {
            place: RemoteServer {
                scheme,
                host,
                port,
                private: entry.private,
            },
            authority: authority.clone(),
        })
    }

    /// Resolves the name and checks its addresses.
    pub async fn resolve(&self) -> Result<Vec<SocketAddr>, EgressError> {
        let RemoteServer { host, port, .. } = &self.place;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host((bare, *port))
            .await
            .map_err(|error| self.unreachable(error.to_string()))?
            .collect();
        if addresses.is_empty() {
            return Err(self.unreachable("the name has no address".to_owned()));
        }
        if !self.place.private
            && let Some(address) = addresses.iter().find(|address| !is_public(address.ip()))
        {
            return Err(EgressError::NotPublic {
                scheme: self.place.scheme,
                authority: self.authority.clone(),
                address: address.ip(),
            });
        }
        Ok(addresses)
    }

    /// The error for a request that was not sent.
    pub fn unreachable(&self, reason: String) -> EgressError {
        EgressError::Unreachable {
            authority: self.authority.clone(),
            reason,
        }
    }

    /// The error for a request that was sent, or may have been.
    pub fn no_answer(&self, reason: String) -> EgressError {
        EgressError::NoAnswer {
            authority: self.authority.clone(),
            reason,
        }
    }
}

/// Splits an authority into the host, in lower case, and the port. Returns `None` if it
/// contains anything else.
pub fn split_authority(authority: &str, default_port: u16) -> Option<(String, u16)> {
    if authority.is_empty()
        || authority.contains(|c: char| c.is_whitespace() || "@/?#\\".contains(c) || c.is_control())
    {
        return None;
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, default_port),
    };
    let host_is_plain = host.starts_with('[') && host.ends_with(']') || !host.contains(':');
    (!host.is_empty() && host_is_plain).then(|| (host.to_ascii_lowercase(), port))
}

/// Returns whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // An address that embeds an IPv4 address is public if that address is.
    let embedded = address.to_ipv4_mapped().or_else(|| {
        let v4 = |high: u16, low: u16| {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            Ipv4Addr::new(a, b, c, d)
        };
        match segments {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0, 0, 0, 0, 0, 0, high, low] => {
                Some(v4(high, low))
            }
            [0x2002, high, low, ..] => Some(v4(high, low)),
            _ => None,
        }
    });
    if let Some(v4) = embedded {
        return is_public_v4(v4);
    }
    // Only 2000::/3 of the unicast space is allocated; 2001:db8::/32 is for documentation.
    (segments[0] & 0xe000) == 0x2000 && !(segments[0] == 0x2001 && segments[1] == 0xdb8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::TextSegment;

    #[test]
    fn only_public_addresses_are_public() {
        for public in [
            "8.8.8.8",
            "157.240.1.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(public.parse().expect("address")), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "::7f00:1",
        ] {
            assert!(!is_public(private.parse().expect("address")), "{private}");
        }
    }

    #[test]
    fn an_authority_is_a_host_and_maybe_a_port() {
        assert_eq!(
            split_authority("Graph.Example.com", 443),
            Some(("graph.example.com".into(), 443))
        );
        assert_eq!(
            split_authority("[::1]:8080", 80),
            Some(("[::1]".into(), 8080))
        );
        for wrong in [
            "",
            "user@host",
            "host/path",
            "host:port",
            "a b",
            "host:99999",
            "::1",
            "host#x",
            "h\\x",
        ] {
            assert_eq!(split_authority(wrong, 80), None, "{wrong}");
        }
    }

    #[test]
    fn the_allow_list_decides_before_a_slot_is_filled() {
        let request = HttpRequest {
            method: "GET".into(),
            scheme: UrlScheme::Https,
            authority: "evil.example".into(),
            path: vec![TextSegment::Literal("/".into())],
            query: vec![],
            headers: vec![],
            body: vec![],
        };
        let allow = [AllowedHost {
            scheme: UrlScheme::Https,
            authority: "graph.example.com".into(),
            private: false,
        }];
        assert!(matches!(
            AllowedTarget::check(&request, &allow),
            Err(EgressError::NotAllowed { .. })
        ));
        let good = HttpRequest {
            authority: "GRAPH.example.com:443".into(),
            ..request.clone()
        };
        assert!(AllowedTarget::check(&good, &allow).is_ok());
        let plain = HttpRequest {
            scheme: UrlScheme::Http,
            ..good
        };
        assert!(AllowedTarget::check(&plain, &allow).is_err());
    }
}
