//! The file of a project that says what it was made from and how it is built. `leadhost plugin new`
//! writes it, and its commands are the author's to change. What it says of the plugin has to be true: the
//! file of another project would build, set up and publish that one.

use clap::ValueEnum as _;

use super::language::Language;
use super::template;
use crate::cli::prelude::*;
use leadhost_plugin::{Loaded, contracts, rules};

/// The name of the file, in the project's folder.
pub const PROJECT_FILE: &str = "leadhost.toml";

/// Its name in projects that were made before.
const FORMER_FILE: &str = "leadhost.lock";

const HEAD: &str = "# Written by `leadhost plugin new`: what this project is, and how it is built.\n# `leadhost plugin dev` runs the commands of `setup` before the first build, and again when a file of\n# `setup_from` has changed; the commands of `build` make build/plugin.wasm,\n# and the findings of `check` are shown beside it.\n";

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
    /// Commands whose findings are shown beside a build, such as a type checker's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
}

impl ProjectFile {
    pub fn text(&self) -> String {
        let fields = toml::to_string(self).expect("texts and lists of texts are TOML");
        format!("{HEAD}{fields}")
    }

    pub fn language(&self) -> Option<Language> {
        Language::from_str(&self.language, false).ok()
    }

    /// Refuses values that cannot be true of the project in this folder, before it is built.
    fn check(&self, folder: &Path) -> CommandResult {
        rules::name(&self.name).map_err(|why| {
            let file = folder.join(PROJECT_FILE);
            let why = format!("{}: `name` cannot be {why}", file.display());
            CommandFailure::new(safe(&why)).hint(format!(
                "write the name that the plugin returns from `describe`; {RESTORE}"
            ))
        })?;
        if self.contract.is_empty() {
            return Ok(());
        }
        let offered = contracts().find(|one| PluginKind::from_contract(one) == Some(self.kind));
        let kind = PluginKind::from_contract(&self.contract);
        if kind != Some(self.kind) || !contracts().any(|one| one == self.contract) {
            let should = offered.unwrap_or_default();
            let of = self.kind.with_article();
            return Err(wrong(folder, "contract", &self.contract, should, of));
        }
        Ok(())
    }
}

pub fn is_project(path: &Path) -> bool {
    path.join(PROJECT_FILE).is_file()
}

/// Compares what the file of the project says with the plugin that was built. `path`: the folder of the
/// project; a file, and a folder without the file, agree with any plugin.
pub fn check_built(path: &Path, loaded: &Loaded) -> CommandResult {
    let name = &loaded.description.name;
    check_described(path, loaded.kind, &loaded.contract, name)
}

pub fn check_described(path: &Path, kind: PluginKind, contract: &str, name: &str) -> CommandResult {
    if !is_project(path) {
        return Ok(());
    }
    let project = read(path)?;
    let of = "the plugin that the project builds";
    // The kind first: another kind has another contract.
    for (key, says, is) in [
        ("kind", project.kind.as_str(), kind.as_str()),
        ("contract", &*project.contract, contract),
        ("name", &*project.name, name),
    ] {
        let is_left_out = key == "contract" && says.is_empty();
        if says != is && !is_left_out {
            return Err(wrong(path, key, says, is, of));
        }
    }
    Ok(())
}

fn wrong(folder: &Path, key: &str, says: &str, should: &str, of: &str) -> CommandFailure {
    failed_line!(
        "{}: `{key}` is {says:?}, but {of} has {should:?}",
        folder.join(PROJECT_FILE).display(),
    )
    .hint(safe(&format!(
        "if the plugin is right, write {key} = {should:?} there; {RESTORE}"
    )))
}

/// The hint for a file that may be another project's.
const RESTORE: &str = "if the file belongs to another project, restore it from your version control, or from a new project of `leadhost plugin new`";

/// Reads the file of the project in a folder. A file without commands gets its template's.
pub fn read(folder: &Path) -> CommandResult<ProjectFile> {
    let file = folder.join(PROJECT_FILE);
    let shown = file.display();
    if !folder.is_dir() {
        let what = if folder.exists() {
            "is a file, and not the folder of a project"
        } else {
            "does not exist"
        };
        return Err(failed!("{} {what}", folder.display()).hint(NEW));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if folder.join(FORMER_FILE).is_file() => failed!(
            "{} is now {PROJECT_FILE}",
            folder.join(FORMER_FILE).display()
        )
        .hint("rename it"),
        std::io::ErrorKind::NotFound => failed!(
            "{} is not the project of a plugin: it has no {PROJECT_FILE}",
            folder.display()
        )
        .hint(format!(
            "{NEW}. In a project of your own, write {} with name = \"NAME\", kind = \"converter\" or \"adapter\", and build = [\"COMMAND\"], which makes build/plugin.wasm",
            quoted(&file.to_string_lossy())
        )),
        _ => failed!("cannot read {shown}: {error}"),
    })?;
    let mut project: ProjectFile = toml::from_str(&text)
        .map_err(|error| failed!("{shown} is not the file of a project: {error}"))?;
    project.check(folder)?;
    if project.build.is_empty() {
        let language = project.language();
        let made =
            language.map(|language| template::project(language, project.kind, &project.name));
        let made = made.ok_or_else(|| {
            failed!("{shown} does not say how the project is built")
                .hint("add build = [\"COMMAND\"], which makes build/plugin.wasm")
        })?;
        (project.setup, project.setup_from) = (made.setup, made.setup_from);
        (project.build, project.check) = (made.build, made.check);
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
    fn a_written_project_file_is_read_back() {
        let project = ProjectFile {
            name: "ana-form".to_owned(),
            kind: PluginKind::Converter,
            language: "typescript".to_owned(),
            contract: "leadhost:converter@1.0.0".to_owned(),
            template: "0.1.0".to_owned(),
            setup: vec!["npm ci".to_owned()],
            setup_from: vec!["package-lock.json".to_owned()],
            build: vec!["npm run build -- \"a b\"".to_owned()],
            check: vec!["npm run check".to_owned()],
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
    fn a_folder_without_a_project_is_refused_with_the_command_that_makes_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |path: &Path| {
            let refused = read(path);
            refused.expect_err("it is no project").to_string()
        };
        for (path, says) in [("", "has no leadhost.toml"), ("none", "does not exist")] {
            let said = refused(&folder.path().join(path));
            assert!(said.contains(says), "{said}");
            assert!(said.contains("leadhost plugin new"), "{said}");
        }
        let said = read_text("name = \"x\"\nkind = \"converter\"\n").expect_err("no build");
        assert!(said.contains("build = "), "{said}");
        let said = read_text("name = 7").expect_err("no project");
        assert!(said.contains("leadhost.toml"), "{said}");
    }

    #[test]
    fn a_value_of_another_project_is_refused_with_both_values() {
        let file = |name: &str, kind: &str, contract: &str| {
            let text = format!("name = {name:?}\nkind = {kind:?}\nbuild = [\"make\"]\n");
            match contract {
                "" => text,
                contract => format!("{text}contract = {contract:?}\n"),
            }
        };
        let check = |text: &str, parts: &[&str]| {
            let said = read_text(text).expect_err("it is refused");
            for part in [&["leadhost.toml: "], parts].concat() {
                assert!(said.contains(part), "{part}: {said}");
            }
        };
        let (converter, adapter) = ("leadhost:converter@1.0.0", "leadhost:adapter@1.0.0");
        read_text(&file("ana", "converter", converter)).expect("it fits");
        read_text(&file("ana", "adapter", adapter)).expect("it fits");
        read_text(&file("ana", "adapter", "")).expect("it may be left out");
        let said = ["`contract` is \"leadhost:adapter@1.0.0\"", converter];
        check(&file("ana", "converter", adapter), &said);
        let unknown = "leadhost:converter@9.0.0";
        check(&file("ana", "converter", unknown), &[unknown, converter]);
        check(
            &file("Ana Form", "converter", converter),
            &["`name` cannot be the name \"Ana Form\""],
        );
    }
}
