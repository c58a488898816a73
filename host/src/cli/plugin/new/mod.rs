mod sample;
mod source;

use clap::ValueEnum;

use self::sample::Sample;
use super::language::{Language, LanguageParser};
use super::project::{PROJECT_FILE, ProjectFile};
use super::template::{self, NewProject};
use crate::cli::prelude::*;
use crate::cli::recipe::{self, Expression, Recipe};
use leadhost_plugin::rules;

/// The file that names the packages of a project in Rust.
const LOCK_OF_CARGO: &str = "Cargo.lock";

/// The command that follows when the golden cases have been reviewed.
const PUBLISH: &str = "leadhost plugin publish . --to https://HOST --admin-key KEY";

#[derive(Args)]
pub struct New {
    /// The name of the plugin and of its folder: lower-case letters, digits and hyphens
    name: String,
    /// The language
    #[arg(long, value_name = "LANGUAGE", value_parser = LanguageParser)]
    lang: Language,
    /// What the plugin is
    #[arg(long, default_value = "converter")]
    kind: KindChoice,
    /// A body that your source sends (JSON, XML, a form): the source names what is in it, and it is the first golden case of a converter
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// Keep the personal data and the credentials of the sample as they are, and mask nothing
    #[arg(long, requires = "sample")]
    raw: bool,
    /// The folder of the project [default: its name, in the current folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindChoice {
    /// Turns the deliveries of a source into leads
    Converter,
    /// Sends and receives messages of a channel
    Adapter,
}

impl KindChoice {
    fn kind(self) -> PluginKind {
        match self {
            Self::Converter => PluginKind::Converter,
            Self::Adapter => PluginKind::Adapter,
        }
    }
}

impl New {
    pub fn run(self) -> CommandResult {
        check_name(&self.name)?;
        self.refuse_sample_of_adapter()?;
        let mut project = template::project(self.lang, self.kind.kind(), &self.name);
        refuse_name_of_package(&self.name, &project)?;
        let (example, found) = match self.kind {
            KindChoice::Converter => {
                let sample = Sample::read(self.sample.as_deref(), self.raw)?;
                write_converter(&mut project, &sample.recipe, self.lang);
                project.files.extend(sample.files);
                (Some(sample.body), Some(sample.recipe))
            }
            // Its calls need a configuration: the golden cases have one.
            KindChoice::Adapter => (None, None),
        };
        let file = self.project_file(&project).text().into_bytes();
        project.files.insert(PROJECT_FILE.to_owned(), file);
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => PathBuf::from(&self.name),
        };
        refuse_content(&folder)?;
        write(&folder, &project)?;
        let has_lead = found
            .as_ref()
            .is_some_and(|recipe| recipe.no_lead.is_none());
        self.say_next(&folder, &project, example.as_deref(), has_lead);
        if let Some(recipe) = found {
            complain_of(&recipe, &folder.join(&project.source));
        }
        Ok(())
    }

    fn refuse_sample_of_adapter(&self) -> CommandResult {
        match (self.kind, &self.sample) {
            (KindChoice::Adapter, Some(_)) => Err(CommandFailure::usage(
                "an adapter takes no --sample: a sample is the delivery of a source, and an adapter has golden cases of sends, answers and webhooks",
            )
            .hint("start without --sample, and put bodies of your provider into the cases in golden/")),
            _ => Ok(()),
        }
    }

    fn project_file(&self, project: &NewProject) -> ProjectFile {
        ProjectFile {
            name: self.name.clone(),
            kind: self.kind.kind(),
            language: self.lang.word().to_owned(),
            contract: project.contract.to_owned(),
            template: env!("CARGO_PKG_VERSION").to_owned(),
            setup: project.setup.clone(),
            setup_from: project.setup_from.clone(),
            build: project.build.clone(),
            check: project.check.clone(),
        }
    }

    fn say_next(&self, folder: &Path, project: &NewProject, example: Option<&str>, has_lead: bool) {
        let commands = project.setup.iter().chain(&project.build);
        let build: String = commands.map(|line| format!("\n  {line}")).collect();
        let run = example.map_or_else(String::new, |body| {
            format!("\n  leadhost plugin run . {body}")
        });
        let names = if has_lead {
            format!("{} names what was found in the sample. ", project.source)
        } else {
            String::new()
        };
        let review = match (&self.sample, self.raw) {
            (None, _) => String::new(),
            (Some(_), true) => format!(
                "\n{names}The sample is as it was: if its persons are real, or it has credentials, do not share the project.\n"
            ),
            (Some(_), false) => format!(
                "\n{names}The persons in the sample are masked, and credentials with usual names; read its body, and the names of questions in the source, before you share the project: a text may name persons or have credentials in a way that the command cannot detect.\n"
            ),
        };
        say!(
            "Wrote {} in {} to {}. It needs {}; `leadhost plugin doctor` shows what is missing. To try each change at once:\n\n  leadhost plugin dev {}\n\nOr step by step:\n\n  cd {}{build}\n  leadhost plugin test .{run}\n{review}\n  {PUBLISH}",
            self.kind.kind().with_article(),
            self.lang.title(),
            folder.display(),
            project.toolchain.join(", "),
            quoted(&folder.to_string_lossy()),
            quoted(&folder.to_string_lossy()),
        );
    }
}

/// Fills the source of a converter with the places of the recipe.
fn write_converter(project: &mut NewProject, recipe: &Recipe, language: Language) {
    let written = source::write(recipe, language);
    if let Some(source) = project.files.get_mut(&project.source) {
        let text = String::from_utf8_lossy(source);
        let text = text.replace("{{items}}", &written.items);
        let text = text.replace("{{body}}", written.body);
        *source = text.replace("{{lead}}", &written.lead).into_bytes();
    }
}

/// Says what a person has to write, because the sample did not show it.
fn complain_of(recipe: &Recipe, source: &Path) {
    let is_unknown = |line: &&recipe::Line| matches!(line.value, Expression::Unknown(_));
    let unknown = recipe.lines.iter().filter(is_unknown).count();
    let source = source.display();
    match &recipe.no_lead {
        Some(why) => complain!(
            "No lead was found in the sample. The mapping converter says: {}. Write the paths of its values into {source}.",
            safe(why)
        ),
        None if unknown > 0 => complain!(
            "{unknown} of the values that the sample has are put together from several places: the comments in {source} name them."
        ),
        None => {}
    }
}

/// The service takes names that begin with a digit or a hyphen; the toolchains name packages after
/// the plugin, and do not.
fn check_name(name: &str) -> CommandResult {
    let refused = |what: String| CommandFailure::usage(format!("NAME: {what}"));
    rules::name(name).map_err(refused)?;
    if name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(refused(format!(
        "the name {name:?}; the name of a project begins with a letter"
    )))
}

/// Refuses a name that a package has which the project depends on: Cargo distinguishes packages by their
/// names.
fn refuse_name_of_package(name: &str, project: &NewProject) -> CommandResult {
    let lock = project.files.get(LOCK_OF_CARGO);
    let lock = lock.map(|content| String::from_utf8_lossy(content));
    let packages = lock.iter().flat_map(|text| text.lines()).filter(|line| {
        let package = line.strip_prefix("name = \"");
        let package = package.and_then(|rest| rest.strip_suffix('"'));
        package.is_some_and(|package| package.replace('_', "-") == name)
    });
    // The project itself is one.
    if packages.count() < 2 {
        return Ok(());
    }
    Err(CommandFailure::usage(format!(
        "NAME: a project in Rust cannot have the name {name:?}: a package on which it depends has it"
    ))
    .hint(format!("choose another name, such as {name}-form")))
}

fn refuse_content(folder: &Path) -> CommandResult {
    let refused = |what: String| {
        failed!("{} {what}", folder.display()).hint("name another folder with --dir")
    };
    match std::fs::read_dir(folder).map(Iterator::count) {
        Ok(0) => Ok(()),
        Ok(_) => Err(refused("already exists and is not empty".to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(refused("already exists and is a file".to_owned()))
        }
        Err(error) => Err(refused(format!("cannot be read: {error}"))),
    }
}

fn write(folder: &Path, project: &NewProject) -> CommandResult {
    for (path, content) in &project.files {
        let file = folder.join(path);
        let parent = file.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&file, content))
            .map_err(|error| {
                failed!("cannot write {}: {error}", file.display()).hint(format!(
                    "the project in {} is not complete: remove it, and try again",
                    folder.display()
                ))
            })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_the_service_and_the_toolchains_take() {
        for name in ["ana", "ana-form-2", "a"] {
            check_name(name).expect("it is a name");
        }
        for name in ["", "Ana", "ana form", "ana_form", "2ana", "-ana", "../ana"] {
            let said = check_name(name).expect_err("it is none");
            assert_eq!(said.code(), 2, "{name}");
        }
    }

    #[test]
    fn each_item_of_a_new_converter_fails_alone_in_every_language() {
        for (language, guard) in [
            (Language::Rust, "-> Result<Lead, Problem>"),
            (Language::Typescript, "readEach(list(body, "),
            (Language::Python, "sdk.read_each(sdk.list_(body, "),
            (Language::Go, "leadhost.ReadEach(body.List("),
        ] {
            let mut project = template::project(language, PluginKind::Converter, "ana");
            let recipe = Recipe {
                leads: "leads".to_owned(),
                ..Recipe::default()
            };
            write_converter(&mut project, &recipe, language);
            let source = String::from_utf8_lossy(&project.files[&project.source]);
            assert!(source.contains(guard), "{source}");
        }
    }

    #[test]
    fn the_name_of_a_package_is_refused_where_the_project_depends_on_it() {
        let check = |language, name| {
            let project = template::project(language, PluginKind::Converter, name);
            refuse_name_of_package(name, &project)
        };
        for name in ["serde", "serde-json", "leadhost-sdk"] {
            let said = check(Language::Rust, name).expect_err("it is taken");
            assert_eq!(said.code(), 2, "{name}");
            assert!(said.to_string().contains(&format!("such as {name}-form")));
        }
        check(Language::Rust, "ana-form").expect("it is free");
        check(Language::Go, "serde").expect("it is free");
    }
}
