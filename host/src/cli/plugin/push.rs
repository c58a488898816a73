use super::component_file;
use super::registry::{RegistryAddress, RegistryClient, component_limit};
use crate::cli::prelude::*;

#[derive(Args)]
pub struct Push {
    /// The component, the core module, or the folder of a built project. To push a signature too, name the file of `plugin publish -o FILE --key KEY_FILE`
    file: PathBuf,
    /// Where to put it: oci://REGISTRY/NAME:TAG
    #[arg(value_name = "ADDRESS", value_parser = RegistryAddress::parse_target)]
    address: RegistryAddress,
    /// The service's configuration file, for its limits
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    config: Option<PathBuf>,
}

impl Push {
    pub fn run(self) -> CommandResult {
        let limit = component_limit(self.config.as_deref())?;
        let wasm = component_file::read(&self.file)?.with_its_cases()?;
        let bytes = wasm.len();
        if bytes > limit {
            return Err(failed!(
                "{} has {}; at most {} are accepted (plugins.component_mib)",
                self.file.display(),
                size::exact(bytes as u64),
                size::readable(limit as u64)
            ));
        }
        let pinned = block_on(async {
            let registry = RegistryClient::new(&self.address).await?;
            registry.push(wasm, &self.file).await
        })?;
        say!(
            "{pinned}\nholds {}, {}.",
            self.file.display(),
            size::readable(bytes as u64)
        );
        Ok(())
    }
}
