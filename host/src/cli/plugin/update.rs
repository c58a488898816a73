//! `leadhost plugin update`: puts the SDK of this program into a project, and shows by its golden cases what
//! that changes.

use super::component_file::{self, BUILT};
use super::dev::builder::{self, BuildOutcome};
use super::local::{EngineFlags, LocalEngine};
use super::project::{self, PROJECT_FILE, ProjectFile};
use super::template::{self, NewProject};
use super::test;
use crate::cli::prelude::*;
use leadhost_config::shutdown::Shutdown;

#[derive(Args)]
pub struct Update {
    /// The folder of the project
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The service's configuration file, for the limits of plugins
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    service_config: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineFlags,
}

impl Update {
    pub async fn run(self) -> CommandResult {
        let folder = &self.folder;
        let project = project::read(folder)?;
        let language = project.language().ok_or_else(|| {
            failed!(
                "{} does not say the `language` of a project that `leadhost plugin new` wrote",
                folder.join(PROJECT_FILE).display()
            )
        })?;
        let new = template::project(language, project.kind, &project.name);
        let engine = self.engine.start(self.service_config.as_deref())?;
        let before = if folder.join(BUILT).is_file() {
            Some(self.passing(&engine).await?)
        } else {
            None
        };
        let changed = put_sdk(folder, &new)?;
        if changed.is_empty() {
            say!("The SDK of {} is this program's.", folder.display());
            return Ok(());
        }
        for path in &changed {
            say_line!("changed {path}");
        }
        self.build(&project).await?;
        let after = self.passing(&engine).await?;
        let counted = |(passed, all): (usize, usize)| format!("{passed} of {all}");
        let before = before.map_or_else(|| "not built".to_owned(), counted);
        say!(
            "Golden cases that pass: before {before}, now {}.",
            counted(after)
        );
        if after.0 == after.1 {
            return Ok(());
        }
        let command = component_file::test_command(folder, None);
        Err(failed!("golden cases fail with the new SDK").hint(format!("`{command}` shows how")))
    }

    async fn passing(&self, engine: &LocalEngine) -> CommandResult<(usize, usize)> {
        let component = component_file::read(&self.folder)?;
        test::cases::passing(engine, &component, &self.folder).await
    }

    async fn build(&self, project: &ProjectFile) -> CommandResult {
        let commands = [project.setup.as_slice(), &project.build].concat();
        let built = builder::run(&self.folder, &commands, "building", &Shutdown::new()).await;
        match built.map_err(|error| failed!("cannot run the commands of the build: {error}"))? {
            BuildOutcome::Built(_) => Ok(()),
            BuildOutcome::Stopped(_) => Err(CommandFailure::new("the build was stopped")),
            BuildOutcome::Failed { how, said, .. } => {
                complain(&said);
                Err(failed!("the build with the new SDK failed: {how}").hint(
                    "the files above are changed already: mend what the build says, or restore them from your version control",
                ))
            }
        }
    }
}

/// Replaces the SDK, and what names it in the other files of the project. Returns the changed paths.
fn put_sdk(folder: &Path, new: &NewProject) -> CommandResult<Vec<String>> {
    let mut changed = Vec::new();
    let mut put = |path: &str, content: &[u8]| -> CommandResult {
        let file = folder.join(path);
        if std::fs::read(&file).is_ok_and(|own| own == content) {
            return Ok(());
        }
        let parent = file.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&file, content))
            .map_err(|error| failed!("cannot write {}: {error}", file.display()))?;
        changed.push(path.to_owned());
        Ok(())
    };
    for (path, content) in &new.sdk {
        put(path, content)?;
    }
    let own = std::fs::read_to_string(folder.join(PROJECT_FILE)).unwrap_or_default();
    let written: String = own
        .lines()
        .map(|line| {
            if line.starts_with("template = ") {
                format!("template = \"{}\"\n", env!("CARGO_PKG_VERSION"))
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    put(PROJECT_FILE, written.as_bytes())?;
    for path in &new.locks {
        let own = std::fs::read_to_string(folder.join(path));
        let named = new
            .files
            .get(path)
            .map(|text| String::from_utf8_lossy(text));
        if let (Ok(own), Some(named)) = (own, named) {
            put(path, with_lines_of_sdk(&own, &named).as_bytes())?;
        }
    }
    Ok(changed)
}

/// The names of the SDK in the files of package managers.
const NAMES: [&str; 3] = ["leadhost-sdk", "leadhost_sdk", "leadhost/sdk"];

/// Returns a file of a package manager with the lines about the SDK of the new one: those that name it, each
/// with a version or a hash below.
fn with_lines_of_sdk(own: &str, new: &str) -> String {
    let is_named = |line: &str| NAMES.iter().any(|name| line.contains(name));
    let is_below = |line: &str| {
        let line = line.trim_start().trim_start_matches('"');
        line.starts_with("version") || line.starts_with("integrity")
    };
    let mut named = Vec::new();
    let mut lines = new.lines().peekable();
    while let Some(line) = lines.next() {
        if is_named(line) {
            named.push((line, lines.next_if(|below| is_below(below))));
        }
    }
    let mut named = named.into_iter();
    let mut out = String::new();
    let mut add = |line: &str, own: &str| {
        // Whether another one follows is a matter of this file.
        out.push_str(line.trim_end_matches(','));
        out.push_str(if own.ends_with(',') { ",\n" } else { "\n" });
    };
    let mut lines = own.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((new, new_below)) = is_named(line).then(|| named.next()).flatten() else {
            add(line, line);
            continue;
        };
        add(new, line);
        if let (Some(below), Some(new)) = (lines.next_if(|own| is_below(own)), new_below) {
            add(new, below);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_the_sdk_are_those_of_the_new_file() {
        let own = "a==1\n./vendor/leadhost_sdk-1.0.0.whl --hash=sha256:1\nb==2 \\\n  --hash=x\n";
        let new = "./vendor/leadhost_sdk-1.1.0.whl --hash=sha256:2\ncomponentize-py==3\n";
        assert_eq!(
            with_lines_of_sdk(own, new),
            "a==1\n./vendor/leadhost_sdk-1.1.0.whl --hash=sha256:2\nb==2 \\\n  --hash=x\n"
        );
        let lock = |version: &str, hash: &str, other: &str| {
            format!(
                "{{\n  \"leadhost-sdk\": \"file:vendor/leadhost-sdk-{version}.tgz\"{other}\n  \"node_modules/leadhost-sdk\": {{\n    \"version\": \"{version}\",\n    \"resolved\": \"file:vendor/leadhost-sdk-{version}.tgz\",\n    \"integrity\": \"{hash}\"\n"
            )
        };
        let own = lock("1.0.0", "sha512-1", ",\n  \"zod\": \"4\"");
        let merged = with_lines_of_sdk(&own, &lock("1.1.0", "sha512-2", ""));
        let expect = lock("1.1.0", "sha512-2", ",\n  \"zod\": \"4\"");
        assert_eq!(merged, expect);
    }
}
