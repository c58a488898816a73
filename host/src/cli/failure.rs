use std::fmt;
use std::path::Path;

use leadhost_config::ConfigError;

/// The reason why a command fails, as the user sees it.
#[derive(Debug)]
pub struct CommandFailure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl CommandFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
            hint: None,
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::new(message)
        }
    }

    /// Returns the failure of a key of the configuration: wrong usage if the command line set it,
    /// otherwise a mistake in the file.
    pub fn for_key(
        key: &str,
        overrides: &[(String, String)],
        file: Option<&Path>,
        error: &dyn fmt::Display,
    ) -> Self {
        if overrides.iter().any(|(given, _)| given == key) {
            return Self::usage(error.to_string());
        }
        match file {
            Some(path) => Self::new(format!("{}: {error}", path.display())),
            None => Self::new(error.to_string()),
        }
    }

    #[must_use]
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Adds a hint: one line below the message that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn also(mut self, hint: &str) -> Self {
        self.hint = Some(match self.hint {
            Some(first) => format!("{first}; {hint}"),
            None => hint.to_owned(),
        });
        self
    }

    #[must_use]
    pub fn about(mut self, file: &Path) -> Self {
        self.message = format!("{}: {}", file.display(), self.message);
        self
    }

    pub fn parts(&self) -> (&str, Option<&str>) {
        (&self.message, self.hint.as_deref())
    }

    pub fn code(&self) -> u8 {
        self.code
    }
}

impl From<ConfigError> for CommandFailure {
    fn from(error: ConfigError) -> Self {
        let failure = if error.is_usage() {
            Self::usage(error.to_string())
        } else {
            Self::new(error.to_string())
        };
        match error {
            ConfigError::Refused(_) => failure.hint("`leadhost config` prints every key"),
            ConfigError::Read { .. } | ConfigError::Toml { .. } => failure,
        }
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leadhost: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}
