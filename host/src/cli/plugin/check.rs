//! `leadhost plugin check`.

use std::path::PathBuf;

use clap::Args;

use super::read_component;
use crate::admin_api::plugins::CheckedPlugin;
use crate::cli::client::ServiceAddress;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::progress::Progress;
use crate::cli::table::safe;

#[derive(Args)]
pub struct Check {
    /// The component
    file: PathBuf,
    #[command(flatten)]
    service: ServiceAddress,
}

impl Check {
    /// Prints what the trial of the component file shows. It activates nothing.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the file cannot be read or fails the trial, or if no admin key is found,
    /// or the service cannot be reached or refuses the request.
    pub async fn run(self) -> Result<(), Failure> {
        let wasm = read_component(&self.file)?;
        let client = self.service.client()?;
        let progress = Progress::start("compiling and running the trial");
        let answer = client.post_wasm("/admin/v1/plugins/check", wasm).await?;
        drop(progress);
        let report = answer.map_err(Failure::from)?;
        client.print(&report, show);
        Ok(())
    }
}

fn show(report: &CheckedPlugin) {
    say(&safe(&format!(
        "{} {} ({}), {}: usable, {} golden cases passed.",
        report.name,
        report.version,
        report.digest.short(),
        report.kind.as_str(),
        report.golden,
    )));
    for concern in &report.concerns {
        let what = &concern.what;
        say(&safe(&match concern.accept.as_str() {
            "" => format!("it cannot be activated: {what}"),
            word => format!("activating it needs --accept {word}: {what}"),
        }));
    }
}
