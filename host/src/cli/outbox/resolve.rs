use clap::ArgGroup;

use crate::cli::confirm::confirm;
use crate::cli::prelude::*;
use leadhost_admin_api::outbox::{
    Messages, ResolveManyRequest, ResolveRequest, Resolved, ResolvedMany, Verdict,
};
use leadhost_domain::id::MessageId;

#[derive(Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["send_again", "give_up"])))]
#[command(group(ArgGroup::new("which").required(true).args(["message", "all"])))]
pub struct ResolveMessages {
    /// The message's id
    message: Option<String>,
    /// All messages whose outcome is unknown
    #[arg(long)]
    all: bool,
    /// With --all, only messages of this instance: its number, name or workspace/name
    #[arg(long, value_name = "NAME", conflicts_with = "message")]
    instance: Option<String>,
    /// Do not ask
    #[arg(long, conflicts_with = "message")]
    yes: bool,
    /// The message was not sent: send it again
    #[arg(long)]
    send_again: bool,
    /// Count the message as failed
    #[arg(long)]
    give_up: bool,
}

impl ServiceCommand for ResolveMessages {
    async fn run(self, client: AdminClient) -> CommandResult {
        let verdict = if self.send_again {
            Verdict::SendAgain
        } else {
            Verdict::GiveUp
        };
        let Some(message) = self.message else {
            return resolve_all(&client, self.instance, verdict, self.yes).await;
        };
        let path = format!("/admin/v1/outbox/{}/resolve", encoded(&message));
        let show = |answer: &Resolved| {
            say!("{} is now {}.", answer.id, answer.state.as_str());
        };
        client.act(&path, &ResolveRequest { verdict }, show).await
    }
}

async fn resolve_all(
    client: &AdminClient,
    instance: Option<String>,
    verdict: Verdict,
    is_confirmed: bool,
) -> CommandResult {
    let messages = unknown(client, instance).await?;
    if messages.is_empty() {
        complain("No message has an unknown outcome.");
        return Ok(());
    }
    if !is_confirmed {
        let number = count(messages.len() as u64, "message", "messages");
        confirm(&match verdict {
            Verdict::SendAgain => {
                format!("Send {number} again? A contact whose message did go out gets it twice.")
            }
            Verdict::GiveUp => format!("Count {number} as failed?"),
        })?;
    }
    let progress = ProgressLine::start("resolving messages");
    let mut all = ResolvedMany::default();
    for (step, messages) in messages.chunks(limits::RESOLVED_AT_ONCE).enumerate() {
        let request = ResolveManyRequest {
            verdict,
            messages: messages.to_vec(),
        };
        let answer = client
            .post::<ResolvedMany>("/admin/v1/outbox/resolve", &request)
            .await?;
        if client.json() {
            say(&answer.json.to_string());
        }
        all.add(answer.content);
        progress.update(&format!("step {}", step + 1));
    }
    drop(progress);
    if !client.json() {
        say(&safe(&all.summary()));
    }
    Ok(())
}

async fn unknown(client: &AdminClient, instance: Option<String>) -> CommandResult<Vec<MessageId>> {
    let mut found = Vec::new();
    let mut before: Option<MessageId> = None;
    loop {
        let path = query(&[
            ("state", Some("unknown".to_owned())),
            ("instance", instance.clone()),
            ("limit", Some(limits::RESOLVED_AT_ONCE.to_string())),
            ("before", before.map(|id| id.to_string())),
        ]);
        let page = client
            .get::<Messages>(&format!("/admin/v1/outbox{path}"))
            .await?
            .content;
        found.extend(page.messages.iter().map(|message| message.id));
        before = page.next;
        if before.is_none() {
            return Ok(found);
        }
    }
}
