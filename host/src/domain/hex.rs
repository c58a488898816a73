//! Bytes as hexadecimal text: digests, keys' ids, proofs of senders.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// In lower case.
pub fn of(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// In either case; none of a text that is something else.
pub fn read(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| Some((digit(pair[0])? << 4) | digit(pair[1])?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_all_else_is_not() {
        assert_eq!(of(&[0, 10, 255]), "000aff");
        assert_eq!(read("000aff"), Some(vec![0, 10, 255]));
        assert_eq!(read("0AFF"), Some(vec![10, 255]));
        for other in ["0", "0g", "é", "+1"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
