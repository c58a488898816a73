//! The templates of plugins. They are in the program: the folders of `host/templates/plugin`, one for
//! each language, and `<language>-adapter` for adapters. The manifest `template.toml` of a template names
//! the files with another name in the project, the files of the repository that the project gets, and
//! the commands that set it up and build it. Files that several templates share are in
//! `host/templates/shared`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::language::Language;
use leadhost_domain::plugin::PluginKind;
use leadhost_plugin as plugin;

/// The files of all templates, and those of the repository that projects get.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/templates.rs"));
}

const MANIFEST: &str = "template.toml";

#[derive(Debug)]
pub struct NewProject {
    /// The contents by the paths in the project's folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The programs that its build needs, in words.
    pub toolchain: Vec<String>,
    /// The commands that precede the first build, in its folder.
    pub setup: Vec<String>,
    /// The files after whose change the setup is made again.
    pub setup_from: Vec<String>,
    /// The commands that build it, in its folder.
    pub build: Vec<String>,
    /// Package and version of its contract, such as `leadhost:converter@1.0.0`.
    pub contract: &'static str,
}

#[derive(Deserialize)]
struct Manifest {
    toolchain: Vec<String>,
    #[serde(default)]
    setup: Vec<String>,
    #[serde(default)]
    setup_from: Vec<String>,
    build: Vec<String>,
    /// Files of the template with another name in the project.
    #[serde(default)]
    file: Vec<Placement>,
    /// Files and folders of the repository.
    #[serde(default)]
    copy: Vec<Placement>,
}

#[derive(Deserialize)]
struct Placement {
    from: String,
    to: String,
}

pub fn project(language: Language, kind: PluginKind, name: &str) -> NewProject {
    let folder = match kind {
        PluginKind::Converter => format!("{}/", language.word()),
        PluginKind::Adapter => format!("{}-adapter/", language.word()),
    };
    let own: BTreeMap<&str, &[u8]> = embedded::TEMPLATES
        .iter()
        .filter_map(|(path, content)| Some((path.strip_prefix(&folder)?, *content)))
        .collect();
    let manifest = own.get(MANIFEST);
    let manifest = read(manifest.expect("every language has a template of each kind"));
    let names = ProjectNames::new(name);
    let mut files = BTreeMap::new();
    for (path, content) in own {
        if path == MANIFEST {
            continue;
        }
        let placed = manifest.file.iter().find(|file| file.from == path);
        let target = placed.map_or(path, |file| file.to.as_str());
        // Generated code speaks of the placeholders of messages.
        let content = match target.starts_with("bindings/") {
            true => content.to_vec(),
            false => names.fill_text(content),
        };
        files.insert(names.fill(target), content);
    }
    for placement in &manifest.copy {
        copy(placement, &mut files);
    }
    let contract = contract(kind);
    let (file, content) = frozen(contract);
    files.insert(format!("wit/{file}"), content.to_vec());
    NewProject {
        files,
        toolchain: manifest.toolchain,
        setup: manifest.setup.iter().map(|line| names.fill(line)).collect(),
        setup_from: manifest.setup_from,
        build: manifest.build.iter().map(|line| names.fill(line)).collect(),
        contract,
    }
}

fn read(manifest: &[u8]) -> Manifest {
    let text = std::str::from_utf8(manifest).expect("a test reads every manifest");
    toml::from_str(text).expect("a test reads every manifest")
}

fn copy(placement: &Placement, files: &mut BTreeMap<String, Vec<u8>>) {
    for (path, content) in &embedded::BORROWED {
        let Some(rest) = path.strip_prefix(&placement.from) else {
            continue;
        };
        if rest.is_empty() || rest.starts_with('/') {
            files.insert(format!("{}{rest}", placement.to), content.to_vec());
        }
    }
}

fn contract(kind: PluginKind) -> &'static str {
    plugin::contracts()
        .find(|contract| PluginKind::from_contract(contract) == Some(kind))
        .expect("the host offers a contract for every kind")
}

/// Returns the published file of a contract: its name and its content.
fn frozen(contract: &str) -> (String, &'static [u8]) {
    let name = contract.replace([':', '@'], "-");
    let path = format!("wit/published/{name}.wit");
    let found = embedded::BORROWED.iter().find(|(one, _)| *one == path);
    let (_, content) = found.expect("every contract is published");
    (format!("{name}.wit"), *content)
}

/// The name of a plugin in the spellings that templates use.
struct ProjectNames<'a> {
    name: &'a str,
    snake: String,
    pascal: String,
}

impl<'a> ProjectNames<'a> {
    fn new(name: &'a str) -> Self {
        let words = name.split('-').filter(|word| !word.is_empty());
        let capital = |word: &str| {
            let (first, rest) = word.split_at(1);
            format!("{}{rest}", first.to_ascii_uppercase())
        };
        Self {
            name,
            snake: name.replace('-', "_"),
            pascal: words.map(capital).collect(),
        }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{{name}}", self.name)
            .replace("{{name_snake}}", &self.snake)
            .replace("{{Name}}", &self.pascal)
    }

    /// Fills a text; other bytes stay as they are.
    fn fill_text(&self, content: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(content) {
            Ok(text) => self.fill(text).into_bytes(),
            Err(_) => content.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::ValueEnum as _;

    use super::*;

    fn projects() -> Vec<(Language, PluginKind, NewProject)> {
        let kinds = [PluginKind::Converter, PluginKind::Adapter];
        let languages = Language::value_variants().iter();
        let all = languages.flat_map(|language| kinds.map(|kind| (*language, kind)));
        all.map(|(language, kind)| (language, kind, project(language, kind, "ana-form")))
            .collect()
    }

    fn words_of_the_mapping_converter(list: &str) -> Vec<&'static str> {
        let source = include_str!("../../../../plugins/converter-mapping/src/names.rs");
        let kind = match list {
            "CAMPAIGN" => "&[(&str, &[&str])]",
            _ => "&[&str]",
        };
        let start = format!("pub const {list}: {kind} = &[");
        let (_, rest) = source.split_once(&start).expect("the list");
        let (list, _) = rest.split_once("];").expect("its end");
        list.split('"').skip(1).step_by(2).collect()
    }

    #[test]
    fn every_converter_knows_the_usual_names_of_the_mapping_converter() {
        let lists = [
            "FULL_NAMES",
            "PHONES",
            "EMAILS",
            "IDS",
            "MESSAGES",
            "TIMES",
            "DATES",
            "HOURS",
            "SOURCES",
            "CAMPAIGN",
        ];
        let known: Vec<_> = lists.map(words_of_the_mapping_converter).concat();
        for (language, kind, project) in projects() {
            if kind != PluginKind::Converter {
                continue;
            }
            let texts = project.files.iter().filter_map(|(path, content)| {
                let is_names = path.rsplit('/').next()?.starts_with("names.");
                is_names.then(|| String::from_utf8_lossy(content))
            });
            let texts: String = texts.collect();
            let words: HashSet<&str> = texts.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            for name in &known {
                // The names of campaign data are of several words.
                let mut parts = name.split('-');
                assert!(
                    parts.all(|part| words.contains(part)),
                    "{language:?}: {name}"
                );
            }
        }
    }

    #[test]
    fn every_template_makes_a_project_with_golden_cases_and_its_contract() {
        for (language, kind, project) in projects() {
            let contract = match kind {
                PluginKind::Converter => "wit/leadhost-converter-1.0.0.wit",
                PluginKind::Adapter => "wit/leadhost-adapter-1.0.0.wit",
            };
            for file in [".gitignore", "README.md", contract] {
                let files = &project.files;
                assert!(files.contains_key(file), "{language:?} {kind:?}: {file}");
            }
            let mut files = project.files.keys();
            let is_case =
                |path: &String| path.starts_with("golden/") && path.ends_with("/case.json");
            assert!(files.any(is_case), "{language:?} {kind:?}");
            assert!(
                !project.files.contains_key(MANIFEST),
                "{language:?} {kind:?}"
            );
            assert!(!project.build.is_empty() && !project.toolchain.is_empty());
        }
    }

    /// The sources of the SDK and the contract speak of the placeholders of messages.
    #[test]
    fn no_placeholder_is_left() {
        const COPIED: [&str; 5] = [
            "bindings/",
            "leadhost-sdk/contract/",
            "leadhost-sdk/golden/src/",
            "leadhost-sdk/src/",
            "wit/",
        ];
        for (language, kind, project) in projects() {
            let own = |path: &str| !COPIED.iter().any(|folder| path.starts_with(folder));
            let filled = project.files.iter().filter(|(path, _)| own(path));
            let texts = filled.map(|(path, content)| {
                let text = String::from_utf8_lossy(content);
                (path.clone(), format!("{path}\n{text}"))
            });
            let build = project
                .build
                .iter()
                .map(|line| ("build".to_owned(), line.clone()));
            for (path, text) in texts.chain(build) {
                for left in ["{{name", "{{Name"] {
                    assert!(!text.contains(left), "{language:?} {kind:?}: {path}");
                }
            }
        }
    }

    /// Returns the relative paths that a text in JavaScript or TypeScript imports.
    fn relative_imports(text: &str) -> Vec<&str> {
        let starts = ["from \"", "import \"", "import(\"", "require(\""];
        let after = starts.iter().flat_map(|start| text.split(start).skip(1));
        let paths = after.filter_map(|rest| rest.split('"').next());
        paths.filter(|path| path.starts_with('.')).collect()
    }

    /// Returns the path of an import in a file, from the project's folder.
    fn resolved(file: &str, import: &str) -> String {
        let mut parts: Vec<&str> = file.split('/').collect();
        parts.pop();
        for part in import.split('/') {
            match part {
                "." => {}
                ".." => {
                    parts.pop();
                }
                name => parts.push(name),
            }
        }
        parts.join("/")
    }

    #[test]
    fn every_relative_import_of_javascript_is_a_file_of_the_project() {
        let mut seen = 0;
        for (language, kind, project) in projects() {
            let is_script = |path: &str| {
                let ends = [".js", ".mjs", ".ts"];
                ends.iter().any(|end| path.ends_with(end))
            };
            for (path, content) in project.files.iter().filter(|(path, _)| is_script(path)) {
                let text = String::from_utf8_lossy(content);
                for import in relative_imports(&text) {
                    let target = resolved(path, import);
                    // A file in TypeScript is imported as what it becomes, and the types of a file
                    // may be all that there is of it.
                    let stem = target.strip_suffix(".js").unwrap_or(&target);
                    let forms = [target.clone(), format!("{stem}.ts"), format!("{stem}.d.ts")];
                    let is_there = forms.iter().any(|form| project.files.contains_key(form));
                    assert!(is_there, "{language:?} {kind:?}: {path} imports {import}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn every_line_of_a_manifest_names_a_file() {
        for (path, content) in &embedded::TEMPLATES {
            let Some(folder) = path.strip_suffix(MANIFEST) else {
                continue;
            };
            let manifest = read(content);
            for Placement { from, .. } in &manifest.file {
                let wanted = format!("{folder}{from}");
                let mut files = embedded::TEMPLATES.iter();
                assert!(files.any(|(file, _)| *file == wanted), "{path}: {from}");
            }
            for placement in &manifest.copy {
                let mut files = BTreeMap::new();
                copy(placement, &mut files);
                assert!(!files.is_empty(), "{path}: {}", placement.from);
            }
        }
    }

    #[test]
    fn a_name_is_spelled_as_the_text_asks_and_bytes_stay() {
        let names = ProjectNames::new("ana-form-2");
        assert_eq!(
            names.fill("{{name}} {{name_snake}} {{Name}} {{other}}"),
            "ana-form-2 ana_form_2 AnaForm2 {{other}}"
        );
        assert_eq!(names.fill_text(b"{{name}}\xff"), b"{{name}}\xff");
        assert_eq!(ProjectNames::new("a--").pascal, "A");
    }
}
