//! The states of a deal, and the deal as the gateway shows it.

use serde::Serialize;
use serde_json::Value;

use super::id::AgentId;
use super::time::Micros;

/// A deal's status, as stored and exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
    Won,
    Lost,
    Closed,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Won => "won",
            Self::Lost => "lost",
            Self::Closed => "closed",
        }
    }
}

/// The stage that every new deal begins in.
pub const FIRST_STAGE: &str = "in_qualification";

/// A deal as `GET /deal` answers it: four objects.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct DealView {
    pub deal: DealPart,
    pub person: PersonPart,
    pub property: PropertyPart,
    pub agent: AgentPart,
}

#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DealPart {
    pub id: String,
    pub status: String,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub owner_id: Option<String>,
    pub owner_name: Option<String>,
    pub owner_email: Option<String>,
    /// Includes `externalIntegrationId`.
    pub props: Value,
}

#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PersonPart {
    pub id: String,
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
}

#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PropertyPart {
    pub id: Option<String>,
    pub name: Option<String>,
    pub external_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct AgentPart {
    pub id: Option<AgentId>,
    pub name: Option<String>,
    pub number: Option<String>,
}
