//! Workspace files: their application.
