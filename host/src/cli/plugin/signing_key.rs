//! The file of a signing key: PKCS #8 in PEM, a format that other programs also write.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::cli::prelude::*;
use leadhost_domain::key::PlainKey;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// Characters per line.
const LINE: usize = 64;

pub fn to_pem(key: &[u8]) -> Zeroizing<String> {
    let text = Zeroizing::new(STANDARD.encode(key));
    let mut pem = Zeroizing::new(format!("{BEGIN}\n"));
    for line in text.as_bytes().chunks(LINE) {
        pem.extend(line.iter().copied().map(char::from));
        pem.push('\n');
    }
    pem.push_str(END);
    pem.push('\n');
    pem
}

/// Reads a PEM file and returns its content in PKCS #8. The key itself is not checked.
pub fn read(path: &Path) -> CommandResult<Zeroizing<Vec<u8>>> {
    // Not shown: it is the key of a service.
    if PlainKey::parse(&path.to_string_lossy()).is_some() {
        return Err(CommandFailure::usage(
            "--key takes the file of a signing key; the admin key of a service is passed with --admin-key",
        ));
    }
    let text = std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|error| {
            failed!("cannot read {}: {error}", path.display())
                .hint("name the key file; `leadhost plugin keygen FILE` creates one")
        })?;
    from_pem(&text).ok_or_else(|| not_a_key(path))
}

pub fn not_a_key(path: &Path) -> CommandFailure {
    failed!("{} is not an Ed25519 key in PEM", path.display())
        .hint("create one with `leadhost plugin keygen FILE`")
}

fn from_pem(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (_, after) = text.split_once(BEGIN)?;
    let (body, _) = after.split_once(END)?;
    let packed: Zeroizing<String> =
        Zeroizing::new(body.chars().filter(|c| !c.is_whitespace()).collect());
    STANDARD.decode(packed.as_bytes()).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_key_is_read_back() {
        let key = [7_u8; 83];
        let pem = to_pem(&key);
        assert!(pem.lines().all(|line| line.len() <= LINE), "{}", *pem);
        assert_eq!(from_pem(&pem).as_deref(), Some(&key.to_vec()));
        assert_eq!(from_pem("hello"), None);
    }
}
