use crate::prelude::*;
use leadhost_domain::setting::Setting;

/// The configuration of the host that answers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EffectiveConfig {
    /// The host's name.
    pub host: String,
    /// Every key, with its value and where it is set, by section and name.
    pub settings: Vec<Setting>,
}
