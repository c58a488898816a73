//! The commands that precede the first build, such as the installation of packages. They run again when
//! they or a file that they read have changed, or a folder that existed when they ended is missing, such as
//! `node_modules`. A file beside the built component records that.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::cli::plugin::project::ProjectFile;
use crate::cli::plugin::stale::is_built;
use leadhost_domain::hex;

/// The record of the last setup: its state, then the folders, each on a line. The folder is not kept with
/// the sources.
const RECORD: &str = "build/setup";

/// The folder of the record and of what is built.
const BUILD: &str = "build";

pub struct NeededSetup(String);

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
    let mut lines = last.lines();
    let is_made = lines.next() == Some(state.as_str());
    let is_whole = lines.all(|name| folder.join(name).is_dir());
    (!is_made || !is_whole).then_some(NeededSetup(state))
}

impl NeededSetup {
    /// Removes the record of the last setup: this one may be interrupted.
    pub fn begin(&self, folder: &Path) {
        let _ = std::fs::remove_file(folder.join(RECORD));
    }

    /// Records that it was made. If that fails, it is made again.
    pub fn done(self, folder: &Path) {
        let file = folder.join(RECORD);
        if let Some(parent) = file.parent() {
            let _ = std::fs::create_dir_all(parent);
        }
        let mut lines = vec![self.0];
        lines.extend(made_folders(folder));
        let _ = std::fs::write(file, lines.join("\n"));
    }
}

/// Returns the folders in a project's folder that are not its sources: a setup made them.
fn made_folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| is_built(name) && name != BUILD && !name.contains('\n'))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::plugin::PluginKind;

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
            check: vec![],
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
        // Packages that are gone are installed again.
        let packages = folder.path().join("node_modules");
        project.setup.push("npm prune".to_owned());
        std::fs::create_dir(&packages).expect("a folder");
        assert!(made(&project) && !made(&project));
        std::fs::remove_dir(&packages).expect("it is removed");
        assert!(made(&project) && !made(&project));
        // So are the packages of a setup that was interrupted.
        assert!(needed(folder.path(), &project).is_none());
        NeededSetup(String::new()).begin(folder.path());
        assert!(made(&project) && !made(&project));
        project.setup.clear();
        assert!(!made(&project));
    }
}
