//! Paths: the repository's root, its build folder, its packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Context, Failure};
use crate::process;

/// The root of the repository, from whatever folder the task was started.
pub fn root() -> PathBuf {
    // `cargo run` names the folder of this crate; the path at compile time is
    // for a binary that is started directly.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map(Path::to_path_buf).unwrap_or(own)
}

pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

pub fn cargo() -> Command {
    xtask::cargo::command(&root())
}

pub struct Package {
    pub name: String,
    pub version: String,
    pub folder: PathBuf,
    pub metadata: Value,
}

pub fn packages_below(folders: &[&str]) -> Result<Vec<Package>, Failure> {
    let root = root();
    let text = process::output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).context("reading cargo metadata")?;
    let mut found: Vec<Package> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            let folder = manifest.parent()?.to_path_buf();
            folders
                .iter()
                .any(|below| folder.starts_with(root.join(below)))
                .then(|| Package {
                    name: package["name"].as_str().unwrap_or_default().to_owned(),
                    version: package["version"].as_str().unwrap_or_default().to_owned(),
                    metadata: package["metadata"]["leadhost"].clone(),
                    folder,
                })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}
