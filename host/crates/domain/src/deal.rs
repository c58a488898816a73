//! The states of a deal and the transitions between them, and the deal as the gateway shows
//! it.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::Schema;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, SchemaType, Type};

use super::id::{AgentId, ContactId, DealId, OwnerId, ProductId};
use super::time::Micros;
use super::word::words;

/// The property of a deal that is a test of its source: it gets no greeting, and analytics
/// leaves out its conversations.
pub const TEST: &str = "test";

/// The property with the attributes of a lead that have no field of their own.
pub const ATTRIBUTES: &str = "attributes";

/// Bound of a deal's properties, in bytes of JSON: a deal is read, shown and exported as a
/// whole. The rest of a larger lead stays in its raw delivery.
pub const PROPS_BYTES: usize = 64 << 10;

/// Bound of the message among them, in bytes of JSON. It leaves the same room for
/// everything else.
pub const MESSAGE_BYTES: usize = 32 << 10;

/// The number of left-out properties that a note names; the others are counted.
pub const LEFT_OUT_NAMES: usize = 10;

/// Returns the note for a delivery that names the properties that did not fit into a deal.
pub fn no_room(whose: &str, names: &[String]) -> String {
    let shown = first_of(names);
    format!(
        "{whose}: some values are longer than a lead keeps (a deal's properties {PROPS_BYTES} bytes, and its message {MESSAGE_BYTES} of them), so these are only in the raw delivery: {shown}"
    )
}

/// Returns the note for a delivery that names the attributes whose values are not JSON.
pub fn no_json(whose: &str, names: &[String]) -> String {
    let shown = first_of(names);
    format!("{whose}: these attributes are not JSON, and are kept as texts: {shown}")
}

/// Returns what such a note says of a text that was cut.
pub fn cut_from(field: &str, bytes: usize, kept: usize) -> String {
    format!("the end of {field} (cut from {bytes} to {kept} bytes)")
}

fn first_of(names: &[String]) -> String {
    let mut shown = names[..names.len().min(LEFT_OUT_NAMES)].join(", ");
    if names.len() > LEFT_OUT_NAMES {
        shown.push_str(&format!(" and {} more", names.len() - LEFT_OUT_NAMES));
    }
    shown
}

words! {
    /// A deal's status, as stored and exported.
    DealStatus: "the status of a deal" {
        Won = "won",
        Lost = "lost",
        Closed = "closed",
        Open = "open",
    }
}

words! {
    /// The stage of a deal.
    DealStage: "the stage of a deal" {
        Transferred = "transferred",
        InQualification = "in_qualification",
        WaitingService = "waiting_service",
        InService = "in_service",
        VisitScheduled = "visit_scheduled",
        VisitCompleted = "visit_completed",
        ClosedWon = "closed_won",
        ClosedLost = "closed_lost",
        Negotiating = "negotiating",
    }
}

impl DealStage {
    /// The stage of every new deal.
    pub const FIRST: Self = Self::InQualification;

    /// Returns the status that this stage ends a deal with.
    fn end(self) -> Option<DealStatus> {
        match self {
            Self::ClosedWon => Some(DealStatus::Won),
            Self::ClosedLost => Some(DealStatus::Lost),
            _ => None,
        }
    }
}

/// Returns whether a requested status and stage contradict each other: a closing stage that
/// does not belong to the status, or any closing stage with an open status.
pub fn contradict(status: DealStatus, stage: DealStage) -> bool {
    match (status, stage.end()) {
        (DealStatus::Closed, _) | (_, None) => false,
        (status, Some(end)) => status != end,
    }
}

/// Returns the status and the stage of a deal after a request. A part that is not requested
/// follows from the other.
///
/// Won and lost set their stages, closing stages set their statuses. A deal that is
/// reopened leaves its closing stage, and an open stage reopens a won or lost deal.
pub fn moved(
    (status, stage): (DealStatus, DealStage),
    wanted_status: Option<DealStatus>,
    wanted_stage: Option<DealStage>,
) -> (DealStatus, DealStage) {
    match (wanted_status, wanted_stage) {
        (Some(status), Some(stage)) => (status, stage),
        (Some(wanted), None) => {
            let stage = match wanted {
                DealStatus::Won => DealStage::ClosedWon,
                DealStatus::Lost => DealStage::ClosedLost,
                DealStatus::Open if stage.end().is_some() => DealStage::InService,
                DealStatus::Open | DealStatus::Closed => stage,
            };
            (wanted, stage)
        }
        (None, Some(wanted)) => {
            let status = match (wanted.end(), status) {
                (Some(end), _) => end,
                (None, DealStatus::Won | DealStatus::Lost) => DealStatus::Open,
                (None, status) => status,
            };
            (status, wanted)
        }
        (None, None) => (status, stage),
    }
}

/// The key in `props` with the latest notes of partners: newest first, at most
/// [`LOGS_SHOWN`], each `{id, type, subject, metadata, createdAt}`.
pub const LOGS: &str = "logs";

/// The number of notes that a deal shows. All are stored.
pub const LOGS_SHOWN: usize = 5;

/// A deal as `GET /deal` returns it: four objects.
#[derive(Clone, Debug, Serialize, PartialEq, ToSchema)]
pub struct DealView {
    pub deal: DealPart,
    pub person: PersonPart,
    pub property: PropertyPart,
    pub agent: AgentPart,
}

#[derive(Clone, Debug, Serialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealPart {
    #[schema(value_type = DealId)]
    pub id: String,
    #[schema(value_type = DealStatus)]
    pub status: String,
    /// As `PATCH /deal/{dealId}` takes it.
    #[schema(value_type = DealStage)]
    pub stage_code: String,
    pub created_at: Micros,
    pub updated_at: Micros,
    #[schema(value_type = Option<OwnerId>)]
    pub owner_id: Option<String>,
    pub owner_name: Option<String>,
    pub owner_email: Option<String>,
    #[schema(schema_with = props)]
    pub props: Value,
}

fn props() -> ObjectBuilder {
    let external_id = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some("The deal's id in the system that it came from."));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("externalIntegrationId", external_id)
        .required("externalIntegrationId")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
}

#[derive(Clone, Debug, Serialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonPart {
    #[schema(value_type = ContactId)]
    pub id: String,
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
}

#[derive(Clone, Debug, Serialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PropertyPart {
    #[schema(value_type = Option<ProductId>)]
    pub id: Option<String>,
    pub name: Option<String>,
    pub external_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, PartialEq, ToSchema)]
pub struct AgentPart {
    pub id: Option<AgentId>,
    pub name: Option<String>,
    pub number: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use DealStage::{ClosedLost, ClosedWon, InQualification, InService, Negotiating};
    use DealStatus::{Closed, Lost, Open, Won};

    #[test]
    fn a_part_that_is_not_requested_follows_from_the_other() {
        let check = |from, status, stage, expect| {
            assert_eq!(
                moved(from, status, stage),
                expect,
                "{from:?} {status:?} {stage:?}"
            );
        };
        let open = (Open, Negotiating);
        check(open, Some(Won), None, (Won, ClosedWon));
        check(open, Some(Lost), None, (Lost, ClosedLost));
        check(open, Some(Closed), None, (Closed, Negotiating));
        check(open, None, Some(ClosedWon), (Won, ClosedWon));
        check(open, None, Some(ClosedLost), (Lost, ClosedLost));
        check(open, None, Some(InService), (Open, InService));
        check(open, Some(Won), Some(Negotiating), (Won, Negotiating));
        check((Won, ClosedWon), Some(Open), None, (Open, InService));
        check((Won, Negotiating), Some(Open), None, (Open, Negotiating));
        check((Lost, ClosedLost), None, Some(InService), (Open, InService));
        check((Won, ClosedWon), None, Some(ClosedLost), (Lost, ClosedLost));
        check(
            (Closed, InService),
            None,
            Some(Negotiating),
            (Closed, Negotiating),
        );
        check(open, None, None, open);
    }

    #[test]
    fn contradicting_status_and_stage_are_detected() {
        assert!(contradict(Won, ClosedLost) && contradict(Lost, ClosedWon));
        assert!(contradict(Open, ClosedWon) && contradict(Open, ClosedLost));
        assert!(!contradict(Won, ClosedWon) && !contradict(Lost, ClosedLost));
        assert!(!contradict(Closed, ClosedLost) && !contradict(Open, InQualification));
        assert!(!contradict(Won, Negotiating));
    }
}
