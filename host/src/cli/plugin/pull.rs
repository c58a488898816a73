use std::io::{ErrorKind, Write as _};

use super::registry::{RegistryAddress, RegistryClient, component_limit};
use crate::cli::prelude::*;

#[derive(Args)]
pub struct Pull {
    /// The component: oci://REGISTRY/NAME:TAG or oci://REGISTRY/NAME@sha256:DIGEST
    #[arg(value_name = "ADDRESS", value_parser = RegistryAddress::parse)]
    address: RegistryAddress,
    /// The output file, which is replaced [default: a new file NAME.wasm in this folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The service's configuration file, for its limits
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    config: Option<PathBuf>,
}

impl Pull {
    pub fn run(self) -> CommandResult {
        let limit = component_limit(self.config.as_deref())?;
        let pulled = block_on(async {
            let registry = RegistryClient::new(&self.address).await?;
            registry.pull(limit).await
        })?;
        let new = PathBuf::from(format!("{}.wasm", self.address.short_name()));
        let (path, written) = match &self.output {
            Some(path) => (path, std::fs::write(path, &pulled.wasm)),
            None => (&new, write_new(&new, &pulled.wasm)),
        };
        written.map_err(|error| {
            let failure = failed!("cannot write {}: {error}", path.display());
            match error.kind() {
                ErrorKind::AlreadyExists => failure.hint("name the file to replace with -o FILE"),
                _ => failure,
            }
        })?;
        say!(
            "{} holds\n{}, {}.",
            path.display(),
            pulled.pinned,
            size::readable(pulled.wasm.len() as u64)
        );
        Ok(())
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::File::create_new(path)?.write_all(bytes)
}
