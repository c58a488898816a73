//! Plugins and their versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::status::HostView;
use crate::domain::difference::Change;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::domain::plugin::{CircuitFunction, Digest, PluginKind, SecretDeclaration};
use crate::domain::publisher::Publisher;
use crate::domain::time::Micros;
use crate::domain::word::words;

/// The stored plugins, and recent refusals.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Plugins {
    /// By name.
    pub plugins: Vec<PluginView>,
    /// Files of the inbox that were refused and not overtaken since, the latest first.
    pub refusals: Vec<RefusalView>,
    /// The hosts that share the store.
    pub hosts: Vec<HostView>,
}

/// A plugin with its stored versions.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginView {
    pub name: String,
    /// The active version. Null if no version was ever activated.
    pub digest: Option<Digest>,
    /// The version to which a rollback would return.
    pub previous: Option<Digest>,
    /// Grows with every activation.
    pub generation: Option<i64>,
    pub activated_at: Option<Micros>,
    /// The version on this host. Another digest than the active one, or null, shows that the
    /// host lags or could not load it.
    pub serves: Option<Digest>,
    /// The names of the live hosts that serve the active version. Null if no hosts share the
    /// store, or no version is active.
    pub served_by: Option<Vec<String>>,
    /// The live hosts that do not serve the active version. Null like `servedBy`.
    pub behind: Option<Vec<BehindView>>,
    pub versions: Vec<PluginVersion>,
    /// The open circuit breakers of this host: it skips these calls, or makes fewer.
    pub circuits: Vec<CircuitView>,
}

/// A stored version of a plugin.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginVersion {
    /// The version that the plugin gives itself.
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// Whether it serves. A rollback would activate the previous one.
    pub state: VersionState,
    pub summary: String,
    /// Null if a later version of the service stored it, which knows more kinds.
    pub kind: Option<PluginKind>,
    /// Package and version of its contract, such as `leadhost:converter@1.0.0`.
    pub contract: String,
    /// The size of the component.
    pub bytes: u64,
    /// The number of golden cases that it carries and has passed.
    pub golden: u32,
    /// `upload`, or the name of the file in the inbox.
    pub origin: String,
    /// `ed25519:` and the key that signed it, `admin-key:` and the id of the key that uploaded
    /// it, `operator`, or `inbox`.
    pub publisher: Publisher,
    pub stored_at: Micros,
    /// The secrets that it declares.
    pub secrets: Vec<SecretDeclaration>,
    /// The hosts that it asks to call.
    pub hosts: Vec<String>,
}

words! {
    /// Whether a version serves.
    VersionState: "the state" {
        Active = "active",
        Previous = "previous",
        Stored = "stored",
    }
}

/// An open circuit breaker: after several failures the host skips calls for a while.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CircuitView {
    /// The version that failed.
    pub digest: Digest,
    /// The id of the connection whose calls failed.
    pub connection: String,
    /// The connection as `workspace/name`. Null if it no longer exists.
    pub name: Option<String>,
    pub function: CircuitFunction,
    /// Whether only requests skip the call, and the worker still makes it.
    pub inline_only: bool,
    /// The last failure.
    pub reason: String,
    /// The number of failures without a success between them.
    pub failures: u32,
    pub since: Micros,
    /// When the next call is allowed.
    pub until: Micros,
}

/// A live host that does not serve the version that it should.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct BehindView {
    /// The host's name.
    pub host: String,
    pub reason: String,
}

/// A file of the inbox that was refused.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusalView {
    /// The name of the file.
    pub origin: String,
    /// The SHA-256 of the file. Null if the same file may be accepted later.
    pub digest: Option<Digest>,
    pub reason: String,
    pub at: Micros,
}

/// The result of the trial of a component that was not stored.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckedPlugin {
    pub name: String,
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
    pub kind: PluginKind,
    /// Package and version of its contract, such as `leadhost:converter@1.0.0`.
    pub contract: String,
    /// The number of golden cases that it carries and has passed.
    pub golden: u32,
    /// `ed25519:` and the key that signed it, `admin-key:` and the id of the key that uploaded
    /// it, `operator`, or `inbox`.
    pub publisher: Publisher,
    /// The changes that an activation would need consent for.
    pub concerns: Vec<ConcernView>,
}

/// A change that an activation would bring and that has not been accepted yet.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ConcernView {
    /// The word of `accept` that accepts it. Empty if it cannot be accepted.
    pub accept: String,
    pub what: String,
}

/// A version that was uploaded or activated.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedPlugin {
    pub name: String,
    /// Null if the store no longer has the version.
    pub version: Option<String>,
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// The version that was active before.
    pub previous: Option<Digest>,
    /// Grows with every activation. Null if the version was only stored.
    pub generation: Option<i64>,
    /// Null if the version was only stored.
    pub activated_at: Option<Micros>,
    /// The number of golden cases that it carries and has passed. Null like `version`.
    pub golden: Option<u32>,
    /// Whether the request activated it.
    pub active: bool,
    /// The live hosts that do not serve it yet. They keep trying. Null if the version was only
    /// stored.
    pub behind: Option<Vec<BehindView>>,
    /// The comparison with the version that was active before. Null after a rollback, and if the
    /// version was only stored.
    pub verification: Option<VerifiedPlugin>,
}

/// The version to activate.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivateRequest {
    /// The digest of a stored version. Its first 8 or more characters are enough if they name
    /// one version.
    #[schema(min_length = 8)]
    pub digest: String,
    /// The words that accept the concerns about it: `drift`, `new-publisher`, `fewer-cases`,
    /// `new-reply-slots`, `new-kind`, `weaker-checks`, `new-hosts`, `new-secrets`, `older`,
    /// `same-version`, or `all`.
    #[serde(default)]
    pub accept: Vec<String>,
}

/// The concerns for which an activation was refused. The refusal has them beside `error`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefusedActivation {
    /// The words that accept the concerns. A concern that cannot be accepted has none.
    pub accept: Vec<String>,
    pub concerns: Vec<ConcernView>,
    /// The comparison with the active version. Null if there was none.
    pub verification: Option<VerifiedPlugin>,
}

/// The reason for which a component was refused. The refusal has it beside `error`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefusedComponent {
    /// A stable code of the reason.
    pub kind: String,
    /// The hosts of the fleet that cannot serve the component. Left out if this host cannot use
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<BehindView>>,
}

/// The version whose harm is asked for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpactRequest {
    /// The digest of a stored version. Its first 8 or more characters are enough if they name
    /// one version.
    #[schema(min_length = 8)]
    pub digest: String,
    /// The digest of the version to compare it with. Null for the active version, or for the
    /// previous one if the first digest is that of the active version.
    #[serde(default)]
    pub against: Option<String>,
}

/// The stored version to verify.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    /// The digest of a stored version. Its first 8 or more characters are enough if they name
    /// one version.
    #[schema(min_length = 8)]
    pub digest: String,
}

/// A version compared with another one: both converted the same stored deliveries.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedPlugin {
    pub name: String,
    /// The candidate's version.
    pub version: String,
    /// The SHA-256 of the candidate.
    pub digest: Digest,
    /// The number of golden cases that the candidate carries and has passed.
    pub golden: u32,
    /// The version that it was compared with. Null if no version of this name serves: then
    /// nothing was compared.
    pub against: Option<ComparedVersion>,
    /// Deliveries that were chosen: those that failed, and the newest of each connection and
    /// outcome.
    pub chosen: u64,
    /// Connections that use the plugin.
    pub connections: usize,
    /// Connections of which no delivery was chosen, because there are too many or the time was up.
    pub connections_not_covered: usize,
    /// Chosen deliveries without a body any more, after an erasure or by their age.
    pub emptied: u64,
    /// Chosen deliveries that the host could not convert just now.
    pub not_tried: u64,
    /// Chosen deliveries that were not reached in time.
    pub not_reached: u64,
    /// Deliveries that both versions converted, refused or failed on.
    pub compared: u64,
    /// Compared deliveries of which both versions make the same.
    pub same: u64,
    /// Leads that the other version makes of the compared deliveries.
    pub leads: u64,
    /// Leads that the candidate makes of them.
    pub candidate_leads: u64,
    /// Deliveries that the other version converts, and the candidate refuses or fails on.
    pub newly_failing: DifferenceView,
    /// Deliveries that the other version refuses or fails on, and the candidate converts.
    pub no_longer_failing: DifferenceView,
    /// Leads that only the candidate makes.
    pub appeared: DifferenceView,
    /// Leads that only the other version makes.
    pub vanished: DifferenceView,
    /// Items other than leads that appear, vanish or become another kind.
    pub items: DifferenceView,
    /// Differences of fields of leads and events, by field and change.
    pub fields: Vec<FieldDifference>,
    /// The differences for which an activation would be refused, each in a sentence: those that
    /// exceed the policy in the configuration.
    pub drift: Vec<String>,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

/// The version that another one was compared with.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ComparedVersion {
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// Whether it is the active version.
    pub active: bool,
}

/// Differences in one field.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FieldDifference {
    /// `name`, `phone`, `email`, `externalId`, `listing`, another field of the lead, or the name
    /// of one of its attributes.
    pub field: String,
    pub change: Change,
    #[serde(flatten)]
    pub differences: DifferenceView,
}

/// Differences of one kind.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DifferenceView {
    pub count: u64,
    /// The first few of them.
    pub examples: Vec<ExampleView>,
}

/// One difference. Its values are masked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExampleView {
    pub delivery_id: DeliveryId,
    pub connection_id: ConnectionId,
    /// With the other version. Null for no value.
    pub before: Option<String>,
    /// With the candidate. Null for no value.
    pub after: Option<String>,
}
