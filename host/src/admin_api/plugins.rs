//! Plugins and their versions.
