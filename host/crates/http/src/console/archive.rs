//! Archives of a few small files, for downloads: `tar` in the format of POSIX.1-1988 (ustar), which every
//! system unpacks.

const BLOCK: usize = 512;

/// Returns an archive of these files, by their paths, which have at most 100 bytes. `None` if a path is
/// longer.
pub fn tar<'a>(
    files: impl IntoIterator<Item = (String, &'a str)>,
    modified_seconds: u64,
) -> Option<Vec<u8>> {
    let mut archive = Vec::new();
    for (path, text) in files {
        archive.extend(header(&path, text.len(), modified_seconds)?);
        archive.extend(text.as_bytes());
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks end it.
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Some(archive)
}

fn header(path: &str, size: usize, modified_seconds: u64) -> Option<[u8; BLOCK]> {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    if path.len() > 100 {
        return None;
    }
    put(0, path.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, format!("{modified_seconds:011o}\0").as_bytes());
    // The sum is made with spaces in its own place.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_in_whole_blocks_behind_their_headers() {
        let files = [
            ("case/body.json".to_owned(), "{}"),
            ("case/case.json".to_owned(), ""),
        ];
        let archive = tar(files, 8).expect("short paths");
        assert_eq!(archive.len(), BLOCK * 5);
        assert!(archive.starts_with(b"case/body.json\0"));
        assert_eq!(&archive[124..136], b"00000000002\0");
        assert_eq!(&archive[136..148], b"00000000010\0");
        assert_eq!(&archive[257..265], b"ustar\x0000");
        assert_eq!(&archive[BLOCK..BLOCK + 3], b"{}\0");
        assert!(archive[2 * BLOCK..].starts_with(b"case/case.json\0"));
        assert!(archive[3 * BLOCK..].iter().all(|byte| *byte == 0));
        // The sum over the header, with eight spaces for the sum.
        let sum: u32 = archive[..BLOCK].iter().map(|byte| u32::from(*byte)).sum();
        let own: u32 = archive[148..156].iter().map(|byte| u32::from(*byte)).sum();
        let written = std::str::from_utf8(&archive[148..154]).expect("digits");
        let written = u32::from_str_radix(written, 8).expect("octal digits");
        assert_eq!(written, sum - own + 8 * u32::from(b' '));
        assert!(tar([("x".repeat(101), "")], 0).is_none());
    }
}
