//! The registry of container images for the tests, Debian's `docker-registry`. The tests start it by
//! themselves; this task installs the package.

use crate::install::Install;
use crate::process;

const PROGRAM: &str = "docker-registry";

const WHY: &str = "for the tests of plugins in registries, which start a private one";

/// Makes sure of the program. If it cannot be had, returns what is skipped, with a hint.
pub fn prepare(install: Install) -> Option<String> {
    if process::find(PROGRAM).is_some() {
        return None;
    }
    // The command trusts the authorities of the system, and starts no client without any.
    let installed = install.debian_server(&[PROGRAM, "ca-certificates"], &[PROGRAM], WHY);
    installed
        .err()
        .map(|failure| format!("the tests of plugins in registries.\n  {failure}"))
}
