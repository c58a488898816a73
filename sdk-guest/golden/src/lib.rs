//! The format of golden cases: what a plugin is given, and the answer that it
//! must give, as files.
//!
//! A case is a folder `golden/<case>/` with a `case.json` and the bodies that
//! it names. The same cases are walked natively by the SDK's test helper, run
//! against a built component by the tools, and carried inside a component (the
//! custom section `leadhost:golden`), so that the host can try a version before
//! it serves. This crate knows neither WIT nor wasm runtimes: it works on what
//! `serde` gives for the types that bindings generators make.
//!
//! Rules inside: an answer is compared exactly, after [`normalise()`], but for
//! the version that `describe` tells ([`Case::difference`]); nothing here panics
//! on hostile bytes; a packed set of cases is at most [`MAX_PACKED_BYTES`].

mod case;
mod diff;
mod folder;
mod message;
mod normalise;
mod pack;
mod section;

pub use case::{Call, Case, Completion, Delivery, Response};
pub use diff::diff;
pub use folder::{FolderError, load_dir, write_expect};
pub use message::Message;
pub use normalise::normalise;
pub use pack::{MAX_CASES, MAX_NAME_BYTES, MAX_PACKED_BYTES, PackError, pack, unpack};
pub use section::{
    SECTION_NAME, SectionError, append_custom, append_section, read_custom, read_section,
    without_custom,
};
