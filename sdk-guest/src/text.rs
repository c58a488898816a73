//! Small readings of text.

/// The ASCII digits of a text, in order.
pub fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// The text without space around it; None where nothing is left.
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
    fn only_digits_stay() {
        assert_eq!(digits("+55 (11) 90000-0001 ramal x"), "5511900000001");
        assert_eq!(digits("não informado"), "");
    }
}
