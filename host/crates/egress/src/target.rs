//! The allowed targets of a request: first the allow-list is checked, then the addresses
//! that the name resolves to. All of them must pass, and the connection goes to one of
//! them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::LazyLock;

use super::error::EgressError;
use leadhost_domain::connection::AllowedHost;
use leadhost_domain::exchange::{HttpRequest, UrlScheme};
use leadhost_domain::network::Networks;

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
        IpAddr::V4(_) => !SPECIAL.contain(address),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Networks that are not part of the public internet, by the registries of special addresses of IANA. Of
/// IPv6, only those in 2000::/3: no other unicast address is public. 2001::/23 has Teredo.
static SPECIAL: LazyLock<Networks> = LazyLock::new(|| {
    let networks = "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, \
                    192.0.2.0/24, 192.88.99.0/24, 192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, \
                    224.0.0.0/4, 240.0.0.0/4, 2001::/23, 2001:db8::/32, 3fff::/20";
    Networks::try_from(networks.to_owned()).expect("they are networks")
});

fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    // A router on the way may send what goes to the embedded address there.
    let (embedded, is_unicast) = match address.segments() {
        // Mapped, compatible, and of a translator (NAT64).
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (Some(v4(high, low)), true),
        // 6to4.
        [0x2002, high, low, ..] => (Some(v4(high, low)), true),
        // ISATAP, in any network.
        [first, _, _, _, 0 | 0x200, 0x5efe, high, low] => {
            (Some(v4(high, low)), first & 0xe000 == 0x2000)
        }
        [first, ..] => (None, first & 0xe000 == 0x2000),
    };
    let is_special = |address: IpAddr| SPECIAL.contain(address);
    is_unicast
        && !is_special(IpAddr::V6(address))
        && !embedded.is_some_and(|v4| is_special(IpAddr::V4(v4)))
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
            "2002:808:808::1",
            "2606:4700::5efe:808:808",
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
            "198.19.255.255",
            "192.88.99.1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "3fff::1",
            "3fff:fff::1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "2002:a00:1::1",
            "2002:c0a8:101::1",
            "2606:4700::5efe:a00:1",
            "2606:4700::200:5efe:7f00:1",
            "fe80::5efe:808:808",
            "::ffff:0:808:808",
            "fec0::1",
            "ff02::1",
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

    #[test]
    fn an_entry_for_a_private_address_lets_no_other_host_have_one() {
        let entry = |authority: &str, private| AllowedHost {
            scheme: UrlScheme::Https,
            authority: authority.into(),
            private,
        };
        let allow = [
            entry("crm.internal", true),
            entry("graph.example.com", false),
        ];
        for (authority, private) in [("crm.internal", true), ("graph.example.com", false)] {
            let request = HttpRequest {
                method: "GET".into(),
                scheme: UrlScheme::Https,
                authority: authority.into(),
                path: vec![TextSegment::Literal("/".into())],
                query: vec![],
                headers: vec![],
                body: vec![],
            };
            let target = AllowedTarget::check(&request, &allow).expect("it is allowed");
            assert_eq!(target.place.private, private, "{authority}");
        }
    }
}
