//! The format of golden cases: the input of a plugin and its expected output, as
//! files.
//!
//! A case is a folder `golden/<case>/` with a `case.json` and the bodies that
//! it names. The SDK's test helper runs the cases natively, the tools run them
//! against a built component, and a component carries them (in the custom section
//! `leadhost:golden`), so that the host can try a version before its activation.
//! This crate knows neither WIT nor wasm runtimes: it works on the `serde` output of
//! the types that bindings generators make.
//!
//! Invariants: an output is compared exactly, after [`normalise()`], except for the
//! version that `describe` returns ([`Case::difference`]); nothing here panics
//! on hostile bytes; a packed set of cases has at most [`MAX_PACKED_BYTES`].

mod case;
mod diff;
mod folder;
mod message;
mod normalise;
mod pack;
mod section;

pub use case::{Call, Case, Completion, Delivery, Response};
pub use diff::diff;
pub use folder::{FolderError, case_files, load_dir, write_case, write_expect};
pub use message::Message;
pub use normalise::normalise;
pub use pack::{MAX_CASES, MAX_NAME_BYTES, MAX_PACKED_BYTES, PackError, pack, unpack};
pub use section::{
    SECTION_NAME, SectionError, append_custom, append_section, read_custom, read_section,
    without_custom,
};
