//! The toolchains of the templates and the examples. Missing tools are installed as for the other tasks: by
//! apt, by rustup, or, in pinned versions below the build folder, from the Python registry.

use std::ffi::OsString;
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{files, process, python, repository};

/// A toolchain that is there: the variables that its commands need.
#[derive(Default)]
pub struct Toolchain {
    variables: Vec<(&'static str, OsString)>,
}

impl Toolchain {
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &OsString)> {
        self.variables.iter().map(|(name, value)| (*name, value))
    }

    fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }
}

pub fn rust(install: Install) -> Result<Toolchain, Failure> {
    install.rust_target("wasm32-wasip2", "to build plugin projects in Rust")?;
    Ok(Toolchain::default())
}

/// The pinned Node with npm: Debian 12 has an older one than the template needs.
pub fn node(install: Install) -> Result<Toolchain, Failure> {
    let cache = repository::target().join("languages/.npm");
    Ok(pinned(install)?.with("npm_config_cache", cache))
}

pub fn python(install: Install) -> Result<Toolchain, Failure> {
    python::ensure(install, "to build plugin projects in Python")?;
    Ok(Toolchain::default())
}

pub fn go(install: Install) -> Result<Toolchain, Failure> {
    let cache = repository::target().join("languages/.go");
    Ok(pinned(install)?
        // No other version is downloaded, and nothing is written outside of the build folder.
        .with("GOTOOLCHAIN", "local")
        .with("GOCACHE", cache.join("build"))
        .with("GOPATH", cache.join("path")))
}

pub fn zig(install: Install) -> Result<Toolchain, Failure> {
    let cache = repository::target().join("languages/.zig");
    Ok(pinned(install)?.with("ZIG_GLOBAL_CACHE_DIR", cache))
}

/// Clang that links for WASI: tried with an empty function, which needs all four packages.
pub fn c(install: Install) -> Result<Toolchain, Failure> {
    const PACKAGES: [&str; 4] = ["clang", "lld", "wasi-libc", "libclang-rt-14-dev-wasm32"];
    let folder = repository::target().join("languages/.c");
    let source = folder.join("empty.c");
    files::write_if_changed(&source, b"void empty(void) {}\n")?;
    let links = || {
        let mut clang = Command::new("clang");
        clang.args(["--target=wasm32-wasi", "-mexec-model=reactor"]);
        process::output(clang.arg(&source).arg("-o").arg(folder.join("empty.wasm")))
    };
    if links().is_err() {
        install.debian(&PACKAGES, "to build the example in C")?;
        links()?;
    }
    // The example takes the same one.
    Ok(Toolchain::default().with("CLANG", "clang"))
}

/// Node and the compilers from the Python registry, first in the PATH.
fn pinned(install: Install) -> Result<Toolchain, Failure> {
    python::ensure(install, "for Node and the compilers of Go and Zig")?;
    let list = repository::root().join("xtask/requirements-languages.txt");
    let environment = python::environment(&[list], "languages/.venv")?;
    let programs = environment.join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path);
    let path = std::env::join_paths(std::iter::once(programs).chain(others))
        .context("adding the compilers to the PATH")?;
    Ok(Toolchain::default().with("PATH", path))
}
