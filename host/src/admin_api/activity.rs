//! What came in and went out, by connection and instance.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::time::Micros;

/// What came in and went out in a period.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// When it was counted. Null: this host has just started and is still counting.
    pub counted_at: Option<Micros>,
    pub period: ActivityPeriod,
    /// When each slot begins, the oldest first. The last one has not ended.
    pub slots: Vec<Micros>,
    /// One for each connection and instance that took something.
    pub series: Vec<ActivityRow>,
}

/// How far back activity is shown: an hour in slots of five minutes, a day in hours, or a week in slots
/// of six hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActivityPeriod {
    Hour,
    #[default]
    Day,
    Week,
}

impl ActivityPeriod {
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// Returns the word of the interface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    /// Reads a word of the interface. `None` if it is not known.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// What one connection or instance took, slot by slot.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityRow {
    /// The workspace's slug.
    pub workspace: String,
    pub name: String,
    /// Deliveries, for a connection.
    pub deliveries: Vec<u64>,
    /// Leads that the deliveries gave.
    pub leads: Vec<u64>,
    /// Messages, for an instance.
    pub messages: Vec<u64>,
    /// Deliveries or messages that failed, as they stood when their hour was counted.
    pub failures: Vec<u64>,
}
