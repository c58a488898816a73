use super::hosts::HostView;
use super::open_rollouts::OpenRollout;
use super::repairs::RepairFacts;
use crate::prelude::*;
use leadhost_domain::accept::{AcceptWord, Concern};
use leadhost_domain::difference::{
    Coverage, DifferenceGroup, DifferenceKind, Differences, FieldDifference, Needed,
};
use leadhost_domain::host_names::Behind;
use leadhost_domain::plugin::{CircuitFunction, PluginKind, SecretDeclaration};
use leadhost_domain::publisher::Publisher;

/// The stored plugins, and recent refusals.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Plugins)]
pub struct PluginList {
    /// By name.
    pub plugins: Vec<PluginView>,
    /// Files of the inbox that were refused and not overtaken since, the latest first. Empty if the
    /// service has no inbox, unless other hosts share its store.
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
    /// The same, unless that version was itself rolled back, or a repair has converted its deliveries again:
    /// then no advice leads to it. Null from a host of an older release.
    #[serde(default)]
    pub way_back: Option<Digest>,
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
    pub behind: Option<Vec<Behind>>,
    /// Null if none is open.
    pub rollout: Option<OpenRollout>,
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
    /// `upload`, the address in a registry with its digest, or the name of the file in the inbox.
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
    /// The concerns that an activation would raise and that must be accepted.
    pub concerns: Vec<Concern>,
}

/// A stored version that was removed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedPlugin {
    pub name: String,
    pub version: String,
    pub digest: Digest,
    /// Always true.
    pub removed: bool,
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
    /// The version that was active before: the same one, if that was activated again.
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
    pub behind: Option<Vec<Behind>>,
    /// The comparison with the version that was active before. Null after a rollback, and if the
    /// version was only stored.
    pub verification: Option<VerifiedPlugin>,
}

/// The concerns about a rollback that are accepted.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackRequest {
    /// `rolled-back` accepts that the previous version was itself rolled back.
    #[serde(default)]
    #[schema(value_type = Vec<AcceptWord>)]
    pub accept: Vec<String>,
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
    #[schema(value_type = Vec<AcceptWord>)]
    pub accept: Vec<String>,
}

/// The concerns for which an activation was refused. The refusal has them beside `error`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefusedActivation {
    /// The words that accept the concerns. A concern that cannot be accepted has none.
    pub accept: Vec<AcceptWord>,
    pub concerns: Vec<Concern>,
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
    pub hosts: Option<Vec<Behind>>,
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
    /// previous one if the first digest is the active version's.
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

/// The verifications that run on the host, also those before an activation or a rollout, in the order
/// in which they began. Those that wait for their turn are not among them.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RunningVerifications {
    pub verifications: Vec<VerificationView>,
}

/// How far a verification is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationView {
    /// The plugin's name.
    pub name: String,
    /// The SHA-256 of the candidate.
    pub digest: Digest,
    /// Deliveries that were chosen. Zero while they are being chosen.
    pub chosen: u64,
    /// Those of them on which both versions were called.
    pub done: u64,
    pub since: Micros,
    /// The seconds after which it ends at the latest.
    pub seconds_left: u64,
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
    /// Null if the host is of an older release.
    #[serde(default)]
    pub kind: Option<PluginKind>,
    /// The number of golden cases that the candidate carries and has passed.
    pub golden: u32,
    /// The version that it was compared with. Null if no version of this name serves: then
    /// nothing was compared.
    pub against: Option<ComparedVersion>,
    #[serde(flatten)]
    pub coverage: Coverage,
    #[serde(flatten)]
    pub deliveries: Differences,
    /// Compared deliveries in which a lead changes its name, a phone, e-mail address or listing, or gains a value
    /// that leads of other people gain too. 0 if the host is of an older release.
    #[serde(default)]
    pub altered: u64,
    /// The time and memory of both versions for the deliveries that both converted. Null if there are none.
    pub cost: Option<VerifiedCost>,
    /// The differences for which an activation would be refused, each in a sentence: those that
    /// exceed the policy in the configuration.
    pub drift: Vec<String>,
    /// The other concerns that an activation would raise and that must be accepted. Empty for an
    /// impact, and beside an activation, which refuses them itself.
    pub concerns: Vec<Concern>,
    /// For an impact: the newest repairs of the version that are running, are being undone, or wrote
    /// changes that are not undone. Empty for a verification.
    pub repairs: Vec<RepairFacts>,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

impl VerifiedPlugin {
    pub fn is_part(&self) -> bool {
        self.coverage.total_is_least || self.coverage.chosen < self.coverage.total
    }

    /// Returns the number of compared deliveries, of how many: `1000 of 2285`, or `3` if none was left
    /// out. `what` is what they are.
    pub fn coverage(&self, what: &str) -> String {
        let (compared, total) = (self.deliveries.compared, self.coverage.total);
        let noun = if compared == 1 {
            "delivery"
        } else {
            "deliveries"
        };
        match (self.is_part(), self.coverage.total_is_least) {
            (false, _) => format!("{compared} {noun}"),
            (true, false) => format!("{compared} of {total} {what}"),
            (true, true) => format!("{compared} of at least {total} {what}"),
        }
    }

    /// Returns the repair of the version on which a host works. Another one cannot begin meanwhile.
    pub fn open_repair(&self) -> Option<&RepairFacts> {
        let mut repairs = self.repairs.iter();
        repairs.find(|repair| repair.state.is_open())
    }

    /// Returns whether leads are worse with the version than with the other one, or the events of an
    /// adapter are others.
    pub fn is_harmful(&self) -> bool {
        let found = &self.deliveries;
        let fields = found.fields.iter();
        found.newly_failing.count > 0
            || found.vanished.count > 0
            || self.altered > 0
            || (self.kind == Some(PluginKind::Adapter) && found.items.count > 0)
            || fields
                .filter(|field| field.change != DifferenceKind::Gained)
                .any(|field| field.differences.count > 0)
    }
}

/// The cost of two versions for the deliveries that both converted.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedCost {
    /// The deliveries that both converted.
    pub conversions: u64,
    /// The version that it was compared with.
    pub other: Needed,
    pub candidate: Needed,
}

/// How two versions of an adapter differ on the same sends.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendDifferences {
    /// Sends on which both versions were called.
    pub compared: u64,
    /// Compared sends for which both versions make the same request.
    pub same: u64,
    /// Compared sends whose request differs.
    pub changed: u64,
    /// Sends that the other version makes, and the candidate refuses or fails on, or whose answer it
    /// cannot read.
    pub newly_failing: DifferenceGroup,
    /// The same the other way round.
    pub no_longer_failing: DifferenceGroup,
    /// Sends for which only one version makes a request.
    pub items: DifferenceGroup,
    /// Differences of parts of the request, such as `request.path`, `header.content-type` or
    /// `body.template.name`, and of what is read in the answer, such as `answer.result`.
    pub fields: Vec<FieldDifference>,
}

/// The version that another one was compared with.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ComparedVersion {
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// Whether it is the active version.
    pub active: bool,
    /// Of an impact: whether a rollback would activate it.
    #[serde(default)]
    pub previous: bool,
    /// Of an impact: whether it was itself rolled back, or a repair has converted its deliveries again.
    #[serde(default)]
    pub discarded: bool,
}
