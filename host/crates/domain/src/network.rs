//! Networks, as an operator writes them: `10.0.0.0/8`, or a single address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::Deserialize;

/// A comma-separated list of networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Networks(Vec<Network>);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// The leading bits that its addresses share.
    bits: u8,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Networks {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contain_everyone(&self) -> bool {
        self.0.iter().any(|network| network.bits == 0)
    }

    /// Returns whether one of the networks contains the address. An IPv4 address that is
    /// mapped into IPv6 counts as IPv4.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = u32::from(own) ^ u32::from(other);
                differ.leading_zeros() >= u32::from(self.bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = u128::from(own) ^ u128::from(other);
                differ.leading_zeros() >= u32::from(self.bits)
            }
            _ => false,
        }
    }
}

impl TryFrom<String> for Networks {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(network)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn network(text: &str) -> Result<Network, String> {
    let wrong =
        || format!("`{text}` is not a network: write it as 10.0.0.0/8, or as a single address");
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        Some(bits) => bits.parse().map_err(|_| wrong())?,
        None => most,
    };
    if bits > most {
        return Err(wrong());
    }
    Ok(Network { address, bits })
}

/// Returns the address that stands for the owner of an address in counts: for IPv6, the
/// network of 64 bits, since its owner may use any address in it.
pub fn owner(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_contains_its_addresses_and_no_others() {
        let networks = Networks::try_from("10.0.0.0/8, 192.0.2.7 ,2001:db8::/32".to_owned());
        let networks = networks.expect("networks");
        for inside in ["10.1.2.3", "192.0.2.7", "2001:db8:1::1", "::ffff:10.0.0.1"] {
            assert!(networks.contain(at(inside)), "{inside}");
        }
        for outside in ["11.0.0.1", "192.0.2.8", "2001:db9::1", "::1"] {
            assert!(!networks.contain(at(outside)), "{outside}");
        }
        let none = Networks::try_from(String::new()).expect("none");
        assert!(!none.contain(at("127.0.0.1")));
        let all = Networks::try_from("0.0.0.0/0".to_owned()).expect("all");
        assert!(all.contain(at("127.0.0.1")) && !all.contain(at("::1")));
    }

    #[test]
    fn a_text_that_is_not_a_network_is_refused_by_name() {
        for wrong in ["10.0.0.0/33", "proxy", "10.0.0.0/", "10.0.0/8", "::/129"] {
            let refused = Networks::try_from(wrong.to_owned()).expect_err("no network");
            assert!(refused.contains(wrong), "{refused}");
        }
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_owner() {
        assert_eq!(owner(at("2001:db8::1:2:3:4")), at("2001:db8::"));
        assert_eq!(owner(at("::ffff:192.0.2.1")), at("192.0.2.1"));
        assert_eq!(owner(at("192.0.2.1")), at("192.0.2.1"));
    }
}
