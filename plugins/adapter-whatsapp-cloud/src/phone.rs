//! Distinguishes phones from the other ids that Meta assigns to its users.

/// Whether this is a user without a phone: a country's two letters, a point, and a
/// number; with `US.ENT.` in front if several businesses share the id.
pub fn is_user_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 3
        && bytes[..2].iter().all(u8::is_ascii_alphabetic)
        && bytes[2] == b'.'
        && bytes[3..]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
}

/// Whether this is a phone as WhatsApp writes it: digits, perhaps after a plus.
pub fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    (5..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phones_and_user_ids_are_distinguished() {
        for id in ["US.13491208655302741918", "BR.1", "US.ENT.118157"] {
            assert!(is_user_id(id) && !is_phone(id), "{id}");
        }
        for phone in ["5511900000001", "+5511900000001", "551190000001"] {
            assert!(is_phone(phone) && !is_user_id(phone), "{phone}");
        }
        for other in ["", "US.", "é.1", "+", "1234", "maria", "55 11 9"] {
            assert!(!is_phone(other), "{other}");
            assert!(!is_user_id(other), "{other}");
        }
    }
}
