//! `leadhost connection secret` and `leadhost instance secret`: set one secret of a source, or of an
//! instance with an adapter. The value comes from standard input, so that no list of processes and no
//! history of commands has it.

use std::io::{self, IsTerminal as _, Read as _};

use crate::cli::prelude::*;
use leadhost_admin_api::connections::{ChangeRequest, Changed};

#[derive(Args)]
pub struct SetSecret {
    /// The connection or the instance: its name, workspace/name or id
    name: String,
    /// The name of the secret
    secret: String,
    /// Let the service generate the secret, beginning with PREFIX, and print it once
    #[arg(long, value_name = "PREFIX", num_args = 0..=1, default_missing_value = "")]
    generate: Option<String>,
}

impl SetSecret {
    /// Sets the secret. `list` is the part of the path: `connections` or `instances`.
    async fn run(self, client: AdminClient, list: &str) -> CommandResult {
        let mut change = ChangeRequest::default();
        match self.generate {
            Some(prefix) => change.generate = BTreeMap::from([(self.secret.clone(), prefix)]),
            None => change.secrets = BTreeMap::from([(self.secret.clone(), read_value()?)]),
        }
        let path = format!("/admin/v1/{list}/{}", encoded(&self.name));
        let answer = client.patch(&path, &change).await?;
        let secret = self.secret;
        client.print(&answer, |changed: &Changed| show(changed, &secret));
        Ok(())
    }
}

/// Declares the command for the things of a list.
macro_rules! sets_secret {
    ($command:ident, $list:literal) => {
        #[derive(Args)]
        pub struct $command {
            #[command(flatten)]
            secret: SetSecret,
        }

        impl ServiceCommand for $command {
            async fn run(self, client: AdminClient) -> CommandResult {
                self.secret.run(client, $list).await
            }
        }
    };
}

sets_secret!(SetConnectionSecret, "connections");
sets_secret!(SetInstanceSecret, "instances");

fn show(changed: &Changed, secret: &str) {
    let Changed {
        name,
        workspace,
        config_version,
        ..
    } = changed;
    for warning in &changed.warnings {
        complain(&warning.message);
    }
    if changed.secrets.is_empty() {
        say!("{workspace}/{name} had this value of {secret} already.");
        return;
    }
    let done = format!(
        "{workspace}/{name} has a new value of {secret} (configuration {config_version}). If its workspace file names a variable or a file for it, put the new value there too: the next apply reads it."
    );
    match changed.generated.get(secret) {
        // Standard output has the value alone, so that a script can take it.
        Some(value) => {
            complain(&done);
            say(value);
        }
        None => say(&done),
    }
}

fn read_value() -> CommandResult<String> {
    if io::stdin().is_terminal() {
        complain("Type the value and press Enter, then Ctrl-D.");
    }
    let mut value = String::new();
    io::stdin()
        .take(limits::ADMIN_BODY_BYTES as u64)
        .read_to_string(&mut value)
        .map_err(|error| failed!("cannot read standard input: {error}"))?;
    let value = value.trim_end_matches(['\n', '\r']);
    if value.is_empty() {
        return Err(
            CommandFailure::new("standard input has no value".to_owned())
                .hint("Write it there: `printf %s \"$TOKEN\" | leadhost … secret NAME SECRET`."),
        );
    }
    Ok(value.to_owned())
}
