use crate::cli::pausing;
use crate::cli::prelude::*;
use crate::cli::secret::SetConnectionSecret;
use leadhost_admin_api::connections::{BY_AN_OPERATOR, Connections};

verbs! {
    pub enum ConnectionCommand {
        /// List connections and the addresses that sources post to
        List(ListConnections),
        /// Pause the fetches of a connection; deliveries are still accepted and wait
        Pause(PauseConnection),
        /// Resume the fetches of a connection
        Resume(ResumeConnection),
        /// Set a secret of a connection to the value read from standard input
        Secret(SetConnectionSecret),
    }
}

#[derive(Args)]
pub struct ListConnections {}

impl ServiceCommand for ListConnections {
    async fn run(self, client: AdminClient) -> CommandResult {
        let show = |all: &Connections| say_rows(&all.connections);
        client.show("/admin/v1/connections", show).await
    }
}

#[derive(Args)]
pub struct PauseConnection {
    /// The connection: its name, workspace/name or id
    connection: String,
    /// The reason, which lists show
    #[arg(long, value_name = "TEXT", default_value = BY_AN_OPERATOR)]
    reason: String,
}

impl ServiceCommand for PauseConnection {
    async fn run(self, client: AdminClient) -> CommandResult {
        let name = &self.connection;
        let said = format!("The fetches of {name} are paused; deliveries are accepted and wait.");
        pausing::pause(&client, ("connections", name), self.reason, &said).await
    }
}

#[derive(Args)]
pub struct ResumeConnection {
    /// The connection: its name, workspace/name or id
    connection: String,
}

impl ServiceCommand for ResumeConnection {
    async fn run(self, client: AdminClient) -> CommandResult {
        let name = &self.connection;
        let said = format!("The fetches of {name} are resumed.");
        pausing::resume(&client, ("connections", name), &said).await
    }
}
