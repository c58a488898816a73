//! `leadhost key create`. Only the key goes to standard output, so that a script can read it; its
//! description goes to standard error.

use clap::{Args, ValueEnum};

use crate::admin_api::keys::{CreateKeyRequest, CreatedKey};
use crate::cli::client::Reach;
use crate::cli::failure::Failure;
use crate::cli::output::{complain, say};
use crate::domain::key::KeyKind;

#[derive(Args)]
pub struct Create {
    /// Which API the key opens: the gateway, the data API, deal log and desk, or the admin API
    #[arg(long)]
    kind: Kind,
    /// The workspace's slug; for all kinds except admin
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    /// The partner's name; for partner keys and access tokens
    #[arg(long, value_name = "NAME")]
    partner: Option<String>,
    /// The purpose of the key, which lists show
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Days after which the key expires [default: never]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    expires_days: Option<u32>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Partner,
    Workspace,
    AccessToken,
    Admin,
}

impl Create {
    /// Creates a key and prints it, once.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no admin key is found, or the service cannot be reached or refuses the
    /// request.
    pub async fn run(self) -> Result<(), Failure> {
        let kind = match self.kind {
            Kind::Partner => KeyKind::Partner,
            Kind::Workspace => KeyKind::Workspace,
            Kind::AccessToken => KeyKind::AccessToken,
            Kind::Admin => KeyKind::Admin,
        };
        let client = self.reach.client()?;
        let request = CreateKeyRequest {
            kind: kind.as_str().to_owned(),
            workspace: self.workspace,
            partner: self.partner,
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
