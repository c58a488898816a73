//! The commands that precede the first build, such as the installation of packages. They run again when
//! they or a file that they read have changed, which a file beside the built component records.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::cli::plugin::project::ProjectFile;
use crate::domain::hex;

/// The record of the last setup. The folder is not kept with the sources.
const RECORD: &str = "build/setup";

/// A setup that is to be made.
pub struct NeededSetup(String);

/// Returns the setup of the project, unless it was made for the same files.
pub fn needed(folder: &Path, project: &ProjectFile) -> Option<NeededSetup> {
    if project.setup.is_empty() {
        return None;
    }
    let mut hash = Sha256::new();
    for command in &project.setup {
        hash.update(command);
        hash.update([0]);
    }
    for file in &project.setup_from {
        // A missing file is a state like any other.
        let content = std::fs::read(folder.join(file)).unwrap_or_default();
        hash.update(Sha256::digest(content));
    }
    let state = hex::encode(&hash.finalize());
    let last = std::fs::read_to_string(folder.join(RECORD)).unwrap_or_default();
    (last != state).then_some(NeededSetup(state))
}

impl NeededSetup {
    /// Records that it was made. If that fails, it is made again.
    pub fn done(self, folder: &Path) {
        let file = folder.join(RECORD);
        if let Some(parent) = file.parent() {
            let _ = std::fs::create_dir_all(parent);
        }
        let _ = std::fs::write(file, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::plugin::PluginKind;

    #[test]
    fn a_setup_is_made_once_for_the_same_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut project = ProjectFile {
            name: "ana".to_owned(),
            kind: PluginKind::Converter,
            language: String::new(),
            contract: String::new(),
            template: String::new(),
            setup: vec!["npm ci".to_owned()],
            setup_from: vec!["package-lock.json".to_owned()],
            build: vec![],
        };
        let made = |project: &ProjectFile| match needed(folder.path(), project) {
            None => false,
            Some(setup) => {
                setup.done(folder.path());
                true
            }
        };
        assert!(made(&project));
        assert!(!made(&project));
        std::fs::write(folder.path().join("package-lock.json"), "{}").expect("a file");
        assert!(made(&project) && !made(&project));
        project.setup.push("npm rebuild".to_owned());
        assert!(made(&project) && !made(&project));
        project.setup.clear();
        assert!(!made(&project));
    }
}
