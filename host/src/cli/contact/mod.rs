mod erase;

use crate::cli::page::{PageFlags, show_next_page};
use crate::cli::prelude::*;
use leadhost_admin_api::contacts::Erasures as Listed;

verbs! {
    pub enum ContactCommand {
        /// Remove a person and all data about the person permanently
        Erase(erase::EraseContact),
        /// List erasures, newest first
        Erasures(ListErasures),
    }
}

#[derive(Args, Serialize)]
pub struct ListErasures {
    /// Only erasures of this workspace
    #[arg(long, value_name = "SLUG")]
    workspace: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    page: PageFlags,
}

impl ServiceCommand for ListErasures {
    async fn run(self, client: AdminClient) -> CommandResult {
        let path = format!("/admin/v1/erasures{}", query_of(&self));
        let show = |answer: &Listed| {
            say_rows(&answer.erasures);
            show_next_page(answer.next);
        };
        client.show(&path, show).await
    }
}
