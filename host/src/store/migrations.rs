//! The migrations of both databases: the files of `host/migrations`, in order. One is added,
//! never edited.

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));
