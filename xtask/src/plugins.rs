//! Builds the plugins of the workspace as components, and the misbehaving guests
//! of the tests.
//!
//! A plugin is a package below `plugins/`, or the Rust example. Its golden cases
//! are in `golden/` next to its manifest, or where the manifest's
//! `[package.metadata.leadhost] golden = ".."` says. A file is written
//! atomically, and only when its content changes: the host may watch the folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use xtask::cargo::LINTER;

use crate::args::Args;
use crate::component;
use crate::failure::{Context, Failure};
use crate::files;
use crate::install::Install;
use crate::process;
use crate::repository::{self, Package};
use crate::wasm_target::WasmToolchain;

pub const HELP: &str = "\
Builds the plugins as components into target/plugins/<package>.wasm.

    cargo xtask plugins [--debug] [--no-install] [PACKAGE..]

    PACKAGE        builds only these; default everything in plugins/ and the Rust example
    --debug        builds with debug names and without optimisation
    --no-install   never install anything; report what is missing
";

/// Runs the task with its arguments.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let profile = if args.flag("--debug") {
        "dev"
    } else {
        "plugin"
    };
    let names = args.words()?;
    let mut plugins = plugins()?;
    if let Some(unknown) = names
        .iter()
        .find(|name| plugins.iter().all(|p| p.name != **name))
    {
        let known: Vec<&str> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        return Err(Failure::new(format!("unknown plugin package `{unknown}`"))
            .hint(format!("the plugins are: {}", known.join(", "))));
    }
    plugins.retain(|plugin| names.is_empty() || names.contains(&plugin.name));
    build(&plugins, profile, install)
}

pub fn build_all(install: Install) -> Result<(), Failure> {
    build(&plugins()?, "plugin", install)
}

pub fn build_test_guests(install: Install) -> Result<(), Failure> {
    let guests = repository::packages_below(&["tests/guests"])?;
    let modules = compile(&guests, "plugin", install, &[])?;
    for guest in &guests {
        let component = component::encode(&modules[&guest.name], &guest.name)?;
        let path = guests_folder().join(format!("{}.wasm", guest.name));
        files::write_if_changed(&path, &component)?;
    }
    Ok(())
}

/// Builds the misbehaving converter with WASI into target/guests, if the
/// toolchain has the target or may install it. The linker of that target makes
/// the component.
pub fn build_guest_with_wasi(install: Install) -> Result<(), Failure> {
    const TRIPLE: &str = "wasm32-wasip2";
    const PACKAGE: &str = "guest-misbehave";
    install.rust_target(TRIPLE, "to compile a guest with WASI")?;
    process::run(
        repository::cargo()
            .env_remove(LINTER)
            .args(["build", "--quiet", "--profile", "plugin"])
            .args(["--target", TRIPLE, "--package", PACKAGE]),
    )?;
    let built = repository::target()
        .join(TRIPLE)
        .join("plugin/guest_misbehave.wasm");
    let component = files::bytes(&built)?;
    let path = guests_folder().join(format!("{PACKAGE}-wasi.wasm"));
    files::write_if_changed(&path, &component)?;
    Ok(())
}

pub fn guests_folder() -> PathBuf {
    repository::target().join("guests")
}

fn plugins() -> Result<Vec<Package>, Failure> {
    repository::packages_below(&["plugins", "examples/converter-rust"])
}

fn build(plugins: &[Package], profile: &str, install: Install) -> Result<(), Failure> {
    let modules = compile(plugins, profile, install, &[])?;
    for plugin in plugins {
        let path = repository::target()
            .join("plugins")
            .join(format!("{}.wasm", plugin.name));
        write(plugin, &modules[&plugin.name], &path)?;
    }
    Ok(())
}

/// Builds one version of the converter of examples/bad-deploy into a file. Cargo knows that the
/// source reads the variable, and compiles it again for another value.
pub fn build_bad_deploy(version: &str, path: &Path, install: Install) -> Result<(), Failure> {
    let packages = repository::packages_below(&["examples/bad-deploy"])?;
    let variables = [("BAD_DEPLOY_VERSION", version)];
    let modules = compile(&packages, "plugin", install, &variables)?;
    packages
        .iter()
        .try_for_each(|package| write(package, &modules[&package.name], path))
}

fn write(plugin: &Package, module: &[u8], path: &Path) -> Result<(), Failure> {
    let bytes = component::encode(module, &plugin.name)?;
    component::refuse_imports(&bytes, &plugin.name)?;
    let golden = match plugin.metadata["golden"].as_str() {
        Some(folder) => plugin.folder.join(folder),
        None => plugin.folder.join("golden"),
    };
    // A plugin without cases does not build, so that none is forgotten.
    let bytes = component::add_golden(&bytes, &golden)?;
    let wrote = files::write_if_changed(path, &bytes)?;
    let state = if wrote { "built" } else { "unchanged" };
    eprintln!(
        "{state:>12} {} ({} KiB)",
        path.display(),
        bytes.len() / 1024
    );
    Ok(())
}

/// All versions of a plugin share one module file, and cargo considers a version
/// that it built some time ago fresh although the file is another version's. So
/// a package is marked as changed if its version is not the one built last.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo compares files' times with the machine's clock"
)]
fn mark_another_version(package: &Package) -> Result<(), Failure> {
    let last = std::fs::read_to_string(built_version(package));
    if last.is_ok_and(|last| last != package.version) {
        let source = package.folder.join("src/lib.rs");
        std::fs::File::options()
            .append(true)
            .open(&source)
            .and_then(|file| file.set_modified(std::time::SystemTime::now()))
            .context(format!("marking {} as changed", source.display()))?;
    }
    Ok(())
}

fn built_version(package: &Package) -> PathBuf {
    repository::target()
        .join("plugin-versions")
        .join(&package.name)
}

/// Compiles the packages, with variables that their sources read. Returns the bytes of each core
/// module by package.
fn compile(
    packages: &[Package],
    profile: &str,
    install: Install,
    variables: &[(&str, &str)],
) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    if packages.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names: Vec<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut command = WasmToolchain::ensure(install)?.cargo_build(profile, &names);
    packages.iter().try_for_each(mark_another_version)?;
    command.arg("--message-format=json-render-diagnostics");
    eprintln!(
        "$ cargo build --profile {profile} for {} plugins or guests",
        packages.len()
    );
    let output = command
        .env_remove(LINTER)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo build")?;
    if !output.status.success() {
        return Err(
            Failure::new("the plugins do not compile").hint("see the compiler's messages above")
        );
    }
    for package in packages {
        files::write_if_changed(&built_version(package), package.version.as_bytes())?;
    }
    let modules = modules(&String::from_utf8_lossy(&output.stdout));
    packages
        .iter()
        .map(|package| {
            let path = modules.get(&package.folder).ok_or_else(|| {
                Failure::new(format!("`{}` gives no WebAssembly module", package.name))
                    .hint("its manifest needs `[lib] crate-type = [\"cdylib\"]`, or \"cdylib\" beside \"rlib\"")
            })?;
            let bytes = files::bytes(path)?;
            Ok((package.name.clone(), bytes))
        })
        .collect()
}

/// Returns the `.wasm` files in cargo's messages, by the folder of their
/// package.
fn modules(messages: &str) -> BTreeMap<PathBuf, PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter_map(|message| {
            let manifest = PathBuf::from(message["manifest_path"].as_str()?);
            let module = message["filenames"]
                .as_array()?
                .iter()
                .filter_map(Value::as_str)
                .find(|name| name.ends_with(".wasm"))?;
            Some((manifest.parent()?.to_path_buf(), PathBuf::from(module)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_of_each_package_is_found_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/r/sdk/Cargo.toml","filenames":["/t/libsdk.rlib"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/r/plugins/a/Cargo.toml","filenames":["/t/a.wasm"]}"#,
            "\nnot json\n",
        );
        let found = modules(messages);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[&PathBuf::from("/r/plugins/a")],
            PathBuf::from("/t/a.wasm")
        );
    }
}
