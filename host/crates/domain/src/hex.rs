//! Bytes as hexadecimal text: digests, ids of keys, proofs of senders.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub fn encode(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// Reads hexadecimal text in either case. `None` if the text is anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
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
    fn only_hexadecimal_text_is_read() {
        assert_eq!(encode(&[0, 10, 255]), "000aff");
        assert_eq!(decode("000aff"), Some(vec![0, 10, 255]));
        assert_eq!(decode("0AFF"), Some(vec![10, 255]));
        for other in ["0", "0g", "é", "+1"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }
}
