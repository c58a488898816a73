//! The operations of the admin surface.

use std::borrow::Cow;

use leadhost_domain::key::Role;
use leadhost_pipeline::apply::DeclarationPart;

/// Every operation under `/admin/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminRoute<'a> {
    Status,
    ShowConfig,
    Apply,
    ListAudit,
    ListKeys,
    CreateKey,
    RevokeKey {
        id: &'a str,
    },
    ListPlugins,
    UploadPlugin,
    CheckPlugin,
    ListVerifications,
    VerifyUpload,
    VerifyPlugin {
        name: &'a str,
    },
    PluginImpact {
        name: &'a str,
    },
    ActivatePlugin {
        name: &'a str,
    },
    RollBackPlugin {
        name: &'a str,
    },
    RemovePlugin {
        name: &'a str,
        digest: &'a str,
    },
    ListRollouts,
    PluginCalls {
        name: &'a str,
    },
    PluginGolden {
        name: &'a str,
        digest: &'a str,
    },
    ShowRollout {
        name: &'a str,
    },
    StartRollout {
        name: &'a str,
    },
    ChangeRollout {
        name: &'a str,
    },
    ListDeliveries,
    ShowDelivery {
        id: &'a str,
    },
    ReplayDelivery {
        id: &'a str,
    },
    ReplayDeliveries,
    CaptureDeliveries,
    ExportGolden {
        id: &'a str,
    },
    ListRepairs,
    StartRepair,
    ShowRepair {
        id: &'a str,
    },
    ListRepairChanges {
        id: &'a str,
    },
    CancelRepair {
        id: &'a str,
    },
    UndoRepair {
        id: &'a str,
    },
    ListConnections,
    ChangeConnection {
        which: &'a str,
    },
    PauseConnection {
        which: &'a str,
    },
    ResumeConnection {
        which: &'a str,
    },
    TryBody,
    TestConnection {
        which: &'a str,
    },
    ListInstances,
    ShowInstance {
        which: &'a str,
    },
    ChangeInstance {
        which: &'a str,
    },
    PauseInstance {
        which: &'a str,
    },
    ResumeInstance {
        which: &'a str,
    },
    SyncTemplates {
        which: &'a str,
    },
    ListOutbox,
    PlayReply,
    PlayStatus {
        id: &'a str,
    },
    ResolveMessage {
        id: &'a str,
    },
    ResolveMessages,
    ListDeals,
    ShowDeal {
        id: &'a str,
    },
    RemoveDeal {
        id: &'a str,
    },
    ListContacts,
    ShowContact {
        id: &'a str,
    },
    EraseContact,
    ListErasures,
    ShowErasure {
        id: &'a str,
    },
    ListTickets,
    ShowTicket {
        id: &'a str,
    },
    ListWorkspaces,
    CountAnalytics {
        workspace: &'a str,
        set: &'a str,
        granularity: &'a str,
    },
    ImportProducts {
        workspace: &'a str,
    },
    RemoveProduct {
        workspace: &'a str,
        external_id: &'a str,
    },
    ShowActivity,
    ShowEtl,
    RunEtl,
    RebuildEtl,
    GetPart {
        workspace: &'a str,
        part: DeclarationPart,
    },
    PutPart {
        workspace: &'a str,
        part: DeclarationPart,
    },
}

impl<'a> AdminRoute<'a> {
    /// Finds the operation. `segments` are those after `/admin/v1`.
    pub fn parse(method: &str, segments: &[&'a str]) -> Option<Self> {
        Some(match (method, segments) {
            ("GET", ["status"]) => Self::Status,
            ("GET", ["config"]) => Self::ShowConfig,
            ("POST", ["apply"]) => Self::Apply,
            ("GET", ["audit"]) => Self::ListAudit,
            ("GET", ["keys"]) => Self::ListKeys,
            ("POST", ["keys"]) => Self::CreateKey,
            ("DELETE", ["keys", id]) => Self::RevokeKey { id },
            ("GET", ["plugins"]) => Self::ListPlugins,
            ("POST", ["plugins"]) => Self::UploadPlugin,
            ("POST", ["plugins", "check"]) => Self::CheckPlugin,
            ("GET", ["plugins", "verify"]) => Self::ListVerifications,
            ("POST", ["plugins", "verify"]) => Self::VerifyUpload,
            ("POST", ["plugins", name, "verify"]) => Self::VerifyPlugin { name },
            ("POST", ["plugins", name, "impact"]) => Self::PluginImpact { name },
            ("POST", ["plugins", name, "activate"]) => Self::ActivatePlugin { name },
            ("POST", ["plugins", name, "rollback"]) => Self::RollBackPlugin { name },
            ("DELETE", ["plugins", name, "versions", digest]) => {
                Self::RemovePlugin { name, digest }
            }
            ("GET", ["rollouts"]) => Self::ListRollouts,
            ("GET", ["plugins", name, "calls"]) => Self::PluginCalls { name },
            ("GET", ["plugins", name, "versions", digest, "golden"]) => {
                Self::PluginGolden { name, digest }
            }
            ("GET", ["plugins", name, "rollout"]) => Self::ShowRollout { name },
            ("POST", ["plugins", name, "rollout"]) => Self::StartRollout { name },
            ("PATCH", ["plugins", name, "rollout"]) => Self::ChangeRollout { name },
            ("GET", ["deliveries"]) => Self::ListDeliveries,
            ("POST", ["deliveries", "captures"]) => Self::CaptureDeliveries,
            ("GET", ["deliveries", id]) => Self::ShowDelivery { id },
            ("POST", ["deliveries", "replay"]) => Self::ReplayDeliveries,
            ("POST", ["deliveries", id, "replay"]) => Self::ReplayDelivery { id },
            ("POST", ["deliveries", id, "golden"]) => Self::ExportGolden { id },
            ("GET", ["repairs"]) => Self::ListRepairs,
            ("POST", ["repairs"]) => Self::StartRepair,
            ("GET", ["repairs", id]) => Self::ShowRepair { id },
            ("GET", ["repairs", id, "changes"]) => Self::ListRepairChanges { id },
            ("POST", ["repairs", id, "cancel"]) => Self::CancelRepair { id },
            ("POST", ["repairs", id, "undo"]) => Self::UndoRepair { id },
            ("GET", ["connections"]) => Self::ListConnections,
            ("PATCH", ["connections", which]) => Self::ChangeConnection { which },
            ("POST", ["connections", which, "pause"]) => Self::PauseConnection { which },
            ("POST", ["connections", which, "resume"]) => Self::ResumeConnection { which },
            ("POST", ["connections", "try"]) => Self::TryBody,
            ("POST", ["connections", which, "test"]) => Self::TestConnection { which },
            ("GET", ["instances"]) => Self::ListInstances,
            ("GET", ["instances", which]) => Self::ShowInstance { which },
            ("PATCH", ["instances", which]) => Self::ChangeInstance { which },
            ("POST", ["instances", which, "pause"]) => Self::PauseInstance { which },
            ("POST", ["instances", which, "resume"]) => Self::ResumeInstance { which },
            ("POST", ["instances", which, "sync-templates"]) => Self::SyncTemplates { which },
            ("GET", ["outbox"]) => Self::ListOutbox,
            ("POST", ["outbox", "reply"]) => Self::PlayReply,
            ("POST", ["outbox", "resolve"]) => Self::ResolveMessages,
            ("POST", ["outbox", id, "status"]) => Self::PlayStatus { id },
            ("POST", ["outbox", id, "resolve"]) => Self::ResolveMessage { id },
            ("GET", ["deals"]) => Self::ListDeals,
            ("GET", ["deals", id]) => Self::ShowDeal { id },
            ("DELETE", ["deals", id]) => Self::RemoveDeal { id },
            ("GET", ["contacts"]) => Self::ListContacts,
            ("GET", ["contacts", id]) => Self::ShowContact { id },
            ("POST", ["contacts", "erase"]) => Self::EraseContact,
            ("GET", ["erasures"]) => Self::ListErasures,
            ("GET", ["erasures", id]) => Self::ShowErasure { id },
            ("GET", ["tickets"]) => Self::ListTickets,
            ("GET", ["tickets", id]) => Self::ShowTicket { id },
            ("GET", ["workspaces"]) => Self::ListWorkspaces,
            ("GET", ["workspaces", workspace, "analytics", set, granularity]) => {
                Self::CountAnalytics {
                    workspace,
                    set,
                    granularity,
                }
            }
            ("PUT", ["workspaces", workspace, "products"]) => Self::ImportProducts { workspace },
            ("DELETE", ["workspaces", workspace, "products", external_id]) => Self::RemoveProduct {
                workspace,
                external_id,
            },
            ("GET", ["activity"]) => Self::ShowActivity,
            ("GET", ["etl"]) => Self::ShowEtl,
            ("POST", ["etl", "runs"]) => Self::RunEtl,
            ("POST", ["etl", "rebuilds"]) => Self::RebuildEtl,
            ("GET", ["workspaces", workspace, "owners"]) => Self::GetPart {
                workspace,
                part: DeclarationPart::Owners,
            },
            ("PUT", ["workspaces", workspace, "owners"]) => Self::PutPart {
                workspace,
                part: DeclarationPart::Owners,
            },
            ("GET", ["workspaces", workspace, "agents"]) => Self::GetPart {
                workspace,
                part: DeclarationPart::Agents,
            },
            ("PUT", ["workspaces", workspace, "agents"]) => Self::PutPart {
                workspace,
                part: DeclarationPart::Agents,
            },
            _ => return None,
        })
    }

    /// Returns whether the audit has the operation: it may change something, or it hands out what
    /// senders sent, for use outside the service.
    pub fn changes(&self) -> bool {
        match self {
            Self::Status
            | Self::ShowConfig
            | Self::ListAudit
            | Self::ListKeys
            | Self::ListPlugins
            | Self::CheckPlugin
            | Self::ListVerifications
            | Self::VerifyUpload
            | Self::VerifyPlugin { .. }
            | Self::PluginImpact { .. }
            | Self::ListRollouts
            | Self::PluginCalls { .. }
            | Self::PluginGolden { .. }
            | Self::ShowRollout { .. }
            | Self::ListDeliveries
            | Self::ShowDelivery { .. }
            | Self::ListRepairs
            | Self::ShowRepair { .. }
            | Self::ListRepairChanges { .. }
            | Self::ListConnections
            | Self::TryBody
            | Self::ListInstances
            | Self::ShowInstance { .. }
            | Self::ListOutbox
            | Self::ListDeals
            | Self::ShowDeal { .. }
            | Self::ListContacts
            | Self::ShowContact { .. }
            | Self::ListErasures
            | Self::ShowErasure { .. }
            | Self::ListTickets
            | Self::ShowTicket { .. }
            | Self::ListWorkspaces
            | Self::CountAnalytics { .. }
            | Self::ShowActivity
            | Self::ShowEtl
            | Self::GetPart { .. } => false,
            Self::Apply
            | Self::CreateKey
            | Self::RevokeKey { .. }
            | Self::UploadPlugin
            | Self::ActivatePlugin { .. }
            | Self::RollBackPlugin { .. }
            | Self::RemovePlugin { .. }
            | Self::StartRollout { .. }
            | Self::ChangeRollout { .. }
            | Self::ReplayDelivery { .. }
            | Self::ReplayDeliveries
            | Self::CaptureDeliveries
            | Self::ExportGolden { .. }
            | Self::StartRepair
            | Self::CancelRepair { .. }
            | Self::UndoRepair { .. }
            | Self::ChangeConnection { .. }
            | Self::PauseConnection { .. }
            | Self::ResumeConnection { .. }
            | Self::TestConnection { .. }
            | Self::ChangeInstance { .. }
            | Self::PauseInstance { .. }
            | Self::ResumeInstance { .. }
            | Self::SyncTemplates { .. }
            | Self::PlayReply
            | Self::PlayStatus { .. }
            | Self::ResolveMessage { .. }
            | Self::ResolveMessages
            | Self::RemoveDeal { .. }
            | Self::EraseContact
            | Self::ImportProducts { .. }
            | Self::RemoveProduct { .. }
            | Self::RunEtl
            | Self::RebuildEtl
            | Self::PutPart { .. } => true,
        }
    }

    /// Returns the role that a key needs for the operation. An activation that lets a version do
    /// more needs another one: the endpoint checks it.
    pub fn role(&self) -> Role {
        match self {
            Self::Apply
            | Self::PutPart { .. }
            | Self::ChangeConnection { .. }
            | Self::ChangeInstance { .. }
            | Self::CreateKey
            | Self::RevokeKey { .. } => Role::Admin,
            other if other.changes() => Role::Operator,
            _ => Role::Viewer,
        }
    }

    /// Returns the name of the operation in the audit.
    pub fn act(&self) -> &'static str {
        let name = self.name();
        name.strip_prefix("admin-").unwrap_or(name)
    }

    /// Returns what the operation is about, as the path has it: a name or an id, or nothing.
    pub fn target(&self) -> Cow<'a, str> {
        match *self {
            Self::RevokeKey { id }
            | Self::ShowDelivery { id }
            | Self::ReplayDelivery { id }
            | Self::ExportGolden { id }
            | Self::ShowRepair { id }
            | Self::ListRepairChanges { id }
            | Self::CancelRepair { id }
            | Self::UndoRepair { id }
            | Self::PlayStatus { id }
            | Self::ResolveMessage { id }
            | Self::ShowDeal { id }
            | Self::RemoveDeal { id }
            | Self::ShowContact { id }
            | Self::ShowErasure { id }
            | Self::ShowTicket { id } => id.into(),
            Self::VerifyPlugin { name }
            | Self::PluginImpact { name }
            | Self::ActivatePlugin { name }
            | Self::RollBackPlugin { name }
            | Self::RemovePlugin { name, .. }
            | Self::PluginCalls { name }
            | Self::PluginGolden { name, .. }
            | Self::ShowRollout { name }
            | Self::StartRollout { name }
            | Self::ChangeRollout { name } => name.into(),
            Self::ChangeConnection { which }
            | Self::ChangeInstance { which }
            | Self::PauseConnection { which }
            | Self::ResumeConnection { which }
            | Self::TestConnection { which }
            | Self::ShowInstance { which }
            | Self::PauseInstance { which }
            | Self::ResumeInstance { which }
            | Self::SyncTemplates { which } => which.into(),
            Self::CountAnalytics { workspace, .. }
            | Self::ImportProducts { workspace }
            | Self::GetPart { workspace, .. }
            | Self::PutPart { workspace, .. } => workspace.into(),
            Self::RemoveProduct {
                workspace,
                external_id,
            } => format!("{workspace}/{external_id}").into(),
            Self::Status
            | Self::ShowConfig
            | Self::ListRollouts
            | Self::Apply
            | Self::ListAudit
            | Self::ListKeys
            | Self::CreateKey
            | Self::ListPlugins
            | Self::UploadPlugin
            | Self::CheckPlugin
            | Self::ListVerifications
            | Self::VerifyUpload
            | Self::ListDeliveries
            | Self::ReplayDeliveries
            | Self::CaptureDeliveries
            | Self::ListRepairs
            | Self::StartRepair
            | Self::ListConnections
            | Self::TryBody
            | Self::ListInstances
            | Self::ListOutbox
            | Self::PlayReply
            | Self::ResolveMessages
            | Self::ListDeals
            | Self::ListContacts
            | Self::EraseContact
            | Self::ListErasures
            | Self::ListTickets
            | Self::ListWorkspaces
            | Self::ShowActivity
            | Self::ShowEtl
            | Self::RunEtl
            | Self::RebuildEtl => "".into(),
        }
    }

    /// Returns the name of the operation in the log and in metrics. It has no ids in it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status => "admin-status",
            Self::ShowConfig => "admin-show-config",
            Self::Apply => "admin-apply",
            Self::ListAudit => "admin-list-audit",
            Self::ListKeys => "admin-list-keys",
            Self::CreateKey => "admin-create-key",
            Self::RevokeKey { .. } => "admin-revoke-key",
            Self::ListPlugins => "admin-list-plugins",
            Self::UploadPlugin => "admin-upload-plugin",
            Self::CheckPlugin => "admin-check-plugin",
            Self::ListVerifications => "admin-list-verifications",
            Self::VerifyUpload => "admin-verify-upload",
            Self::VerifyPlugin { .. } => "admin-verify-plugin",
            Self::PluginImpact { .. } => "admin-plugin-impact",
            Self::ActivatePlugin { .. } => "admin-activate-plugin",
            Self::RollBackPlugin { .. } => "admin-roll-back-plugin",
            Self::RemovePlugin { .. } => "admin-remove-plugin",
            Self::ListRollouts => "admin-list-rollouts",
            Self::PluginCalls { .. } => "admin-plugin-calls",
            Self::PluginGolden { .. } => "admin-plugin-golden",
            Self::ShowRollout { .. } => "admin-show-rollout",
            Self::StartRollout { .. } => "admin-start-rollout",
            Self::ChangeRollout { .. } => "admin-change-rollout",
            Self::ListDeliveries => "admin-list-deliveries",
            Self::ShowDelivery { .. } => "admin-show-delivery",
            Self::ReplayDelivery { .. } => "admin-replay-delivery",
            Self::ReplayDeliveries => "admin-replay-deliveries",
            Self::CaptureDeliveries => "admin-capture-deliveries",
            Self::ExportGolden { .. } => "admin-export-golden",
            Self::ListRepairs => "admin-list-repairs",
            Self::StartRepair => "admin-start-repair",
            Self::ShowRepair { .. } => "admin-show-repair",
            Self::ListRepairChanges { .. } => "admin-list-repair-changes",
            Self::CancelRepair { .. } => "admin-cancel-repair",
            Self::UndoRepair { .. } => "admin-undo-repair",
            Self::ListConnections => "admin-list-connections",
            Self::ChangeConnection { .. } => "admin-change-connection",
            Self::PauseConnection { .. } => "admin-pause-connection",
            Self::ResumeConnection { .. } => "admin-resume-connection",
            Self::TryBody => "admin-try-body",
            Self::TestConnection { .. } => "admin-test-connection",
            Self::ListInstances => "admin-list-instances",
            Self::ShowInstance { .. } => "admin-show-instance",
            Self::ChangeInstance { .. } => "admin-change-instance",
            Self::PauseInstance { .. } => "admin-pause-instance",
            Self::ResumeInstance { .. } => "admin-resume-instance",
            Self::SyncTemplates { .. } => "admin-sync-templates",
            Self::ListOutbox => "admin-list-outbox",
            Self::PlayReply => "admin-play-reply",
            Self::PlayStatus { .. } => "admin-play-status",
            Self::ResolveMessage { .. } => "admin-resolve-message",
            Self::ResolveMessages => "admin-resolve-messages",
            Self::ListDeals => "admin-list-deals",
            Self::ShowDeal { .. } => "admin-show-deal",
            Self::RemoveDeal { .. } => "admin-remove-deal",
            Self::EraseContact => "admin-erase-contact",
            Self::ListContacts => "admin-list-contacts",
            Self::ShowContact { .. } => "admin-show-contact",
            Self::ListErasures => "admin-list-erasures",
            Self::ShowErasure { .. } => "admin-show-erasure",
            Self::ListTickets => "admin-list-tickets",
            Self::ShowTicket { .. } => "admin-show-ticket",
            Self::ListWorkspaces => "admin-list-workspaces",
            Self::CountAnalytics { .. } => "admin-count-analytics",
            Self::ImportProducts { .. } => "admin-import-products",
            Self::RemoveProduct { .. } => "admin-remove-product",
            Self::ShowActivity => "admin-show-activity",
            Self::ShowEtl => "admin-show-etl",
            Self::RunEtl => "admin-run-etl",
            Self::RebuildEtl => "admin-rebuild-etl",
            Self::GetPart {
                part: DeclarationPart::Owners,
                ..
            } => "admin-list-owners",
            Self::GetPart {
                part: DeclarationPart::Agents,
                ..
            } => "admin-list-agents",
            Self::PutPart {
                part: DeclarationPart::Owners,
                ..
            } => "admin-put-owners",
            Self::PutPart {
                part: DeclarationPart::Agents,
                ..
            } => "admin-put-agents",
        }
    }

    /// Returns the path with names in place of what it names, as the OpenAPI document has it.
    pub fn template(&self) -> &'static str {
        match self {
            Self::Status => "/admin/v1/status",
            Self::ShowConfig => "/admin/v1/config",
            Self::Apply => "/admin/v1/apply",
            Self::ListAudit => "/admin/v1/audit",
            Self::ListKeys | Self::CreateKey => "/admin/v1/keys",
            Self::RevokeKey { .. } => "/admin/v1/keys/{key}",
            Self::ListPlugins | Self::UploadPlugin => "/admin/v1/plugins",
            Self::CheckPlugin => "/admin/v1/plugins/check",
            Self::ListVerifications | Self::VerifyUpload => "/admin/v1/plugins/verify",
            Self::VerifyPlugin { .. } => "/admin/v1/plugins/{plugin}/verify",
            Self::PluginImpact { .. } => "/admin/v1/plugins/{plugin}/impact",
            Self::ActivatePlugin { .. } => "/admin/v1/plugins/{plugin}/activate",
            Self::RollBackPlugin { .. } => "/admin/v1/plugins/{plugin}/rollback",
            Self::RemovePlugin { .. } => "/admin/v1/plugins/{plugin}/versions/{digest}",
            Self::ListRollouts => "/admin/v1/rollouts",
            Self::PluginCalls { .. } => "/admin/v1/plugins/{plugin}/calls",
            Self::PluginGolden { .. } => "/admin/v1/plugins/{plugin}/versions/{digest}/golden",
            Self::ShowRollout { .. } | Self::StartRollout { .. } | Self::ChangeRollout { .. } => {
                "/admin/v1/plugins/{plugin}/rollout"
            }
            Self::ListDeliveries => "/admin/v1/deliveries",
            Self::CaptureDeliveries => "/admin/v1/deliveries/captures",
            Self::ShowDelivery { .. } => "/admin/v1/deliveries/{delivery}",
            Self::ReplayDeliveries => "/admin/v1/deliveries/replay",
            Self::ReplayDelivery { .. } => "/admin/v1/deliveries/{delivery}/replay",
            Self::ExportGolden { .. } => "/admin/v1/deliveries/{delivery}/golden",
            Self::ListRepairs | Self::StartRepair => "/admin/v1/repairs",
            Self::ShowRepair { .. } => "/admin/v1/repairs/{repair}",
            Self::ListRepairChanges { .. } => "/admin/v1/repairs/{repair}/changes",
            Self::CancelRepair { .. } => "/admin/v1/repairs/{repair}/cancel",
            Self::UndoRepair { .. } => "/admin/v1/repairs/{repair}/undo",
            Self::ListConnections => "/admin/v1/connections",
            Self::ChangeConnection { .. } => "/admin/v1/connections/{connection}",
            Self::PauseConnection { .. } => "/admin/v1/connections/{connection}/pause",
            Self::ResumeConnection { .. } => "/admin/v1/connections/{connection}/resume",
            Self::TryBody => "/admin/v1/connections/try",
            Self::TestConnection { .. } => "/admin/v1/connections/{connection}/test",
            Self::ListInstances => "/admin/v1/instances",
            Self::ShowInstance { .. } | Self::ChangeInstance { .. } => {
                "/admin/v1/instances/{instance}"
            }
            Self::PauseInstance { .. } => "/admin/v1/instances/{instance}/pause",
            Self::ResumeInstance { .. } => "/admin/v1/instances/{instance}/resume",
            Self::SyncTemplates { .. } => "/admin/v1/instances/{instance}/sync-templates",
            Self::ListOutbox => "/admin/v1/outbox",
            Self::PlayReply => "/admin/v1/outbox/reply",
            Self::ResolveMessages => "/admin/v1/outbox/resolve",
            Self::PlayStatus { .. } => "/admin/v1/outbox/{message}/status",
            Self::ResolveMessage { .. } => "/admin/v1/outbox/{message}/resolve",
            Self::ListDeals => "/admin/v1/deals",
            Self::ShowDeal { .. } | Self::RemoveDeal { .. } => "/admin/v1/deals/{deal}",
            Self::ListContacts => "/admin/v1/contacts",
            Self::ShowContact { .. } => "/admin/v1/contacts/{contact}",
            Self::EraseContact => "/admin/v1/contacts/erase",
            Self::ListErasures => "/admin/v1/erasures",
            Self::ShowErasure { .. } => "/admin/v1/erasures/{erasure}",
            Self::ListTickets => "/admin/v1/tickets",
            Self::ShowTicket { .. } => "/admin/v1/tickets/{ticket}",
            Self::ListWorkspaces => "/admin/v1/workspaces",
            Self::CountAnalytics { .. } => {
                "/admin/v1/workspaces/{workspace}/analytics/{metricSet}/{granularity}"
            }
            Self::ImportProducts { .. } => "/admin/v1/workspaces/{workspace}/products",
            Self::RemoveProduct { .. } => "/admin/v1/workspaces/{workspace}/products/{externalId}",
            Self::ShowActivity => "/admin/v1/activity",
            Self::ShowEtl => "/admin/v1/etl",
            Self::RunEtl => "/admin/v1/etl/runs",
            Self::RebuildEtl => "/admin/v1/etl/rebuilds",
            Self::GetPart {
                part: DeclarationPart::Owners,
                ..
            }
            | Self::PutPart {
                part: DeclarationPart::Owners,
                ..
            } => "/admin/v1/workspaces/{workspace}/owners",
            Self::GetPart {
                part: DeclarationPart::Agents,
                ..
            }
            | Self::PutPart {
                part: DeclarationPart::Agents,
                ..
            } => "/admin/v1/workspaces/{workspace}/agents",
        }
    }
}
