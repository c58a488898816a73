//! The plugin that a command gets: a component, a core module, or the folder of a project that
//! was built. A component is made of a core module here, so that the service and the engine get
//! only components.

use leadhost_golden::{
    Case, SECTION_NAME, append_section, load_dir, pack, read_section, unpack, without_custom,
};

use super::componentizing::componentize;
use super::registry::RegistryAddress;
use super::{project, stale};
use crate::cli::prelude::*;
use leadhost_plugin::{core_module, signature};

/// The file that the build of every project writes.
pub const BUILT: &str = "build/plugin.wasm";

/// The folder of a project's golden cases.
pub const GOLDEN: &str = "golden";

/// A component, and the golden cases of the project that it is built from.
pub struct ComponentFile {
    named: PathBuf,
    file: PathBuf,
    component: Vec<u8>,
    /// The folder of golden cases, if the command got a project that has one.
    pub golden: Option<PathBuf>,
}

/// Reads the plugin in a file or a project's folder. Says if a source was changed after the build.
pub fn read(path: &Path) -> CommandResult<ComponentFile> {
    read_with(path, |source, file| {
        complain!(
            "{} was changed after the build of {}: build the project again to see the change.",
            source.display(),
            file.display()
        );
        Ok(())
    })
}

/// Reads the plugin in a file or a project's folder, whenever it was built.
pub fn read_any(path: &Path) -> CommandResult<ComponentFile> {
    read_with(path, |_, _| Ok(()))
}

/// Reads the plugin in a file or a project's folder for a command that keeps what the build does.
/// `stale`: a source may have been changed after the build.
pub fn read_current(path: &Path, stale: bool) -> CommandResult<ComponentFile> {
    if stale {
        return read(path);
    }
    read_with(path, |source, file| {
        let build = project::read(path).map(|project| project.build.join(" && "));
        let build = match build {
            Ok(build) => format!(
                "build it in {} with `{build}`",
                quoted(&path.to_string_lossy())
            ),
            Err(_) => "build it again, as its README.md says,".to_owned(),
        };
        Err(failed!(
            "{} was changed after the build of {}, which still has the code from before",
            source.display(),
            file.display()
        )
        .hint(format!(
            "{build} and run the command again; --stale takes the build as it is"
        )))
    })
}

/// Reads the plugin. `changed` gets a source that is newer than the build, and the file of the build.
fn read_with(
    path: &Path,
    changed: impl FnOnce(&Path, &Path) -> CommandResult,
) -> CommandResult<ComponentFile> {
    refuse_registry(path)?;
    let is_project = path.is_dir();
    let (file, golden) = if is_project {
        (path.join(BUILT), Some(path.join(GOLDEN)))
    } else {
        (path.to_owned(), None)
    };
    let bytes = read_bytes(&file).map_err(|failure| {
        if !is_project {
            return failure;
        }
        failure.hint(format!(
            "{} is a folder: build the project in it first, as its README.md says, or name the component file",
            path.display()
        ))
    })?;
    if is_project && let Some(source) = stale::newer_source(path, &file) {
        changed(&source, &file)?;
    }
    let component = if core_module::is_core_module(&bytes) {
        componentize(&bytes).map_err(|error| file_failure(&file, &error))?
    } else {
        bytes
    };
    Ok(ComponentFile {
        named: path.to_owned(),
        file,
        component,
        golden: golden.filter(|folder| folder.is_dir()),
    })
}

fn refuse_registry(path: &Path) -> CommandResult {
    let address = path.to_string_lossy();
    if !RegistryAddress::is_meant(&address) || path.exists() {
        return Ok(());
    }
    let address = quoted(&address);
    Err(CommandFailure::usage(format!(
        "this command takes a file or a folder, not {address}, which is in a registry"
    ))
    .hint(format!(
        "`leadhost plugin pull {address}` writes it to a file; `leadhost plugin publish {address}` activates it in a service without one"
    )))
}

pub fn read_bytes(path: &Path) -> CommandResult<Vec<u8>> {
    std::fs::read(path).map_err(|error| failed!("cannot read {}: {error}", path.display()))
}

impl ComponentFile {
    /// Returns the component for the service: with the golden cases of its project, or with
    /// those that it carries already.
    pub fn with_its_cases(self) -> CommandResult<Vec<u8>> {
        match &self.golden {
            Some(folder) => Ok(self.with_cases(folder)?.0),
            None => Ok(self.component),
        }
    }

    pub fn with_cases(&self, folder: &Path) -> CommandResult<(Vec<u8>, usize)> {
        let failed = |error: &dyn std::fmt::Display| CommandFailure::new(error.to_string());
        let cases = load_dir(folder).map_err(|error| failed(&error))?;
        if let Some(case) = cases.iter().find(|case| case.expect.is_none()) {
            let own = self.golden.as_deref() == Some(folder);
            let test = test_command(&self.named, (!own).then_some(folder));
            return Err(failed!(
                "the golden case {} of {} has no expectation yet",
                case.name,
                folder.display()
            )
            .hint(format!(
                "`{test} --write` writes what the plugin makes of it: review that"
            )));
        }
        let packed = pack(&cases).map_err(|error| file_failure(folder, &error))?;
        let whole = append_section(&self.component, &packed)
            .map_err(|error| file_failure(&self.file, &error))?;
        Ok((whole, cases.len()))
    }

    pub fn with(&self, cases: &[Case]) -> CommandResult<Vec<u8>> {
        let packed = pack(cases).map_err(|error| file_failure(&self.file, &error))?;
        append_section(&self.component, &packed).map_err(|error| file_failure(&self.file, &error))
    }

    /// Returns the component without golden cases, and without the signature that covers them:
    /// a trial of it runs no cases.
    pub fn without_cases(&self) -> CommandResult<Vec<u8>> {
        without_custom(&self.component, SECTION_NAME)
            .and_then(|bare| without_custom(&bare, signature::SECTION))
            .map_err(|error| file_failure(&self.file, &error))
    }

    /// Returns the golden cases that the component itself carries, if it carries any.
    pub fn carried_cases(&self) -> CommandResult<Option<Vec<Case>>> {
        let failed = |error: &dyn std::fmt::Display| file_failure(&self.file, error);
        let packed = read_section(&self.component).map_err(|error| failed(&error))?;
        let cases = packed.map(|packed| unpack(&packed)).transpose();
        cases.map_err(|error| failed(&error))
    }

    pub fn into_component(self) -> Vec<u8> {
        self.component
    }

    pub fn component(&self) -> &[u8] {
        &self.component
    }
}

/// Removes a signature that does not cover these bytes. Returns whether there was one.
pub fn without_broken_signature(component: Vec<u8>) -> (Vec<u8>, bool) {
    if signature::signer(&component).is_ok() {
        return (component, false);
    }
    match without_custom(&component, signature::SECTION) {
        Ok(bare) => (bare, true),
        Err(_) => (component, false),
    }
}

pub fn test_command(file: &Path, golden: Option<&Path>) -> String {
    let text = |path: &Path| quoted(&path.to_string_lossy());
    let golden = golden.map(|folder| format!(" --golden {}", text(folder)));
    let golden = golden.unwrap_or_default();
    format!("leadhost plugin test {}{golden}", text(file))
}

fn file_failure(file: &Path, error: &dyn std::fmt::Display) -> CommandFailure {
    failed!("{}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_build_older_than_its_sources_is_refused_with_the_commands_that_build() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
            fs::write(file, text).expect("it is written");
        };
        put(BUILT, "not looked at");
        put("src/form.js", "");
        let edited =
            fs::metadata(folder.path().join("src/form.js")).and_then(|file| file.modified());
        let edited = edited.expect("it has a time");
        let built = fs::File::options()
            .append(true)
            .open(folder.path().join(BUILT));
        let built = built.expect("it is there");
        built
            .set_modified(edited - Duration::from_secs(60))
            .expect("it is set");

        let refused = || {
            let refused = read_current(folder.path(), false).err();
            refused.expect("it is refused").to_string()
        };
        let said = refused();
        assert!(said.contains("as its README.md says"), "{said}");
        put(
            "leadhost.toml",
            "name = \"form\"\nkind = \"converter\"\nbuild = [\"make one\", \"make two\"]\n",
        );
        let said = refused();
        for part in ["src/form.js", "`make one && make two`", "--stale"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(read_current(folder.path(), true).is_ok());
        built
            .set_modified(edited + Duration::from_secs(60))
            .expect("it is set");
        assert!(read_current(folder.path(), false).is_ok());
    }
}
