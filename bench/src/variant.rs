//! Another version of a component: the same code under another version number,
//! like a repaired plugin. The number is in the component's data, and possibly in its
//! golden case of `describe`.

use crate::Failure;

const MANIFEST: &str = include_str!("../../plugins/converter-grupo-olx/Cargo.toml");

/// The version of that converter, so many patches later.
pub fn later(patches: u32) -> String {
    let own = MANIFEST
        .lines()
        .find_map(|line| line.strip_prefix("version = "));
    let own = own.unwrap_or_default().trim_matches('"');
    let (minor, patch) = own.rsplit_once('.').unwrap_or_default();
    let patch = patch.parse::<u32>().unwrap_or_default();
    format!("{minor}.{}", patch + patches)
}

/// That converter as a version so many patches later.
pub fn of(component: &[u8], patches: u32) -> Result<Vec<u8>, Failure> {
    with_version(component, &later(0), &later(patches))
}

/// Returns the component as version `to`, which must be as long as `from`. The number
/// of a contract, after an `@`, is not changed, nor a longer number in a path.
fn with_version(component: &[u8], from: &str, to: &str) -> Result<Vec<u8>, Failure> {
    if from.len() != to.len() {
        return Err("a variant's version must be as long as the original's".into());
    }
    let mut variant = component.to_vec();
    let mut changed = 0;
    let mut at = 0;
    while let Some(found) = variant[at..]
        .windows(from.len())
        .position(|window| window == from.as_bytes())
    {
        let begin = at + found;
        at = begin + from.len();
        let goes_on = variant.get(at).is_some_and(u8::is_ascii_digit);
        if begin > 0 && variant[begin - 1] != b'@' && !goes_on {
            variant[begin..at].copy_from_slice(to.as_bytes());
            changed += 1;
        }
    }
    match changed {
        1 | 2 => Ok(variant),
        other => Err(format!(
            "version {from} stands in {other} places of the component; expected are its description and, maybe, the golden case of it"
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_keeps_its_number() {
        let component = b"converter@1.0.0 itoa-1.0.08 form1.0.0A \"1.0.0\"";
        let made = with_version(component, "1.0.0", "1.0.1");
        assert_eq!(
            made.expect("a variant"),
            b"converter@1.0.0 itoa-1.0.08 form1.0.1A \"1.0.1\""
        );
        assert_eq!(later(1).split('.').count(), 3);
        assert!(with_version(b"nothing", "1.0.0", "1.0.1").is_err());
    }
}
