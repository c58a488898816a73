//! The names of what a component imports and exports, as its own bytes say.

use wit_component::DecodedWasm;
use wit_parser::WorldKey;

#[derive(Debug, PartialEq, Eq)]
pub struct ComponentInterfaces {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

pub fn parse_component(wasm: &[u8]) -> Result<ComponentInterfaces, String> {
    let unread = |error| format!("the interfaces of the component cannot be read: {error}");
    let decoded = wit_component::decode(wasm).map_err(unread)?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err("the file is a package of interfaces, not a component".to_owned());
    };
    let world = &resolve.worlds[world];
    let name = |key: &WorldKey| resolve.name_world_key(key);
    Ok(ComponentInterfaces {
        imports: world.imports.keys().map(name).collect(),
        exports: world.exports.keys().map(name).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_without_interfaces_has_none_and_a_text_is_refused() {
        let empty = parse_component(b"\0asm\x0d\0\x01\0").expect("the smallest component");
        assert_eq!(empty.imports, Vec::<String>::new());
        assert_eq!(empty.exports, Vec::<String>::new());
        assert!(parse_component(b"hello").is_err());
    }
}
