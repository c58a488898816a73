//! A component that a command of operators names and that the service may not have yet: a file, the
//! folder of a project, or one in a registry.

use super::registry::{RegistryAddress, RegistryClient};
use super::{check, component_file, project};
use crate::cli::prelude::*;
use leadhost_admin_api::plugins::CheckedPlugin;

pub struct UnstoredComponent {
    pub wasm: Vec<u8>,
    /// Its address in a registry, with the digest. `None`: a file.
    pub source: Option<String>,
}

/// Reads a component of a file, or pulls it from a registry and prints the digest that its address
/// has now. The service is asked whether that of a project is the plugin that the project says.
pub async fn read(what: &str, client: &AdminClient) -> CommandResult<UnstoredComponent> {
    if RegistryAddress::is_meant(what) {
        let address = RegistryAddress::parse(what).map_err(CommandFailure::usage)?;
        let registry = RegistryClient::new(&address).await?;
        let pulled = registry.pull(client.component_bytes()).await?;
        let pinned = pulled.pinned.to_string();
        // Standard output may be JSON of the service.
        complain!("pulled {pinned}");
        return Ok(UnstoredComponent {
            wasm: pulled.wasm,
            source: Some(pinned),
        });
    }
    let path = Path::new(what);
    let read = component_file::read(path).map_err(|failure| match path.exists() {
        true => failure,
        false => failure.hint(format!(
            "name a component file, one in a registry as oci://REGISTRY/NAME:TAG, or a stored version as NAME@DIGEST; `{}` shows those",
            client.flags().command("plugin list")
        )),
    })?;
    let wasm = read.with_its_cases()?;
    if project::is_project(path) {
        check_project(path, &wasm, client).await?;
    }
    Ok(UnstoredComponent { wasm, source: None })
}

/// Refuses a component that is not the plugin of the project. One that the service refuses is left to the
/// request of the command, whose refusal is recorded.
async fn check_project(folder: &Path, wasm: &[u8], client: &AdminClient) -> CommandResult {
    let Ok(answer) = check::trial(client, wasm.to_vec()).await? else {
        return Ok(());
    };
    let CheckedPlugin {
        name,
        kind,
        contract,
        ..
    } = &*answer;
    project::check_described(folder, *kind, contract, name)
        .map_err(|failure| failure.also("nothing was changed"))
}
