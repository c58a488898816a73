use crate::cli::prelude::*;

/// The folder of plugins of the image.
const SHARED: &str = "/usr/share/leadhost/plugins";

pub fn find(file: &str) -> Option<PathBuf> {
    let files = folders().into_iter().map(|folder| folder.join(file));
    files.into_iter().find(|file| file.is_file())
}

/// Returns the failure for a plugin that is in none of the folders. `before` were searched before them.
pub fn missing(file: &str, before: &[&str]) -> CommandFailure {
    let folders = folders();
    let all = folders.iter().map(|folder| folder.display().to_string());
    let all = before.iter().map(ToString::to_string).chain(all);
    failed!(
        "{file} is in none of these folders: {}",
        all.collect::<Vec<_>>().join(", ")
    )
    .hint("copy the folder `plugins` that comes with the program to its side, or run `cargo xtask plugins` in the repository")
}

/// Returns the folders in which the plugins are, relative to the program's: of the image, of a build, beside
/// it.
fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let above = beside.and_then(Path::parent);
    let own = [
        above.map(|folder| folder.join("share/leadhost/plugins")),
        above.map(|folder| folder.join("plugins")),
        beside.map(|folder| folder.join("plugins")),
    ];
    let mut folders: Vec<PathBuf> = own.into_iter().flatten().collect();
    let shared = PathBuf::from(SHARED);
    if !folders.contains(&shared) {
        folders.push(shared);
    }
    folders
}
