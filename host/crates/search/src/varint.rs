//! Variable-length integers: seven bits in each byte.

/// Appends the number in one to five bytes.
pub(super) fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Reads the number at the beginning and advances `bytes` past it.
#[inline]
pub(super) fn read(bytes: &mut &[u8]) -> u32 {
    let mut number = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, 1 << 21, u32::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            write(&mut bytes, number);
        }
        let mut rest = bytes.as_slice();
        for number in numbers {
            assert_eq!(read(&mut rest), number);
        }
        assert!(rest.is_empty());
    }
}
