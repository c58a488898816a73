//! The pages and forms of the console, and the files that its pages load.

/// Every address under `/console`.
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
    TestConnection { which: &'a str },
    PauseConnection { which: &'a str },
    ResumeConnection { which: &'a str },
    Instances,
    Instance { which: &'a str },
    PauseInstance { which: &'a str },
    ResumeInstance { which: &'a str },
    SyncTemplates { which: &'a str },
    Messages,
    Conversation { id: &'a str },
    PlayReply,
    ResolveMessage { id: &'a str },
    Deals,
    Contacts,
    EraseContact,
    Keys,
    CreateKey,
    RevokeKey { id: &'a str },
    Audit,
    Service,
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
            ("POST", ["connections", which, "test"]) => Self::TestConnection { which },
            ("POST", ["connections", which, "pause"]) => Self::PauseConnection { which },
            ("POST", ["connections", which, "resume"]) => Self::ResumeConnection { which },
            ("GET", ["instances"]) => Self::Instances,
            ("GET", ["instances", which]) => Self::Instance { which },
            ("POST", ["instances", which, "pause"]) => Self::PauseInstance { which },
            ("POST", ["instances", which, "resume"]) => Self::ResumeInstance { which },
            ("POST", ["instances", which, "sync-templates"]) => Self::SyncTemplates { which },
            ("GET", ["messages"]) => Self::Messages,
            ("GET", ["conversations", id]) => Self::Conversation { id },
            ("POST", ["messages", "reply"]) => Self::PlayReply,
            ("POST", ["messages", id, "resolve"]) => Self::ResolveMessage { id },
            ("GET", ["deals"]) => Self::Deals,
            ("GET", ["contacts"]) => Self::Contacts,
            ("POST", ["contacts", "erase"]) => Self::EraseContact,
            ("GET", ["keys"]) => Self::Keys,
            ("POST", ["keys"]) => Self::CreateKey,
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
                | Self::TestConnection { .. }
                | Self::PauseConnection { .. }
                | Self::ResumeConnection { .. }
                | Self::PauseInstance { .. }
                | Self::ResumeInstance { .. }
                | Self::SyncTemplates { .. }
                | Self::PlayReply
                | Self::ResolveMessage { .. }
                | Self::EraseContact
                | Self::CreateKey
                | Self::RevokeKey { .. }
        )
    }
}
