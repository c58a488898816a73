//! The SDKs as packages, in the formats that the package managers of their languages take. The same files
//! give the same bytes: the lock of a project has their hash.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256, Sha512};
use zip::write::SimpleFileOptions;

/// The files of a package, by their paths in it.
pub type PackageFiles = BTreeMap<String, Vec<u8>>;

/// Packs files for npm.
pub fn tgz(files: &PackageFiles) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(if path.starts_with("bin/") {
            0o755
        } else {
            0o644
        });
        header.set_cksum();
        tar.append_data(&mut header, format!("package/{path}"), content.as_slice())?;
    }
    tar.into_inner()?.finish()
}

/// The end of the name of the folder in a wheel with what describes it.
const INFO: &str = ".dist-info";

/// Packs files as a wheel of Python, with the list of their hashes that every wheel has.
pub fn wheel(files: &PackageFiles) -> std::io::Result<Vec<u8>> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    let mut record = String::new();
    for (path, content) in files {
        zip.start_file(path.as_str(), options)?;
        zip.write_all(content)?;
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(content));
        record += &format!("{path},sha256={hash},{}\n", content.len());
    }
    let mut folders = files.keys().filter_map(|path| path.split_once('/'));
    let info = folders.find(|(folder, _)| folder.ends_with(INFO));
    let (info, _) = info.ok_or_else(|| std::io::Error::other("no file describes the wheel"))?;
    let path = format!("{info}/RECORD");
    record += &format!("{path},,\n");
    zip.start_file(path, options)?;
    zip.write_all(record.as_bytes())?;
    Ok(zip.finish()?.into_inner())
}

/// Returns the hash of a package as the lock of npm has it.
pub fn integrity(package: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(package)))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    fn files() -> PackageFiles {
        let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
        PackageFiles::from([file("bin/run.js", "1"), file("src/a.js", "22")])
    }

    #[test]
    fn a_package_for_npm_has_its_files_below_one_folder_and_is_always_the_same() {
        let packed = tgz(&files()).expect("it is packed");
        assert_eq!(packed, tgz(&files()).expect("it is packed"));
        let mut archive = tar::Archive::new(GzDecoder::new(packed.as_slice()));
        let entries = archive.entries().expect("an archive").map(|entry| {
            let entry = entry.expect("an entry");
            let path = entry.path().expect("a path").display().to_string();
            (path, entry.header().mode().expect("a mode"))
        });
        let entries: Vec<(String, u32)> = entries.collect();
        let expect = [("package/bin/run.js", 0o755), ("package/src/a.js", 0o644)];
        assert_eq!(entries, expect.map(|(path, mode)| (path.to_owned(), mode)));
        assert!(integrity(&packed).starts_with("sha512-"));
    }

    #[test]
    fn a_wheel_lists_the_hashes_of_its_files() {
        wheel(&files()).expect_err("nothing describes it");
        let mut files = files();
        files.insert("x-1.dist-info/WHEEL".to_owned(), b"1".to_vec());
        let packed = wheel(&files).expect("it is packed");
        assert_eq!(packed, wheel(&files).expect("it is packed"));
        let mut archive = zip::ZipArchive::new(Cursor::new(packed)).expect("an archive");
        let mut record = String::new();
        let mut file = archive.by_name("x-1.dist-info/RECORD").expect("the list");
        file.read_to_string(&mut record).expect("a text");
        let lines: Vec<&str> = record.lines().collect();
        assert_eq!(lines.len(), 4, "{record}");
        // The hash of `1`.
        assert_eq!(
            lines[0],
            "bin/run.js,sha256=a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s,1"
        );
        assert_eq!(lines[3], "x-1.dist-info/RECORD,,");
    }
}
