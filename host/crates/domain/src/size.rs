//! Numbers of bytes as people read them.

/// Returns a number of bytes in its largest unit, cut after the first decimal: `1.5 MiB`.
pub fn readable(bytes: u64) -> String {
    for (unit, size) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= size {
            let (whole, tenth) = (bytes / size, bytes % size * 10 / size);
            return match tenth {
                0 => format!("{whole} {unit}"),
                tenth => format!("{whole}.{tenth} {unit}"),
            };
        }
    }
    format!("{bytes} bytes")
}

/// Returns a number of bytes that is compared with a limit: exact, since a cut one may equal the limit.
pub fn exact(bytes: u64) -> String {
    match readable(bytes) {
        small if bytes < 1 << 10 => small,
        cut => format!("{cut} ({bytes} bytes)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_the_largest_unit_that_fits() {
        assert_eq!(readable(812), "812 bytes");
        assert_eq!(readable(1_100), "1 KiB");
        assert_eq!(readable(1_600_000), "1.5 MiB");
        assert_eq!(readable(128 << 20), "128 MiB");
        assert_eq!(readable(5 << 30), "5 GiB");
        assert_eq!(readable(u64::MAX), "17179869183.9 GiB");
        assert_eq!(exact(7), "7 bytes");
        assert_eq!(exact((1 << 20) + 1), "1 MiB (1048577 bytes)");
    }
}
