use leadhost_golden::{Case, write_case};

use crate::cli::captures;
use crate::cli::prelude::*;
use leadhost_admin_api::captures::CapturedDeliveries;
use leadhost_domain::id::DeliveryId;
use leadhost_http::golden_export::{ExportError, ExportedCases};

#[derive(Args)]
pub struct ExportDelivery {
    /// The delivery's id
    id: String,
    /// The folder of the new golden case, such as golden/two-phones; an existing one is never replaced
    #[arg(long, value_name = "DIR/CASE")]
    golden: PathBuf,
    /// Keep names, phones and all other personal data as they are
    #[arg(long)]
    raw: bool,
}

impl ServiceCommand for ExportDelivery {
    async fn run(self, client: AdminClient) -> CommandResult {
        let (dir, name) = self.place()?;
        let unknown = || {
            failed!("there is no delivery `{}`", safe(&self.id)).hint(format!(
                "`{}` shows those that exist",
                client.flags().command("delivery list")
            ))
        };
        let id: DeliveryId = self.id.parse().map_err(|_| unknown())?;
        let captured = captures::fetch(&client, &[id], None).await?;
        if !captured.emptied.is_empty() {
            return Err(failed!(
                "the delivery {id} has no body: it was erased, or removed by its age"
            ));
        }
        let CapturedDeliveries {
            deliveries,
            connections,
            ..
        } = captured;
        let capture = deliveries.into_iter().next().ok_or_else(unknown)?;
        let received_by = connections
            .iter()
            .find(|one| one.id == capture.facts.connection_id)
            .ok_or_else(unknown)?;
        let exported =
            ExportedCases::new(&capture, received_by, self.raw, None).map_err(failure)?;
        let cases = exported.cases(name).map_err(failure)?;
        for (case, body) in &cases {
            write_case(dir, case, body).map_err(|error| {
                CommandFailure::new(error.to_string())
                    .hint("an existing case is never replaced: name another one")
            })?;
        }
        self.report(&client, &exported, &capture.plugin, dir, &cases);
        Ok(())
    }
}

impl ExportDelivery {
    fn place(&self) -> CommandResult<(&Path, &str)> {
        let name = self.golden.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| !name.starts_with('.')).ok_or_else(|| {
            CommandFailure::usage(format!(
                "{} names no case: expected a folder of cases and a new name in it, such as golden/two-phones",
                self.golden.display()
            ))
        })?;
        let dir = self.golden.parent().filter(|dir| *dir != Path::new(""));
        Ok((dir.unwrap_or(Path::new(".")), name))
    }

    fn report(
        &self,
        client: &AdminClient,
        exported: &ExportedCases<'_>,
        plugin: &str,
        dir: &Path,
        cases: &[(Case, String)],
    ) {
        let folders: Vec<String> = cases
            .iter()
            .map(|(case, _)| dir.join(&case.name).display().to_string())
            .collect();
        if client.json() {
            return say_json(&serde_json::json!({
                "cases": folders,
                "raw": self.raw,
                "plugin": plugin,
            }));
        }
        for folder in &folders {
            say_line!("wrote {folder}");
        }
        say(if self.raw {
            "They have the personal data of the delivery: do not share them."
        } else {
            "Persons are masked. Read the files before you share them: a text may name persons in a way that the command cannot detect."
        });
        say("`leadhost plugin test PROJECT --write` writes what the plugin makes of them.");
        for note in exported.notes() {
            complain(&safe(&note));
        }
    }
}

fn failure(error: ExportError) -> CommandFailure {
    let failure = CommandFailure::new(error.to_string());
    match error {
        ExportError::NotText | ExportError::NotInTime => {
            failure.hint("with --raw it is exported as it is, with all personal data")
        }
        ExportError::NotBase64(_) => failure,
    }
}
