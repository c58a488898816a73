//! The templates of plugins. They are in the program: the folders of `host/templates/plugin`, one for
//! each language, and `<language>-adapter` for adapters. The manifest `template.toml` of a template names
//! the files with another name in the project, the files of the repository that the project gets, the
//! package of the SDK, and the commands that set it up and build it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use sha2::{Digest as _, Sha256};

use super::language::Language;
use super::package::{self, PackageFiles};
use leadhost_domain::hex;
use leadhost_domain::plugin::PluginKind;
use leadhost_plugin as plugin;

/// The files of all templates, and the repository's files that projects get.
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
    /// The commands whose findings are shown beside a build.
    pub check: Vec<String>,
    /// Package and version of its contract, such as `leadhost:converter@1.0.0`.
    pub contract: &'static str,
    /// The file that a person changes.
    pub source: String,
    /// The files of the SDK, which are among the files.
    pub sdk: BTreeMap<String, Vec<u8>>,
    /// The files that name the package of the SDK, with its version or its hash.
    pub locks: Vec<String>,
}

#[derive(Deserialize)]
struct Manifest {
    source: String,
    toolchain: Vec<String>,
    #[serde(default)]
    setup: Vec<String>,
    #[serde(default)]
    setup_from: Vec<String>,
    build: Vec<String>,
    #[serde(default)]
    check: Vec<String>,
    /// Files of the template with another name in the project.
    #[serde(default)]
    file: Vec<Placement>,
    /// Files and folders of the repository.
    #[serde(default)]
    copy: Vec<Placement>,
    /// The file that says what the package of the SDK is made of.
    sdk: String,
    /// The files that name this package.
    locks: Vec<String>,
}

/// The package of an SDK: its place in a project, whose ending says in which format, and its files by their
/// paths in it.
#[derive(Deserialize)]
struct Package {
    to: String,
    files: BTreeMap<String, String>,
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
    let manifest: Manifest = read(manifest.expect("every language has a template of each kind"));
    let names = ProjectNames::new(name);
    let mut files = BTreeMap::new();
    for (path, content) in own {
        if path == MANIFEST {
            continue;
        }
        let placed = manifest.file.iter().find(|file| file.from == path);
        let target = placed.map_or(path, |file| file.to.as_str());
        files.insert(names.fill(target), names.fill_text(content));
    }
    for placement in &manifest.copy {
        copy(&placement.from, &placement.to, &mut files);
    }
    let sdk = sdk(&manifest.sdk, &mut files);
    files.extend(sdk.clone());
    NewProject {
        files,
        toolchain: manifest.toolchain,
        setup: manifest.setup.iter().map(|line| names.fill(line)).collect(),
        setup_from: manifest.setup_from,
        build: manifest.build.iter().map(|line| names.fill(line)).collect(),
        check: manifest.check,
        contract: contract(kind),
        source: names.fill(&manifest.source),
        sdk,
        locks: manifest.locks,
    }
}

fn read<T: DeserializeOwned>(manifest: &[u8]) -> T {
    let text = std::str::from_utf8(manifest).expect("a test reads every manifest");
    toml::from_str(text).expect("a test reads every manifest")
}

/// Copies a file or a folder of the repository.
fn copy(from: &str, to: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for (path, content) in &embedded::BORROWED {
        let Some(rest) = path.strip_prefix(from) else {
            continue;
        };
        if rest.is_empty() || rest.starts_with('/') {
            files.insert(format!("{to}{rest}"), content.to_vec());
        }
    }
}

/// Returns the files of an SDK in a project. Those that name its package get its hash.
fn sdk(description: &str, files: &mut BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let found = embedded::BORROWED
        .iter()
        .find(|(path, _)| *path == description);
    let (_, text) = found.expect("a test packs every SDK");
    let package: Package = read(text);
    let mut content = PackageFiles::new();
    for (to, from) in &package.files {
        copy(from, to, &mut content);
    }
    let packed = match package.to.rsplit_once('.') {
        Some((_, "whl")) => package::wheel(&content),
        Some((_, "tgz")) => package::tgz(&content),
        _ => {
            let placed = content.into_iter();
            let placed = placed.map(|(path, content)| (format!("{}/{path}", package.to), content));
            return placed.collect();
        }
    };
    let packed = packed.expect("a test packs every SDK");
    let hashes = [
        ("{{sdk_integrity}}", package::integrity(&packed)),
        ("{{sdk_sha256}}", hex::encode(&Sha256::digest(&packed))),
    ];
    for file in files.values_mut() {
        for (placeholder, hash) in &hashes {
            let text = std::str::from_utf8(file).ok();
            if let Some(text) = text.filter(|text| text.contains(placeholder)) {
                *file = text.replace(placeholder, hash).into_bytes();
            }
        }
    }
    BTreeMap::from([(package.to, packed)])
}

fn contract(kind: PluginKind) -> &'static str {
    plugin::contracts()
        .find(|contract| PluginKind::from_contract(contract) == Some(kind))
        .expect("the host offers a contract for every kind")
}

/// The steps of a continuous integration that install the program.
const INSTALL_LEADHOST: &str = include_str!("../../../templates/install-leadhost.yml");

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
        text.replace("      # {{install_leadhost}}\n", INSTALL_LEADHOST)
            .replace("{{name}}", self.name)
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
    use clap::ValueEnum as _;

    use super::*;

    /// Whether a file is not of the SDK.
    fn is_own(path: &str) -> bool {
        !path.starts_with("vendor/") && !path.starts_with("sdk/")
    }

    fn projects() -> Vec<(Language, PluginKind, NewProject)> {
        let kinds = [PluginKind::Converter, PluginKind::Adapter];
        let languages = Language::value_variants().iter();
        let all = languages.flat_map(|language| kinds.map(|kind| (*language, kind)));
        all.map(|(language, kind)| (language, kind, project(language, kind, "ana-form")))
            .collect()
    }

    #[test]
    fn a_project_has_at_most_twelve_files_beside_its_packages() {
        for (language, kind, project) in projects() {
            for file in [
                ".gitignore",
                "README.md",
                ".github/workflows/ci.yml",
                &project.source,
            ] {
                let files = &project.files;
                assert!(files.contains_key(file), "{language:?} {kind:?}: {file}");
            }
            // Those of a converter are made of its sample, and the file of the project is written.
            let own = project.files.keys().filter(|path| is_own(path));
            let others = if kind == PluginKind::Converter { 5 } else { 1 };
            assert!(own.count() + others <= 12, "{language:?} {kind:?}");
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
        for (language, kind, project) in projects() {
            let filled = project.files.iter().filter(|(path, _)| is_own(path));
            let texts = filled.map(|(path, content)| {
                let text = String::from_utf8_lossy(content);
                (path.clone(), format!("{path}\n{text}"))
            });
            let build = project
                .build
                .iter()
                .map(|line| ("build".to_owned(), line.clone()));
            for (path, text) in texts.chain(build) {
                for left in ["{{name", "{{Name", "{{install", "{{sdk"] {
                    assert!(!text.contains(left), "{language:?} {kind:?}: {path}");
                }
            }
        }
    }

    #[test]
    fn every_line_of_a_manifest_names_a_file() {
        for (path, content) in &embedded::TEMPLATES {
            let Some(folder) = path.strip_suffix(MANIFEST) else {
                continue;
            };
            let manifest: Manifest = read(content);
            for Placement { from, .. } in &manifest.file {
                let wanted = format!("{folder}{from}");
                let mut files = embedded::TEMPLATES.iter();
                assert!(files.any(|(file, _)| *file == wanted), "{path}: {from}");
            }
            let copied = manifest.copy.iter().map(|one| (one.from.clone(), path));
            let (_, sdk) = embedded::BORROWED
                .iter()
                .find(|(path, _)| *path == manifest.sdk)
                .expect("the SDK");
            let package: Package = read(sdk);
            let packed = package.files.into_values().map(|from| (from, path));
            for (from, path) in copied.chain(packed) {
                let mut files = BTreeMap::new();
                copy(&from, "", &mut files);
                assert!(!files.is_empty(), "{path}: {from}");
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
