//! `leadhost key`. The text of a new key goes to standard output, so that a script can read it; its
//! description goes to standard error.

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::client::{ServiceAddress, encoded};
use crate::cli::failure::CommandFailure;
use crate::cli::output::{complain, say};
use crate::cli::table::{optional, seconds, table};
use leadhost_admin_api::keys::{CreateKeyRequest, CreatedKey, KeyRevoked, Keys};
use leadhost_domain::key::{KeyKind, Role};

#[derive(Subcommand)]
pub enum KeyCommand {
    /// Create a key and show it once
    Create(CreateKey),
    /// List keys, without their secret values
    List(ListKeys),
    /// Revoke a key
    Revoke(RevokeKey),
}

impl KeyCommand {
    /// Runs the subcommand.
    pub async fn run(self) -> Result<(), CommandFailure> {
        match self {
            Self::Create(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Revoke(command) => command.run().await,
        }
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
    #[command(flatten)]
    service: ServiceAddress,
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
    /// Reads, checks and compares
    Viewer,
    /// Also activates versions, replays, pauses and erases
    Operator,
    /// Also applies workspace files, creates keys, and accepts versions with further permissions
    Admin,
}

impl CreateKey {
    /// Creates a key and prints it, once.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let kind = match self.kind {
            KeyKindChoice::Partner => KeyKind::Partner,
            KeyKindChoice::Workspace => KeyKind::Workspace,
            KeyKindChoice::AccessToken => KeyKind::AccessToken,
            KeyKindChoice::Admin => KeyKind::Admin,
        };
        let client = self.service.client()?;
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
        let made = client.post("/admin/v1/keys", &request).await?;
        client.print(&made, |made: &CreatedKey| {
            complain(&format!(
                "key {} ({}), shown only this once:",
                made.view.id, made.view.hint
            ));
            say(&made.key);
        });
        Ok(())
    }
}

#[derive(Args)]
pub struct ListKeys {
    /// Only keys of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    service: ServiceAddress,
}

impl ListKeys {
    /// Prints the keys of a workspace, or all. It does not print the secret part.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let path = match &self.workspace {
            Some(slug) => format!("/admin/v1/keys?workspace={}", encoded(slug)),
            None => "/admin/v1/keys".to_owned(),
        };
        let answer = client.get(&path).await?;
        client.print(&answer, show);
        Ok(())
    }
}

fn show(answer: &Keys) {
    let rows: Vec<Vec<String>> = answer
        .keys
        .iter()
        .map(|key| {
            vec![
                key.id.to_string(),
                key.kind.as_str().to_owned(),
                optional(key.workspace.as_ref()),
                optional(key.partner.as_ref()),
                optional(key.role),
                key.label.clone(),
                key.hint.clone(),
                key.state.to_string(),
                optional(key.expires_at.map(seconds)),
                optional(key.last_used_at.map(seconds)),
            ]
        })
        .collect();
    say(&table(
        &[
            "ID",
            "KIND",
            "WORKSPACE",
            "PARTNER",
            "ROLE",
            "LABEL",
            "KEY",
            "STATE",
            "EXPIRES",
            "LAST USED",
        ],
        &rows,
    ));
}

#[derive(Args)]
pub struct RevokeKey {
    /// The key's id, as `leadhost key list` shows it
    id: String,
    #[command(flatten)]
    service: ServiceAddress,
}

impl RevokeKey {
    /// Revokes the key.
    pub async fn run(self) -> Result<(), CommandFailure> {
        let client = self.service.client()?;
        let answer = client
            .delete(&format!("/admin/v1/keys/{}", encoded(&self.id)))
            .await?;
        client.print(&answer, |_: &KeyRevoked| {
            say(&format!(
                "Revoked {}. Every host refuses it within one second.",
                self.id
            ));
        });
        Ok(())
    }
}
