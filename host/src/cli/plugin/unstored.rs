//! A component that a command of operators names and that the service may not have yet: a file, the
//! folder of a project, or one in a registry.

use std::path::Path;

use super::component_file;
use super::registry::{RegistryAddress, RegistryClient};
use crate::cli::client::AdminClient;
use crate::cli::failure::CommandFailure;
use crate::cli::output::complain;

/// A component for the service.
pub struct UnstoredComponent {
    pub wasm: Vec<u8>,
    /// Its address in a registry, with the digest. `None`: a file.
    pub source: Option<String>,
}

/// Reads a component of a file, or pulls it from a registry and prints the digest that its address
/// has now.
///
/// # Errors
///
/// [`CommandFailure`] if the file cannot be read, or the component cannot be pulled.
pub async fn read(what: &str, client: &AdminClient) -> Result<UnstoredComponent, CommandFailure> {
    if RegistryAddress::is_meant(what) {
        let address = RegistryAddress::parse(what).map_err(CommandFailure::usage)?;
        let registry = RegistryClient::new(&address).await?;
        let pulled = registry.pull(client.component_bytes()).await?;
        let pinned = pulled.pinned.to_string();
        // Standard output may be JSON of the service.
        complain(&format!("pulled {pinned}"));
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
    Ok(UnstoredComponent {
        wasm: read.with_its_cases()?,
        source: None,
    })
}
