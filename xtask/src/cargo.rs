//! Cargo, as somebody types it.

use std::path::Path;
use std::process::Command;

/// The `cargo` that started this program, in a folder, without what it says of this
/// program's package, and without what lets a stable test program tell how long each
/// test took. Some build scripts look at both, and each of the two would make the next
/// build that is typed by hand build half of the dependencies again.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder).env_remove("RUSTC_BOOTSTRAP");
    for (name, _) in std::env::vars_os() {
        let of_the_package = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
                || ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"].contains(&name)
        });
        if of_the_package {
            command.env_remove(name);
        }
    }
    command
}
