//! The toolchain for `wasm32-unknown-unknown`, in the order of preference: the
//! target of the active toolchain, the same after rustup has added it, and
//! Debian's Rust, which builds the standard library from its sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::cargo::sysroot;

use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::process;
use crate::repository;

pub const TRIPLE: &str = "wasm32-unknown-unknown";

/// How plugins are compiled on this machine.
pub enum WasmToolchain {
    Active,
    /// Debian's packages `rustc-web`, `cargo-web` and `rust-web-src`.
    Debian {
        linker: PathBuf,
    },
}

impl WasmToolchain {
    pub fn ensure(install: Install) -> Result<Self, Failure> {
        let why = "to compile plugins";
        let Err(no_rustup) = install.rust_target(TRIPLE, why) else {
            return Ok(Self::Active);
        };
        eprintln!("{no_rustup}");
        if !debian_is_complete() {
            install
                .debian(&["rustc-web", "cargo-web", "rust-web-src"], why)
                .map_err(|no_debian| {
                    Failure::new(format!("{no_rustup}\n{no_debian}")).hint(format!(
                        "either `rustup target add {TRIPLE}`, or the Debian packages rustc-web, cargo-web and rust-web-src"
                    ))
                })?;
        }
        Ok(Self::Debian { linker: linker()? })
    }

    pub fn cargo_build(&self, profile: &str, packages: &[&str]) -> Command {
        let mut command = match self {
            Self::Active => {
                let mut command = repository::cargo();
                command.arg("build");
                command
            }
            Self::Debian { linker } => {
                let mut command = Command::new(DEBIAN_CARGO);
                command
                    .current_dir(repository::root())
                    .env("RUSTC", DEBIAN_RUSTC)
                    // Building the standard library is an unstable feature.
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                    // The active cargo's variables are about the other toolchain.
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("RUSTC_WRAPPER")
                    // Another compiler in the same folder would make both rebuild.
                    .env("CARGO_TARGET_DIR", repository::target().join("debian-rust"))
                    .args([
                        "build",
                        "-Z",
                        "build-std=std,panic_abort",
                        "-Z",
                        "profile-rustflags",
                        "--ignore-rust-version",
                    ]);
                command
            }
        };
        if matches!(self, Self::Debian { .. }) {
            for package in packages.iter().chain(&["leadhost-sdk"]) {
                command.arg("--config").arg(format!(
                    "profile.{profile}.package.{package}.rustflags=[{}]",
                    YOUNGER_FEATURES
                        .map(|feature| format!("\"-Zcrate-attr=feature({feature})\""))
                        .join(",")
                ));
            }
        }
        command.args(["--target", TRIPLE, "--profile", profile]);
        for package in packages {
            command.args(["-p", package]);
        }
        command
    }
}

/// Features that our packages use and that Debian's older compiler still considers
/// unstable.
const YOUNGER_FEATURES: [&str; 1] = ["let_chains"];

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

fn debian_is_complete() -> bool {
    let has_sources = process::output(Command::new(DEBIAN_RUSTC).args(["--print", "sysroot"]))
        .is_ok_and(|root| {
            Path::new(root.trim())
                .join("lib/rustlib/src/rust/library/std")
                .is_dir()
        });
    has_sources && Path::new(DEBIAN_CARGO).is_file()
}

/// Debian's Rust has no linker for WebAssembly; the one of the active toolchain
/// reads the same formats.
fn linker() -> Result<PathBuf, Failure> {
    let own = sysroot()
        .context("asking rustc for its folder")?
        .join("lib/rustlib");
    let bundled = std::fs::read_dir(&own)
        .into_iter()
        .flatten()
        .flatten()
        .map(|target| target.path().join("bin/rust-lld"))
        .find(|path| path.is_file());
    bundled.or_else(|| process::find("wasm-ld")).ok_or_else(|| {
        Failure::new("no linker for WebAssembly was found: neither rust-lld nor wasm-ld")
            .hint("as root on Debian: apt-get install -y lld && ln -s wasm-ld-14 /usr/bin/wasm-ld")
    })
}
