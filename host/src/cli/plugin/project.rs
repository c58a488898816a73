//! The file of a project that says what it was made from and how it is built. `leadhost plugin new`
//! writes it, and its commands are the author's to change.

use std::path::Path;

use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};

use super::language::Language;
use super::template;
use crate::cli::failure::CommandFailure;
use crate::domain::plugin::PluginKind;
use crate::domain::text::quoted;

/// The name of the file, in the project's folder.
pub const PROJECT_FILE: &str = "leadhost.lock";

const HEAD: &str = "# Written by `leadhost plugin new`: the origin of this project. Keep it with the sources.\n# `leadhost plugin dev` runs the commands of `setup` before the first build, and again when a file of\n# `setup_from` has changed; those of `build` make build/plugin.wasm.\n";

/// The content of the file.
#[derive(Debug, Deserialize, Serialize)]
pub struct ProjectFile {
    pub name: String,
    pub kind: PluginKind,
    #[serde(default)]
    pub language: String,
    #[serde(default)]
    pub contract: String,
    /// The version of the program that wrote the project.
    #[serde(default)]
    pub template: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup_from: Vec<String>,
    #[serde(default)]
    pub build: Vec<String>,
}

impl ProjectFile {
    /// Returns the text of the file.
    pub fn text(&self) -> String {
        let fields = toml::to_string(self).expect("texts and lists of texts are TOML");
        format!("{HEAD}{fields}")
    }

    /// Returns the language, if it is one of the templates.
    pub fn language(&self) -> Option<Language> {
        Language::from_str(&self.language, false).ok()
    }
}

/// Reads the file of the project in a folder. A file without commands gets those of its template.
///
/// # Errors
///
/// [`CommandFailure`] if the folder is no project, the file cannot be read, or nothing says how the
/// project is built.
pub fn read(folder: &Path) -> Result<ProjectFile, CommandFailure> {
    let file = folder.join(PROJECT_FILE);
    let shown = file.display();
    if !folder.is_dir() {
        let what = match folder.exists() {
            true => "is a file, and not the folder of a project",
            false => "does not exist",
        };
        return Err(CommandFailure::new(format!("{} {what}", folder.display())).hint(NEW));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CommandFailure::new(format!(
            "{} is not the project of a plugin: it has no {PROJECT_FILE}",
            folder.display()
        ))
        .hint(format!(
            "{NEW}. In a project of your own, write {} with name = \"NAME\", kind = \"converter\" or \"adapter\", and build = [\"COMMAND\"], which makes build/plugin.wasm",
            quoted(&file.to_string_lossy())
        )),
        _ => CommandFailure::new(format!("cannot read {shown}: {error}")),
    })?;
    let mut project: ProjectFile = toml::from_str(&text).map_err(|error| {
        CommandFailure::new(format!("{shown} is not the file of a project: {error}"))
    })?;
    if project.build.is_empty() {
        let language = project.language();
        let made =
            language.map(|language| template::project(language, project.kind, &project.name));
        let made = made.ok_or_else(|| {
            CommandFailure::new(format!("{shown} does not say how the project is built"))
                .hint("add build = [\"COMMAND\"], which makes build/plugin.wasm")
        })?;
        (project.setup, project.setup_from) = (made.setup, made.setup_from);
        project.build = made.build;
    }
    Ok(project)
}

/// The hint for a folder that is no project.
const NEW: &str = "`leadhost plugin new NAME --lang LANGUAGE` makes a project";

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<ProjectFile, String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(PROJECT_FILE), text).expect("a file");
        read(folder.path()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_is_written_is_read() {
        let project = ProjectFile {
            name: "ana-form".to_owned(),
            kind: PluginKind::Converter,
            language: "typescript".to_owned(),
            contract: "leadhost:converter@1.0.0".to_owned(),
            template: "0.1.0".to_owned(),
            setup: vec!["npm ci".to_owned()],
            setup_from: vec!["package-lock.json".to_owned()],
            build: vec!["npm run build -- \"a b\"".to_owned()],
        };
        let read = read_text(&project.text()).expect("it is a project");
        assert_eq!(format!("{read:?}"), format!("{project:?}"));
        assert_eq!(read.language(), Some(Language::Typescript));
    }

    #[test]
    fn a_file_without_commands_gets_those_of_its_template() {
        let text = "name = \"ana-form\"\nkind = \"converter\"\nlanguage = \"rust\"\n";
        let project = read_text(text).expect("it is a project");
        assert!(project.build[0].starts_with("cargo build"), "{project:?}");
        assert!(project.build.iter().any(|line| line.contains("ana_form")));
    }

    #[test]
    fn what_is_no_project_is_refused_with_what_makes_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |path: &Path| {
            let refused = read(path);
            refused.expect_err("it is no project").to_string()
        };
        for (path, says) in [("", "has no leadhost.lock"), ("none", "does not exist")] {
            let said = refused(&folder.path().join(path));
            assert!(said.contains(says), "{said}");
            assert!(said.contains("leadhost plugin new"), "{said}");
        }
        let said = read_text("name = \"x\"\nkind = \"converter\"\n").expect_err("no build");
        assert!(said.contains("build = "), "{said}");
        let said = read_text("name = 7").expect_err("no project");
        assert!(said.contains("leadhost.lock"), "{said}");
    }
}
