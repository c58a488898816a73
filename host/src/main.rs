//! The program `leadhost`: its commands are in `cli`.

use std::process::ExitCode;

/// Leads are many small allocations on several threads, where the system's
/// allocator takes about a tenth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    leadhost::cli::main()
}
