//! A key of the configuration in force.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::word::words;

words! {
    /// The place where a key of the configuration is set.
    SettingSource: "where a key is set" {
        /// Nowhere: it has its default.
        Default = "default",
        File = "file",
        /// By a flag, or by the environment variable of a flag.
        Flag = "flag",
    }
}

/// A key of the configuration, with its value in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Setting {
    /// Section and name, such as `server.listen`.
    pub key: String,
    /// The value as TOML. Possible secrets are left out: the user, the password and the parameters of an
    /// address, and the values of headers.
    pub value: String,
    pub source: SettingSource,
}
