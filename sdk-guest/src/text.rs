//! Text helpers.

/// Returns the ASCII digits of a text, in order.
pub fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Returns the trimmed text; `None` if it is empty.
pub(crate) fn present(text: impl Into<Option<String>>) -> Option<String> {
    let text = text.into()?;
    let trimmed = text.trim();
    if trimmed.is_empty() {
        None
    } else if trimmed.len() == text.len() {
        Some(text)
    } else {
        Some(trimmed.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_kept() {
        assert_eq!(digits("+55 (11) 90000-0001 ramal x"), "5511900000001");
        assert_eq!(digits("não informado"), "");
    }
}
