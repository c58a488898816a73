//! The client's address. Behind a proxy every client has the proxy's address. A proxy that the
//! operator trusts names its client in `X-Forwarded-For`. The header is not trusted from
//! others: any client can write it.

use std::net::IpAddr;

use crate::prelude::*;
use leadhost_domain::network::Networks;

pub fn address(trusted: &Networks, peer_address: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut peer = peer_address.to_canonical();
    // Each proxy appends the address of its own client.
    let mut named = headers
        .get_all("x-forwarded-for")
        .iter()
        .rev()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.rsplit(','));
    while trusted.contain(peer) {
        match named.next().and_then(parsed) {
            Some(next) => peer = next,
            None => break,
        }
    }
    peer
}

/// Parses an address. Some proxies add the port.
fn parsed(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    text.parse()
        .ok()
        .or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))
        .map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(trusted: &str, peer_address: &str, named: &[&'static str]) -> String {
        let trusted = Networks::try_from(trusted.to_owned()).expect("networks");
        let mut headers = HeaderMap::new();
        for value in named {
            headers.append("x-forwarded-for", HeaderValue::from_static(value));
        }
        address(
            &trusted,
            peer_address.parse().expect("an address"),
            &headers,
        )
        .to_string()
    }

    #[test]
    fn only_a_trusted_proxy_may_name_the_client() {
        let named = ["198.51.100.1, 203.0.113.9"];
        assert_eq!(peer("", "10.0.0.1", &named), "10.0.0.1");
        assert_eq!(peer("10.0.0.0/8", "10.0.0.1", &named), "203.0.113.9");
        assert_eq!(peer("10.0.0.0/8", "11.0.0.1", &named), "11.0.0.1");
    }

    #[test]
    fn a_chain_of_trusted_proxies_is_followed_and_no_further() {
        let named = ["6.6.6.6, 203.0.113.9:4711", "10.2.0.1"];
        assert_eq!(peer("10.0.0.0/8", "10.0.0.1", &named), "203.0.113.9");
        assert_eq!(peer("10.0.0.0/8", "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(peer("10.0.0.0/8", "10.0.0.1", &["unknown"]), "10.0.0.1");
        assert_eq!(peer("::1", "::1", &["[2001:db8::1]:80"]), "2001:db8::1");
    }
}
