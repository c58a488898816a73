use clap::ValueEnum;

use super::body::{BodyFormat, without_mark};
use super::component_file::read_bytes;
use super::language::{Language, LanguageParser};
use super::project::{PROJECT_FILE, ProjectFile};
use super::template::{self, NewProject};
use crate::cli::prelude::*;
use leadhost_domain::delivery::DeliveryBody;
use leadhost_domain::exchange::{Place, ValueLocation};
use leadhost_egress::seal::Secrets;
use leadhost_http::golden_export::without_persons;
use leadhost_pipeline::mask::Mask;
use leadhost_plugin::rules;

const SAMPLE_CASE: &str = "golden/lead";

/// The file that names the packages of a project in Rust.
const LOCK_OF_CARGO: &str = "Cargo.lock";

/// The command that follows when the golden cases have been reviewed.
const PUBLISH: &str = "leadhost plugin publish . --to https://HOST --key KEY";

/// The file of a configuration of a connection or an instance, for `leadhost plugin run`.
const CONFIG: &str = "config.json";

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
    /// A body that your source sends, JSON or a form: the first golden case of a converter is made from it
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
        let example = ExampleRun::find(self.kind.kind(), &mut project);
        if let Some(sample) = &self.sample {
            put_sample(&mut project, sample, self.raw)?;
        }
        let file = self.project_file(&project).text().into_bytes();
        project.files.insert(PROJECT_FILE.to_owned(), file);
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => PathBuf::from(&self.name),
        };
        refuse_content(&folder)?;
        write(&folder, &project)?;
        self.say_next(&folder, &project, example.as_ref());
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
        }
    }

    fn say_next(&self, folder: &Path, project: &NewProject, example: Option<&ExampleRun>) {
        let commands = project.setup.iter().chain(&project.build);
        let build: String = commands.map(|line| format!("\n  {line}")).collect();
        let (write, publish) = match self.sample {
            Some(_) => (
                " --write",
                format!(
                    "Then review {SAMPLE_CASE}/case.json: it has what the plugin made of the sample. {} After that:\n\n  {PUBLISH}",
                    match self.raw {
                        true =>
                            "The sample is as it was: if its persons are real, or it has credentials, do not share the project.",
                        false =>
                            "The persons in the sample are masked, and credentials with usual names; read its body before you share the project: a text may name persons or have credentials in a way that the command cannot detect.",
                    }
                ),
            ),
            None => ("", format!("  {PUBLISH}")),
        };
        let run = example.map_or_else(String::new, |example| {
            format!("\n  leadhost plugin run . {}", example.arguments(project))
        });
        let blank = if self.sample.is_some() { "\n" } else { "" };
        say!(
            "Wrote {} in {} to {}. It needs {}; `leadhost plugin doctor` shows what is missing. To try each change at once:\n\n  leadhost plugin dev {}\n\nOr step by step:\n\n  cd {}{build}\n  leadhost plugin test .{write}{run}\n{blank}{publish}",
            self.kind.kind().with_article(),
            self.lang.title(),
            folder.display(),
            project.toolchain.join(", "),
            quoted(&folder.to_string_lossy()),
            quoted(&folder.to_string_lossy()),
        );
    }
}

/// A golden case of a new project whose body `leadhost plugin run` can take.
struct ExampleRun {
    case: String,
    /// Whether the project has a configuration for it, in [`CONFIG`].
    has_config: bool,
}

impl ExampleRun {
    fn find(kind: PluginKind, project: &mut NewProject) -> Option<Self> {
        let case = match kind {
            PluginKind::Converter => SAMPLE_CASE.to_owned(),
            PluginKind::Adapter => readable_webhook(project)?,
        };
        let content = project.files.get(&format!("{case}/case.json"))?;
        let content: Value = serde_json::from_slice(content).ok()?;
        let config = &content["delivery"]["config"];
        let has_config = config.is_object();
        if has_config {
            let text = format!("{config:#}\n").into_bytes();
            project.files.insert(CONFIG.to_owned(), text);
        }
        Some(Self { case, has_config })
    }

    fn arguments(&self, project: &NewProject) -> String {
        let body = body_of_case(project, &self.case);
        let config = match self.has_config {
            true => format!(" --config {CONFIG}"),
            false => String::new(),
        };
        format!("{}/{body}{config}", self.case)
    }
}

/// Returns the folder of the first golden case of a webhook that the adapter can read.
fn readable_webhook(project: &NewProject) -> Option<String> {
    let mut cases = project.files.iter().filter_map(|(path, content)| {
        let folder = path.strip_suffix("/case.json")?;
        let case: Value = serde_json::from_slice(content).ok()?;
        let is_readable = case["call"] == "readWebhook" && case["expect"]["ok"].is_object();
        (is_readable && case["body"].is_string()).then(|| folder.to_owned())
    });
    cases.next()
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

/// The usual names of credentials in a body: those that the converters of all languages declare, so that
/// the service masks them too.
const USUAL_SECRETS: [&str; 20] = [
    "google_key",
    "apikey",
    "api_key",
    "api-key",
    "x-api-key",
    "access_token",
    "accessToken",
    "refresh_token",
    "refreshToken",
    "session_token",
    "id_token",
    "auth_token",
    "authToken",
    "client_secret",
    "clientSecret",
    "app_secret",
    "private_key",
    "password",
    "passwd",
    "senha",
];

fn without_credentials(body: Vec<u8>) -> Vec<u8> {
    let places = USUAL_SECRETS.map(|name| ValueLocation {
        place: Place::Json,
        name: name.to_owned(),
    });
    let body = DeliveryBody::from(body);
    let masked = Mask::new(&Secrets::default()).body(&body, &places);
    masked.unwrap_or_else(|| body.to_vec())
}

/// Makes the sample the body of the first golden case, whose expectation is then to be written.
/// `is_raw`: persons and credentials in it stay as they are.
fn put_sample(project: &mut NewProject, sample: &Path, is_raw: bool) -> CommandResult {
    let mut body = without_mark(&read_bytes(sample)?).to_vec();
    let refused = |what: String| failed!("{} cannot be the sample: {what}", sample.display());
    if body.len() > leadhost_golden::MAX_PACKED_BYTES {
        return Err(refused(format!(
            "it has {}, and the golden cases of a plugin have at most {} together",
            size::exact(body.len() as u64),
            size::readable(leadhost_golden::MAX_PACKED_BYTES as u64)
        ))
        .hint("shorten it to one lead or a few"));
    }
    let format = BodyFormat::detect(&body).map_err(|why| {
        refused(why).hint(
            "save the body alone, as the source sends it, without headers; for another format, start without --sample and change the converter",
        )
    })?;
    if !is_raw {
        let text = std::str::from_utf8(&body).map_err(|_| {
            refused("it is not UTF-8, so the persons in it cannot be masked".to_owned())
                .hint("with --raw it is taken as it is, with all personal data")
        })?;
        let masked = without_persons(text, format == BodyFormat::Form);
        body = without_credentials(masked.into_bytes());
    }
    let prefix = format!("{SAMPLE_CASE}/");
    project.files.retain(|path, _| !path.starts_with(&prefix));
    let name = match format {
        BodyFormat::Json => "body.json",
        BodyFormat::Form => "body.txt",
    };
    let case = json!({
        "about": "The sample that the project began with",
        "call": "convert",
        "delivery": {"headers": [["content-type", format.content_type()]]},
        "body": name,
    });
    let case = format!("{case:#}\n").into_bytes();
    project.files.insert(format!("{prefix}case.json"), case);
    project.files.insert(format!("{prefix}{name}"), body);
    Ok(())
}

fn body_of_case<'a>(project: &'a NewProject, case: &str) -> &'a str {
    let mut in_case = project.files.keys().filter_map(|path| {
        let name = path.strip_prefix(case)?.strip_prefix('/')?;
        (name != "case.json").then_some(name)
    });
    in_case.next().unwrap_or("body.json")
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

    fn project() -> NewProject {
        template::project(Language::Go, PluginKind::Converter, "ana-form")
    }

    fn sampled(body: &[u8]) -> Result<NewProject, String> {
        sampled_as(body, false)
    }

    fn sampled_as(body: &[u8], is_raw: bool) -> Result<NewProject, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sample");
        std::fs::write(&file, body).expect("a file");
        let mut project = project();
        put_sample(&mut project, &file, is_raw).map_err(|failure| failure.to_string())?;
        Ok(project)
    }

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

    #[test]
    fn a_sample_becomes_the_case_and_its_expectation_is_to_be_written() {
        let body = b"{\"id\":9007199254740993}";
        let project = sampled(body).expect("it is JSON");
        assert_eq!(project.files["golden/lead/body.json"], body);
        let case = String::from_utf8_lossy(&project.files["golden/lead/case.json"]).into_owned();
        assert!(!case.contains("expect"), "{case}");
        assert!(case.contains("application/json"), "{case}");
        assert!(project.files.contains_key("golden/invalid/case.json"));
        assert_eq!(body_of_case(&project, SAMPLE_CASE), "body.json");
    }

    #[test]
    fn the_persons_of_a_sample_are_masked_unless_it_is_raw() {
        let body = br#"{"nome": "Rita Prado", "telefone": "11900000001", "email": "rita@site.com.br", "obs": "Rita, sim", "ref": "AP-0042"}"#;
        let masked = sampled(body).expect("it is JSON");
        let text = String::from_utf8_lossy(&masked.files["golden/lead/body.json"]).into_owned();
        for personal in ["Rita", "Prado", "11900000001", "rita@site.com.br"] {
            assert!(!text.contains(personal), "{personal}: {text}");
        }
        assert!(text.contains("AP-0042"), "{text}");
        serde_json::from_str::<Value>(&text).expect("it is JSON still");
        let raw = sampled_as(body, true).expect("it is JSON");
        assert_eq!(raw.files["golden/lead/body.json"], body);
        let form = sampled(b"nome=Rita+Prado&id=7").expect("it is a form");
        let text = String::from_utf8_lossy(&form.files["golden/lead/body.txt"]).into_owned();
        assert!(!text.contains("Rita") && text.ends_with("&id=7"), "{text}");
    }

    #[test]
    fn the_credentials_of_a_sample_are_masked_unless_it_is_raw() {
        let body =
            br#"{"id": "k1", "google_key": "made-up-key", "a": [{"senha": "made-up-word"}]}"#;
        let masked = sampled(body).expect("it is JSON");
        let text = String::from_utf8_lossy(&masked.files["golden/lead/body.json"]).into_owned();
        assert!(!text.contains("made-up-"), "{text}");
        assert!(text.contains(r#""google_key": "***""#), "{text}");
        let raw = sampled_as(body, true).expect("it is JSON");
        assert_eq!(raw.files["golden/lead/body.json"], body);
        let form = sampled(b"id=7&api_key=made-up-key").expect("it is a form");
        let text = String::from_utf8_lossy(&form.files["golden/lead/body.txt"]).into_owned();
        assert_eq!(text, "id=7&api_key=***");
    }

    #[test]
    fn the_masked_names_are_those_that_converters_declare() {
        let sdk = include_str!("../../../../sdk-guest/src/sender.rs");
        let (_, from) = sdk.split_once("USUAL_SECRETS").expect("the list");
        let (list, _) = from.split_once("];").expect("its end");
        let declared: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        assert_eq!(declared, USUAL_SECRETS);
    }

    #[test]
    fn a_sample_that_is_not_utf_8_is_taken_only_raw() {
        let body = b"{\"nome\": \"Jo\xe3o\"}";
        let Err(said) = sampled(body) else {
            panic!("persons in it cannot be masked");
        };
        assert!(
            said.contains("UTF-8") || said.contains("neither JSON"),
            "{said}"
        );
    }

    #[test]
    fn a_byte_order_mark_in_front_of_a_sample_is_removed() {
        let project = sampled(b"\xef\xbb\xbf{\"id\":1}").expect("it is JSON");
        assert_eq!(project.files["golden/lead/body.json"], b"{\"id\":1}");
    }

    #[test]
    fn every_template_has_an_example_that_can_be_run() {
        for language in Language::value_variants() {
            for kind in [PluginKind::Converter, PluginKind::Adapter] {
                let mut project = template::project(*language, kind, "ana-form");
                let example = ExampleRun::find(kind, &mut project);
                let example = example.unwrap_or_else(|| panic!("{language:?} {kind:?}"));
                let arguments = example.arguments(&project);
                for file in arguments.split(' ').filter(|word| *word != "--config") {
                    let files = &project.files;
                    assert!(
                        files.contains_key(file),
                        "{language:?} {kind:?}: {arguments}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_form_is_a_sample_with_its_content_type() {
        let project = sampled(b"name=Ana&phone=11900000001").expect("it is a form");
        assert_eq!(body_of_case(&project, SAMPLE_CASE), "body.txt");
        let case = String::from_utf8_lossy(&project.files["golden/lead/case.json"]).into_owned();
        assert!(case.contains("x-www-form-urlencoded"), "{case}");
        assert!(!project.files.contains_key("golden/lead/body.json"));
    }

    #[test]
    fn a_sample_of_another_format_is_refused_with_the_reason() {
        let refused = |body: &[u8]| sampled(body).expect_err("it is refused");
        let said = refused(b"{\"id\": 1");
        assert!(said.contains("neither JSON (EOF"), "{said}");
        let said = refused(&vec![b' '; leadhost_golden::MAX_PACKED_BYTES + 1]);
        assert!(said.contains("1048577 bytes"), "{said}");
    }
}
