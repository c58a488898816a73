//! Names of hosts as people see them. Hosts may share a name, so those that do have a part of their id
//! beside it.

use super::id::HostId;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A live host that does not run, or cannot prepare, the version that it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Behind {
    /// The host's name.
    pub host: String,
    pub reason: String,
}

/// Characters of an id that distinguish hosts. Ids begin with their time, so the last ones do.
const SHORT: usize = 6;

/// Returns the name of each host, in their order: with the end of its id if another one has the same.
pub fn distinct<'a>(hosts: impl IntoIterator<Item = (HostId, &'a str)>) -> Vec<String> {
    let hosts: Vec<(HostId, &str)> = hosts.into_iter().collect();
    let is_shared = |name: &str| hosts.iter().filter(|(_, other)| *other == name).count() > 1;
    let shown = hosts.iter().map(|(id, name)| {
        if is_shared(name) {
            let id = id.to_string();
            let end = id.len().saturating_sub(SHORT);
            format!("{name} ({})", &id[end..])
        } else {
            (*name).to_owned()
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn hosts_of_one_name_are_distinguished_by_the_end_of_their_ids() {
        let id = |number: u128| HostId(Uuid::from_u128(number));
        let hosts = [(id(0xa1), "vm"), (id(0xb2), "vm"), (id(0xc3), "one")];
        assert_eq!(distinct(hosts), ["vm (0000a1)", "vm (0000b2)", "one"]);
        assert_eq!(distinct([(id(1), "vm")]), ["vm"]);
    }
}
