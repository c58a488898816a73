//! Compiled code that all tests share.

use std::path::Path;

use crate::components::target;

/// Lets a host with this data folder use the code that other hosts compiled.
pub fn share_compiled_code(data_dir: &Path) {
    xtask::compiled::share(&target(), data_dir).expect("a link in a new folder");
}
