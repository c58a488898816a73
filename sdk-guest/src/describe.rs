//! The description of a plugin.

use crate::{Description, SecretDeclaration};

impl Description {
    /// Describes a plugin of that name and version without configuration and
    /// secrets.
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            summary: summary.into(),
            config_schema: String::new(),
            secrets: Vec::new(),
            hosts: Vec::new(),
        }
    }

    /// Sets the JSON Schema (2020-12) of the configuration, as text.
    pub fn config_schema(mut self, schema: &str) -> Self {
        self.config_schema = schema.into();
        self
    }

    /// Adds a secret that a connection or instance must have.
    pub fn required_secret(self, name: &str, summary: &str) -> Self {
        self.secret(name, summary, true)
    }

    /// Adds a secret that a connection or instance may have.
    pub fn optional_secret(self, name: &str, summary: &str) -> Self {
        self.secret(name, summary, false)
    }

    /// Adds a host that requests go to unless the configuration names another.
    pub fn host(mut self, host: &str) -> Self {
        self.hosts.push(host.into());
        self
    }

    fn secret(mut self, name: &str, summary: &str, required: bool) -> Self {
        self.secrets.push(SecretDeclaration {
            name: name.into(),
            kind: "static".into(),
            summary: summary.into(),
            required,
        });
        self
    }
}
