//! The migrations of both databases: the files of `migrations`, in order. New ones are
//! added; existing ones are never edited.

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));
