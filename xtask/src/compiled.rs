//! Compiled code that all tests and the services of all suites share: to compile a component takes longer than
//! most tests.

use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Lets a host with this data folder use the code that other hosts compiled, and keep what it compiles for
/// them, unless the folder has compiled code of its own. Files of compiled code have the digests of the component
/// and of the engine in their names, and hosts write each one at once.
pub fn share(target: &Path, data_dir: &Path) -> io::Result<()> {
    let own = data_dir.join("compiled");
    if own.exists() {
        return Ok(());
    }
    let shared = target.join("tmp").join("compiled");
    std::fs::create_dir_all(&shared)?;
    symlink(shared, own)
}
