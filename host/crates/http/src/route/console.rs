//! The pages and forms of the console, and the files that its pages load.

/// Every address under `/console`, and `Nothing` for those without a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleRoute<'a> {
    Style,
    Script,
    Live,
    SignInPage,
    SignIn,
    SignOut,
    Today,
    Deliveries,
    Delivery { id: &'a str },
    ReplayDeliveries,
    ReplayDelivery { id: &'a str },
    ExportDelivery { id: &'a str },
    Analytics,
    Plugins,
    Plugin { name: &'a str },
    PluginGolden { name: &'a str, digest: &'a str },
    ActivatePlugin { name: &'a str },
    VerifyPlugin { name: &'a str },
    PluginImpact { name: &'a str },
    RollBackPlugin { name: &'a str },
    StartRollout { name: &'a str },
    ChangeRollout { name: &'a str },
    UploadPlugin,
    Repairs,
    StartRepair,
    Repair { id: &'a str },
    CancelRepair { id: &'a str },
    UndoRepair { id: &'a str },
    Connections,
    NewConnection,
    TryConnection,
    MakeConnection,
    Connection { which: &'a str },
    SetConnectionSecret { which: &'a str },
    ChangeConnection { which: &'a str },
    TryChange { which: &'a str },
    TestConnection { which: &'a str },
    ConnectionEntry { which: &'a str },
    SaveConnection { which: &'a str },
    Retirement { which: &'a str },
    RetireConnection { which: &'a str },
    PauseConnection { which: &'a str },
    ResumeConnection { which: &'a str },
    Instances,
    Instance { which: &'a str },
    SetInstanceSecret { which: &'a str },
    ChangeInstance { which: &'a str },
    PauseInstance { which: &'a str },
    ResumeInstance { which: &'a str },
    SyncTemplates { which: &'a str },
    Messages,
    Conversation { id: &'a str },
    PlayReply,
    ResolveMessage { id: &'a str },
    ResolveMessages,
    Deals,
    Deal { id: &'a str },
    Tickets,
    Ticket { id: &'a str },
    Contacts,
    Contact { id: &'a str },
    Erasure { id: &'a str },
    EraseContact,
    Keys,
    CreateKey,
    MakePartner,
    RevokeKey { id: &'a str },
    Audit,
    Service,
    Nothing,
}

impl<'a> ConsoleRoute<'a> {
    /// Finds the page or form. `segments` are those after `/console`.
    pub fn parse(method: &str, segments: &[&'a str]) -> Option<Self> {
        Some(match (method, segments) {
            ("GET", ["style.css"]) => Self::Style,
            ("GET", ["script.js"]) => Self::Script,
            ("GET", ["live"]) => Self::Live,
            ("GET", ["sign-in"]) => Self::SignInPage,
            ("POST", ["sign-in"]) => Self::SignIn,
            ("POST", ["sign-out"]) => Self::SignOut,
            ("GET", [] | [""]) => Self::Today,
            ("GET", ["deliveries"]) => Self::Deliveries,
            ("GET", ["deliveries", id]) => Self::Delivery { id },
            ("POST", ["deliveries", "replay"]) => Self::ReplayDeliveries,
            ("POST", ["deliveries", id, "replay"]) => Self::ReplayDelivery { id },
            ("POST", ["deliveries", id, "golden"]) => Self::ExportDelivery { id },
            ("GET", ["analytics"]) => Self::Analytics,
            ("GET", ["plugins"]) => Self::Plugins,
            ("GET", ["plugins", name]) => Self::Plugin { name },
            ("GET", ["plugins", name, "golden", digest]) => Self::PluginGolden { name, digest },
            ("POST", ["plugins", name, "activate"]) => Self::ActivatePlugin { name },
            ("POST", ["plugins", name, "verify"]) => Self::VerifyPlugin { name },
            ("POST", ["plugins", name, "impact"]) => Self::PluginImpact { name },
            ("POST", ["plugins", name, "rollback"]) => Self::RollBackPlugin { name },
            ("POST", ["plugins", name, "rollout"]) => Self::StartRollout { name },
            ("POST", ["plugins", name, "rollout", "change"]) => Self::ChangeRollout { name },
            ("POST", ["plugins"]) => Self::UploadPlugin,
            ("GET", ["repairs"]) => Self::Repairs,
            ("POST", ["repairs"]) => Self::StartRepair,
            ("GET", ["repairs", id]) => Self::Repair { id },
            ("POST", ["repairs", id, "cancel"]) => Self::CancelRepair { id },
            ("POST", ["repairs", id, "undo"]) => Self::UndoRepair { id },
            ("GET", ["connections"]) => Self::Connections,
            ("GET", ["connections", "new"]) => Self::NewConnection,
            ("POST", ["connections", "new", "try"]) => Self::TryConnection,
            ("POST", ["connections", "new"]) => Self::MakeConnection,
            ("GET", ["connections", which]) => Self::Connection { which },
            ("POST", ["connections", which, "secret"]) => Self::SetConnectionSecret { which },
            ("POST", ["connections", which, "config"]) => Self::ChangeConnection { which },
            ("POST", ["connections", which, "try"]) => Self::TryChange { which },
            ("POST", ["connections", which, "test"]) => Self::TestConnection { which },
            ("GET", ["connections", which, "entry"]) => Self::ConnectionEntry { which },
            ("POST", ["connections", which, "entry"]) => Self::SaveConnection { which },
            ("GET", ["connections", which, "retire"]) => Self::Retirement { which },
            ("POST", ["connections", which, "retire"]) => Self::RetireConnection { which },
            ("POST", ["connections", which, "pause"]) => Self::PauseConnection { which },
            ("POST", ["connections", which, "resume"]) => Self::ResumeConnection { which },
            ("GET", ["instances"]) => Self::Instances,
            ("GET", ["instances", which]) => Self::Instance { which },
            ("POST", ["instances", which, "secret"]) => Self::SetInstanceSecret { which },
            ("POST", ["instances", which, "config"]) => Self::ChangeInstance { which },
            ("POST", ["instances", which, "pause"]) => Self::PauseInstance { which },
            ("POST", ["instances", which, "resume"]) => Self::ResumeInstance { which },
            ("POST", ["instances", which, "sync-templates"]) => Self::SyncTemplates { which },
            ("GET", ["messages"]) => Self::Messages,
            ("GET", ["conversations", id]) => Self::Conversation { id },
            ("POST", ["messages", "reply"]) => Self::PlayReply,
            ("POST", ["messages", "resolve"]) => Self::ResolveMessages,
            ("POST", ["messages", id, "resolve"]) => Self::ResolveMessage { id },
            ("GET", ["deals"]) => Self::Deals,
            ("GET", ["deals", id]) => Self::Deal { id },
            ("GET", ["tickets"]) => Self::Tickets,
            ("GET", ["tickets", id]) => Self::Ticket { id },
            ("GET", ["contacts"]) => Self::Contacts,
            ("GET", ["contacts", id]) => Self::Contact { id },
            ("GET", ["contacts", "erasures", id]) => Self::Erasure { id },
            ("POST", ["contacts", "erase"]) => Self::EraseContact,
            ("GET", ["keys"]) => Self::Keys,
            ("POST", ["keys"]) => Self::CreateKey,
            ("POST", ["partners"]) => Self::MakePartner,
            ("POST", ["keys", id, "revoke"]) => Self::RevokeKey { id },
            ("GET", ["audit"]) => Self::Audit,
            ("GET", ["service"]) => Self::Service,
            _ => return None,
        })
    }

    /// Returns whether it is a form, which may change something.
    pub fn is_form(self) -> bool {
        matches!(
            self,
            Self::SignOut
                | Self::ReplayDeliveries
                | Self::ReplayDelivery { .. }
                | Self::ExportDelivery { .. }
                | Self::ActivatePlugin { .. }
                | Self::VerifyPlugin { .. }
                | Self::PluginImpact { .. }
                | Self::RollBackPlugin { .. }
                | Self::StartRollout { .. }
                | Self::ChangeRollout { .. }
                | Self::UploadPlugin
                | Self::StartRepair
                | Self::CancelRepair { .. }
                | Self::UndoRepair { .. }
                | Self::TryConnection
                | Self::MakeConnection
                | Self::SetConnectionSecret { .. }
                | Self::ChangeConnection { .. }
                | Self::TryChange { .. }
                | Self::SetInstanceSecret { .. }
                | Self::ChangeInstance { .. }
                | Self::TestConnection { .. }
                | Self::SaveConnection { .. }
                | Self::RetireConnection { .. }
                | Self::PauseConnection { .. }
                | Self::ResumeConnection { .. }
                | Self::PauseInstance { .. }
                | Self::ResumeInstance { .. }
                | Self::SyncTemplates { .. }
                | Self::PlayReply
                | Self::ResolveMessage { .. }
                | Self::ResolveMessages
                | Self::EraseContact
                | Self::CreateKey
                | Self::MakePartner
                | Self::RevokeKey { .. }
        )
    }

    /// Returns the path with names in place of what it names.
    pub fn template(self) -> &'static str {
        match self {
            Self::Style => "/console/style.css",
            Self::Script => "/console/script.js",
            Self::Live => "/console/live",
            Self::SignInPage | Self::SignIn => "/console/sign-in",
            Self::SignOut => "/console/sign-out",
            Self::Today => "/console",
            Self::Deliveries => "/console/deliveries",
            Self::Delivery { .. } => "/console/deliveries/{delivery}",
            Self::ReplayDeliveries => "/console/deliveries/replay",
            Self::ReplayDelivery { .. } => "/console/deliveries/{delivery}/replay",
            Self::ExportDelivery { .. } => "/console/deliveries/{delivery}/golden",
            Self::Analytics => "/console/analytics",
            Self::Plugins | Self::UploadPlugin => "/console/plugins",
            Self::Plugin { .. } => "/console/plugins/{plugin}",
            Self::PluginGolden { .. } => "/console/plugins/{plugin}/golden/{digest}",
            Self::ActivatePlugin { .. } => "/console/plugins/{plugin}/activate",
            Self::VerifyPlugin { .. } => "/console/plugins/{plugin}/verify",
            Self::PluginImpact { .. } => "/console/plugins/{plugin}/impact",
            Self::RollBackPlugin { .. } => "/console/plugins/{plugin}/rollback",
            Self::StartRollout { .. } => "/console/plugins/{plugin}/rollout",
            Self::ChangeRollout { .. } => "/console/plugins/{plugin}/rollout/change",
            Self::Repairs | Self::StartRepair => "/console/repairs",
            Self::Repair { .. } => "/console/repairs/{repair}",
            Self::CancelRepair { .. } => "/console/repairs/{repair}/cancel",
            Self::UndoRepair { .. } => "/console/repairs/{repair}/undo",
            Self::Connections => "/console/connections",
            Self::NewConnection | Self::MakeConnection => "/console/connections/new",
            Self::TryConnection => "/console/connections/new/try",
            Self::Connection { .. } => "/console/connections/{connection}",
            Self::SetConnectionSecret { .. } => "/console/connections/{connection}/secret",
            Self::ChangeConnection { .. } => "/console/connections/{connection}/config",
            Self::TryChange { .. } => "/console/connections/{connection}/try",
            Self::TestConnection { .. } => "/console/connections/{connection}/test",
            Self::ConnectionEntry { .. } | Self::SaveConnection { .. } => {
                "/console/connections/{connection}/entry"
            }
            Self::Retirement { .. } | Self::RetireConnection { .. } => {
                "/console/connections/{connection}/retire"
            }
            Self::PauseConnection { .. } => "/console/connections/{connection}/pause",
            Self::ResumeConnection { .. } => "/console/connections/{connection}/resume",
            Self::Instances => "/console/instances",
            Self::Instance { .. } => "/console/instances/{instance}",
            Self::SetInstanceSecret { .. } => "/console/instances/{instance}/secret",
            Self::ChangeInstance { .. } => "/console/instances/{instance}/config",
            Self::PauseInstance { .. } => "/console/instances/{instance}/pause",
            Self::ResumeInstance { .. } => "/console/instances/{instance}/resume",
            Self::SyncTemplates { .. } => "/console/instances/{instance}/sync-templates",
            Self::Messages => "/console/messages",
            Self::Conversation { .. } => "/console/conversations/{conversation}",
            Self::PlayReply => "/console/messages/reply",
            Self::ResolveMessages => "/console/messages/resolve",
            Self::ResolveMessage { .. } => "/console/messages/{message}/resolve",
            Self::Deals => "/console/deals",
            Self::Deal { .. } => "/console/deals/{deal}",
            Self::Tickets => "/console/tickets",
            Self::Ticket { .. } => "/console/tickets/{ticket}",
            Self::Contacts => "/console/contacts",
            Self::Contact { .. } => "/console/contacts/{contact}",
            Self::Erasure { .. } => "/console/contacts/erasures/{erasure}",
            Self::EraseContact => "/console/contacts/erase",
            Self::Keys | Self::CreateKey => "/console/keys",
            Self::MakePartner => "/console/partners",
            Self::RevokeKey { .. } => "/console/keys/{key}/revoke",
            Self::Audit => "/console/audit",
            Self::Service => "/console/service",
            Self::Nothing => "/console/{page}",
        }
    }
}
