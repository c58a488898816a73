//! Other versions of the guests that misbehave (`tests/guests`), made by changing
//! bytes of what was compiled: the tests and the benchmarks share them.

use leadhost_golden::{MAX_PACKED_BYTES, append_section};

/// What the misbehaving converter's fields begin with.
pub const CONVERTER: &str = "misbehave-variant:";

/// What the misbehaving adapter's fields begin with.
pub const ADAPTER: &str = "misbehave-adapter-variant:";

/// The component with other fields behind these words, each ended by `;`.
///
/// # Panics
/// When it has no such words, or the fields do not fit.
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

/// The converter with as many golden cases as a component may carry, over
/// twenty thousand. They name no word: the component's own has to be one that
/// takes long.
///
/// # Panics
/// When it is not a component.
pub fn with_most_cases(component: &[u8]) -> Vec<u8> {
    const CASE: &str = r#"{"name":"","about":"","call":"convert"}"#;
    const BEGIN: &str = r#"{"format":1,"cases":["#;
    const END: &str = "]}";
    let most = (MAX_PACKED_BYTES - BEGIN.len() - END.len() + 1) / (CASE.len() + 1);
    let packed = format!("{BEGIN}{}{END}", vec![CASE; most].join(","));
    append_section(component, packed.as_bytes()).expect("it is a component")
}
