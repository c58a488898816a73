//! The plugins that come with the program.

use std::path::{Path, PathBuf};

/// The folders of plugins, seen from that of the program: of the image, of a build, beside it.
const FOLDERS: [&str; 3] = ["../share/leadhost/plugins", "../plugins", "plugins"];

/// The folder of plugins of the image.
const SHARED: &str = "/usr/share/leadhost/plugins";

/// Returns the file of a plugin that came with the program.
pub fn find(file: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let folders = beside
        .into_iter()
        .flat_map(|folder| FOLDERS.map(|name| folder.join(name)));
    folders
        .chain([PathBuf::from(SHARED)])
        .map(|folder| folder.join(file))
        .find(|file| file.is_file())
}
