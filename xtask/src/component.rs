//! Turns a core module into the file for a host: encoded as a component, without
//! imports that a plugin has no use for, with its golden cases inside.

use std::path::Path;

use wit_component::ComponentEncoder;
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{Resolve, WorldItem, WorldKey};

use crate::failure::{Context, Failure, Hint};

/// Encodes a component from a core module that carries its world in a custom section,
/// where the bindings generators put it.
pub fn encode(module: &[u8], name: &str) -> Result<Vec<u8>, Failure> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .context(format!("encoding `{name}` as a component"))
        .hint("the crate must be a `cdylib` that calls the SDK's export macro once")
}

/// Returns the interfaces that a component imports, as
/// `namespace:package/interface@version`.
/// Interfaces with types only are left out: they request nothing.
pub fn imports(component: &[u8], name: &str) -> Result<Vec<String>, Failure> {
    let decoded = decode(component).context(format!("reading the component `{name}`"))?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err(Failure::new(format!(
            "`{name}` is a contract, not a component"
        )));
    };
    Ok(resolve.worlds[world]
        .imports
        .iter()
        .filter(|(_, item)| asks_for_something(&resolve, item))
        .map(|(key, _)| import_name(&resolve, key))
        .collect())
}

/// Refuses a plugin of ours that imports anything: it is compiled for a target
/// without a system, so an import means that a dependency uses one.
pub fn refuse_imports(component: &[u8], name: &str) -> Result<(), Failure> {
    let imports = imports(component, name)?;
    if imports.is_empty() {
        return Ok(());
    }
    Err(
        Failure::new(format!("`{name}` imports {}", imports.join(", "))).hint(
            "a plugin has no system access: find the dependency that uses a clock, files or randomness, and disable that feature",
        ),
    )
}

/// Adds the golden cases of a folder to the component, so that a host can try the
/// version before its activation.
pub fn add_golden(component: &[u8], golden: &Path) -> Result<Vec<u8>, Failure> {
    let cases = leadhost_golden::load_dir(golden)
        .context("reading the golden cases")
        .hint("a plugin has golden cases in `golden/`, a folder each")?;
    let packed = leadhost_golden::pack(&cases).context("packing the golden cases")?;
    leadhost_golden::append_section(component, &packed).context("adding the golden cases")
}

fn asks_for_something(resolve: &Resolve, item: &WorldItem) -> bool {
    match item {
        WorldItem::Interface { id, .. } => {
            let interface = &resolve.interfaces[*id];
            !interface.functions.is_empty()
                || interface
                    .types
                    .values()
                    .any(|id| matches!(resolve.types[*id].kind, wit_parser::TypeDefKind::Resource))
        }
        WorldItem::Function(_) => true,
        WorldItem::Type { .. } => false,
    }
}

fn import_name(resolve: &Resolve, key: &WorldKey) -> String {
    resolve.name_world_key(key)
}
