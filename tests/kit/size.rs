//! The two sizes of the suite: `LEADHOST_TEST_SIZE=full`, as `cargo xtask test --full` sets it, and the small one.

pub fn is_full() -> bool {
    std::env::var_os("LEADHOST_TEST_SIZE").is_some_and(|value| value == "full")
}

/// Returns the number for the size of this run.
pub fn sized<T>(small: T, full: T) -> T {
    if is_full() { full } else { small }
}

/// Returns the number in this variable, or the default.
#[track_caller]
pub fn given(variable: &str, otherwise: u64) -> u64 {
    let Some(text) = std::env::var_os(variable) else {
        return otherwise;
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{variable} is a whole number, not {}", text.display()))
}
