use crate::cli::pausing;
use crate::cli::prelude::*;
use crate::cli::secret::SetInstanceSecret;
use leadhost_admin_api::connections::BY_AN_OPERATOR;
use leadhost_admin_api::instances::{InstanceView, Instances, Templates};

verbs! {
    pub enum InstanceCommand {
        /// List instances, their channels and the addresses that providers post to
        List(ListInstances),
        /// Show one instance with its templates
        Show(ShowInstance),
        /// Pause the sending of an instance; messages are still accepted and wait
        Pause(PauseInstance),
        /// Resume the sending of an instance
        Resume(ResumeInstance),
        /// Fetch the templates of an instance from its provider now
        SyncTemplates(SyncTemplates),
        /// Set a secret of an instance to the value read from standard input
        Secret(SetInstanceSecret),
    }
}

#[derive(Args)]
pub struct ListInstances {}

impl ServiceCommand for ListInstances {
    async fn run(self, client: AdminClient) -> CommandResult {
        let show = |all: &Instances| say_rows(&all.instances);
        client.show("/admin/v1/instances", show).await
    }
}

#[derive(Args)]
pub struct ShowInstance {
    /// The instance: its number, name or workspace/name
    instance: String,
}

impl ServiceCommand for ShowInstance {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/instances/{}", encoded(&self.instance));
        let show = |instance: &InstanceView| {
            say_facts(instance);
            let templates = instance.templates().map(Templates::listed);
            say_more_rows(templates.unwrap_or_default());
        };
        client.show(&path, show).await
    }
}

#[derive(Args)]
pub struct PauseInstance {
    /// The instance: its number, name or workspace/name
    instance: String,
    /// The reason, which lists show
    #[arg(long, value_name = "TEXT", default_value = BY_AN_OPERATOR)]
    reason: String,
}

impl ServiceCommand for PauseInstance {
    async fn run(self, client: AdminClient) -> CommandResult {
        let name = &self.instance;
        let said = format!(
            "{name} sends nothing now; messages are accepted and wait, webhooks are accepted."
        );
        pausing::pause(&client, ("instances", name), self.reason, &said).await
    }
}

#[derive(Args)]
pub struct ResumeInstance {
    /// The instance: its number, name or workspace/name
    instance: String,
}

impl ServiceCommand for ResumeInstance {
    async fn run(self, client: AdminClient) -> CommandResult {
        let name = &self.instance;
        pausing::resume(
            &client,
            ("instances", name),
            &format!("{name} sends again."),
        )
        .await
    }
}

#[derive(Args)]
pub struct SyncTemplates {
    /// The instance: its number, name or workspace/name
    instance: String,
}

impl ServiceCommand for SyncTemplates {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!(
            "/admin/v1/instances/{}/sync-templates",
            encoded(&self.instance)
        );
        let show = |summary: &Templates| {
            let approved = optional(summary.in_words());
            say!("Approved templates of {}: {approved}.", self.instance);
        };
        client.act(&path, &json!({}), show).await
    }
}
