//! Workspaces, their owners, agents and products.
