//! What is put into a component before it goes to a service, a registry or a file: golden cases and a
//! signature.

use leadhost_golden::{SectionError, read_section};

use super::component_file::{self, ComponentFile};
use super::signing_key;
use crate::cli::prelude::*;
use leadhost_plugin::signature;

#[derive(Args, Default)]
pub struct PackFlags {
    /// A folder of golden cases to put into the component, one folder a case [default: the project's]
    #[arg(long, value_name = "DIR")]
    pub golden: Option<PathBuf>,
    /// Sign the component with this key, of `leadhost plugin keygen`, so that its name is tied to the key
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

pub struct Packed {
    pub wasm: Vec<u8>,
    /// What it carries, after the name of its file.
    pub said: String,
}

impl PackFlags {
    pub fn is_given(&self) -> bool {
        self.golden.is_some() || self.key.is_some()
    }

    /// Returns the component with golden cases and signature. A core module becomes a component.
    pub fn pack(&self, file: &Path, read: ComponentFile) -> CommandResult<Packed> {
        let golden = self.golden.as_ref().or(read.golden.as_ref());
        let (wasm, cases, was_signed) = match golden {
            Some(folder) => {
                let (whole, cases) = read.with_cases(folder)?;
                let (whole, was_signed) = component_file::without_broken_signature(whole);
                (whole, cases, was_signed)
            }
            None if read_section(read.component()) == Err(SectionError::NotAComponent) => {
                return Err(failed!(
                    "{} is neither a component nor a core module",
                    file.display()
                )
                .hint(
                    "name the file that the build of the plugin writes, or the project's folder",
                ));
            }
            None => {
                let cases = read.carried_cases()?.map_or(0, |cases| cases.len());
                (read.into_component(), cases, false)
            }
        };
        let mut said = match cases {
            0 => "carries no golden cases; --golden DIR puts some into it".to_owned(),
            many => format!(
                "carries {}",
                count(many as u64, "golden case", "golden cases")
            ),
        };
        let Some(path) = &self.key else {
            if was_signed {
                said += "; its signature does not cover them and is removed: sign it again with --key FILE";
            }
            return Ok(Packed { wasm, said });
        };
        let key = signing_key::read(path)?;
        let not_a_key = || signing_key::not_a_key(path);
        let public = signature::public_key(&key).ok_or_else(not_a_key)?;
        let wasm = signature::sign(&wasm, &key)
            .map_err(|error| failed!("{}: {error}", file.display()))?
            .ok_or_else(not_a_key)?;
        said += &format!(" and is signed by {public}");
        Ok(Packed { wasm, said })
    }
}
