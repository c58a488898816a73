//! The version that an operator names for a comparison, a rollout or an activation: one that the service
//! has stored, or a component that it may not have yet, of a file or a registry.

use super::component_file;
use super::named::stored;
use super::pack::PackFlags;
use super::registry::{RegistryAddress, RegistryClient};
use crate::cli::prelude::*;

pub enum Candidate {
    /// `digest` may be its beginning.
    Stored { name: String, digest: String },
    Unstored {
        wasm: Vec<u8>,
        /// Its address in a registry, with the digest. `None`: a file.
        source: Option<String>,
    },
}

impl Candidate {
    /// Reads a component of a file, or pulls it from a registry and prints the digest that its address
    /// has now.
    pub async fn read(what: &str, pack: &PackFlags, client: &AdminClient) -> CommandResult<Self> {
        let path = Path::new(what);
        if path.is_dir() {
            let folder = quoted(what);
            return Err(
                CommandFailure::usage(format!("{folder} is a folder")).hint(format!(
                    "`{}` publishes the project in it; with `-o FILE` it writes the component",
                    client.flags().command(&format!("plugin publish {folder}"))
                )),
            );
        }
        let (stored, in_registry) = (stored(what), RegistryAddress::is_meant(what));
        if (in_registry || stored.is_some()) && pack.is_given() {
            return Err(CommandFailure::usage(format!(
                "{} is no file: --golden and --key do not change what is stored already",
                safe(what)
            )));
        }
        if let Some((name, digest)) = stored {
            return Ok(Self::Stored {
                name: name.to_owned(),
                digest: digest.to_owned(),
            });
        }
        if in_registry {
            let address = RegistryAddress::parse(what).map_err(CommandFailure::usage)?;
            let registry = RegistryClient::new(&address).await?;
            let pulled = registry.pull(client.component_bytes()).await?;
            let pinned = pulled.pinned.to_string();
            // Standard output may be JSON of the service.
            complain!("pulled {pinned}");
            return Ok(Self::Unstored {
                wasm: pulled.wasm,
                source: Some(pinned),
            });
        }
        let read = component_file::read(path).map_err(|failure| {
            if path.exists() {
                return failure;
            }
            failure.hint(format!(
                "name a component file, one in a registry as oci://REGISTRY/NAME:TAG, or a stored version as NAME@DIGEST; `{}` shows those",
                client.flags().command("plugin list")
            ))
        })?;
        Ok(Self::file(pack.pack(path, read)?.wasm))
    }

    pub fn file(wasm: Vec<u8>) -> Self {
        Self::Unstored { wasm, source: None }
    }
}
