//! `leadhost key`. The text of a new key goes to standard output, so that a script can read it; its
//! description goes to standard error.

use clap::ValueEnum;

use crate::cli::prelude::*;
use leadhost_admin_api::keys::{CreateKeyRequest, CreatedKey, KeyRevoked, Keys};
use leadhost_domain::key::{KeyKind, Role};

verbs! {
    pub enum KeyCommand {
        /// Create a key and show it once
        Create(CreateKey),
        /// List keys, without their secret values
        List(ListKeys),
        /// Revoke a key
        Revoke(RevokeKey),
    }
}

/// The kinds of keys that belong to a workspace.
const OF_A_WORKSPACE: [(&str, &str); 3] = [
    ("kind", "partner"),
    ("kind", "workspace"),
    ("kind", "access-token"),
];

/// The kinds of keys that belong to a partner of the workspace.
const OF_A_PARTNER: [(&str, &str); 2] = [("kind", "partner"), ("kind", "access-token")];

#[derive(Args)]
pub struct CreateKey {
    /// Which API the key opens: the gateway, the data API, deal log and desk, or the admin API
    #[arg(long)]
    kind: KeyKindChoice,
    /// The workspace's slug; for all kinds except admin
    #[arg(long, value_name = "SLUG", required_if_eq_any = OF_A_WORKSPACE)]
    workspace: Option<String>,
    /// The partner's name; for partner keys and access tokens
    #[arg(long, value_name = "NAME", required_if_eq_any = OF_A_PARTNER)]
    partner: Option<String>,
    /// The role of an admin key [default: admin]
    #[arg(long)]
    role: Option<KeyRole>,
    /// The purpose of the key, which lists show
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Days after which the key expires [default: never]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    expires_days: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KeyKindChoice {
    Partner,
    Workspace,
    AccessToken,
    Admin,
}

#[derive(Clone, Copy, ValueEnum)]
enum KeyRole {
    /// Reads, and compares stored versions
    Viewer,
    /// Also activates versions, replays, pauses and erases
    Operator,
    /// Also applies workspace files, creates keys, and accepts versions with further permissions
    Admin,
}

impl ServiceCommand for CreateKey {
    async fn run(self, client: AdminClient) -> CommandResult {
        let kind = match self.kind {
            KeyKindChoice::Partner => KeyKind::Partner,
            KeyKindChoice::Workspace => KeyKind::Workspace,
            KeyKindChoice::AccessToken => KeyKind::AccessToken,
            KeyKindChoice::Admin => KeyKind::Admin,
        };
        let request = CreateKeyRequest {
            kind,
            workspace: self.workspace,
            partner: self.partner,
            role: self.role.map(|role| match role {
                KeyRole::Viewer => Role::Viewer,
                KeyRole::Operator => Role::Operator,
                KeyRole::Admin => Role::Admin,
            }),
            label: self.label,
            expires_days: self.expires_days,
        };
        let show = |made: &CreatedKey| {
            let (id, hint) = (made.view.id, &made.view.hint);
            complain!("key {id} ({hint}), shown only this once:");
            say(&made.key);
        };
        client.act("/admin/v1/keys", &request, show).await
    }
}

#[derive(Args, Serialize)]
pub struct ListKeys {
    /// Only keys of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
}

impl ServiceCommand for ListKeys {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/keys{}", query_of(&self));
        client.show(&path, |all: &Keys| say_rows(&all.keys)).await
    }
}

#[derive(Args)]
pub struct RevokeKey {
    /// The key's id, as `leadhost key list` shows it
    id: String,
}

impl ServiceCommand for RevokeKey {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/keys/{}", encoded(&self.id));
        client.print(&client.delete(&path).await?, |_: &KeyRevoked| {
            let id = &self.id;
            say!("Revoked {id}. Every host refuses it within one second.");
        });
        Ok(())
    }
}
