//! Other versions of the misbehaving guests (`tests/guests`), made by changing
//! bytes of the compiled ones: the tests and the benchmarks share them.

use leadhost_golden::{MAX_PACKED_BYTES, append_section};

pub const CONVERTER: &str = "misbehave-variant:";

pub const ADAPTER: &str = "misbehave-adapter-variant:";

/// Returns the component with other fields after this prefix, each ended by `;`.
///
/// # Panics
/// If it has no such prefix, or if the fields do not fit.
pub fn variant(mut component: Vec<u8>, begin: &str, fields: &[&str]) -> Vec<u8> {
    const LENGTH: usize = 160;
    let at = component
        .windows(begin.len())
        .position(|window| window == begin.as_bytes())
        .expect("the component has its variant in it");
    let text = format!("{begin}{};", fields.join(";"));
    assert!(text.len() <= LENGTH, "the variant fits: {text}");
    component[at..at + LENGTH].copy_from_slice(format!("{text:LENGTH$}").as_bytes());
    component
}

/// Returns the converter with as many golden cases as a component may carry, over
/// twenty thousand. The cases name no word: the component's default word must be
/// one that takes long.
///
/// # Panics
/// If it is not a component.
pub fn with_most_cases(component: &[u8]) -> Vec<u8> {
    const CASE: &str = r#"{"name":"","about":"","call":"convert"}"#;
    const BEGIN: &str = r#"{"format":1,"cases":["#;
    const END: &str = "]}";
    let most = (MAX_PACKED_BYTES - BEGIN.len() - END.len() + 1) / (CASE.len() + 1);
    let packed = format!("{BEGIN}{}{END}", vec![CASE; most].join(","));
    append_section(component, packed.as_bytes()).expect("it is a component")
}
