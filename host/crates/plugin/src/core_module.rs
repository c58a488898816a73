//! Turns a core module into a component. The toolchains of some languages build only core
//! modules; the tools of integrators accept those, and the service accepts only components.
//!
//! The bindings of most languages put the world that a module implements into the module.
//! If they did not, its exports tell which frozen contract it implements, and that one is
//! added. Calls of WASI preview 1 go through the adapter of the engine's release, which
//! makes calls of WASI 0.2 of them.

use std::borrow::Cow;
use std::fmt::Display;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::abi::{OFFERED, Offer};
use super::error::{first_of, shortened};
use super::imports::is_offered;

/// The imports that a core module may have.
const ALLOWED: &str = "wasi_snapshot_preview1, WASI 0.2 (wasi:cli, io, clocks, random, filesystem and sockets) and leadhost:types";

#[derive(Debug, thiserror::Error)]
pub enum CoreModuleError {
    #[error("the core module cannot be read: {0}; build it again")]
    Damaged(String),
    #[error(
        "the core module imports {}, which plugins may not use: a plugin computes, and the host does all input and output. Allowed are the functions of {}. Remove what needs the others, or build for WASI",
        imports.join(", "),
        ALLOWED
    )]
    ForeignImports { imports: Vec<String> },
    #[error(
        "the core module implements no contract of this host: it exports {}; a plugin exports the functions of {} under their full names, as generated bindings do",
        listed(exports),
        offered.join(" or ")
    )]
    NoContract {
        exports: Vec<String>,
        offered: Vec<&'static str>,
    },
    #[error(
        "the core module exports the functions of {}: a plugin implements only one contract, so build a module for each",
        contracts.join(" and ")
    )]
    SeveralContracts { contracts: Vec<&'static str> },
    #[error(
        "the core module cannot be turned into a component: {0}; generate its bindings from the published WIT file"
    )]
    Unfit(String),
}

pub fn is_core_module(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0asm\x01\0\0\0")
}

pub fn encode(module: &[u8]) -> Result<Vec<u8>, CoreModuleError> {
    let interface = CoreInterface::parse(module)?;
    interface.refuse_foreign_imports()?;
    let module = if interface.has_world {
        Cow::Borrowed(module)
    } else {
        Cow::Owned(with_world(module, interface.contract()?)?)
    };
    let mut encoder = ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .map_err(unfit)?;
    if interface.uses_preview1() {
        encoder = encoder
            .adapter(
                WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
                WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
            )
            .map_err(unfit)?;
    }
    encoder.encode().map_err(unfit)
}

#[derive(Default)]
struct CoreInterface {
    imports: Vec<(String, String)>,
    exports: Vec<String>,
    /// Whether bindings have put the description of a world into it.
    has_world: bool,
}

impl CoreInterface {
    fn parse(module: &[u8]) -> Result<Self, CoreModuleError> {
        let mut found = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(damaged)? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import.map_err(damaged)?;
                        let name = (import.module.to_owned(), import.name.to_owned());
                        found.imports.push(name);
                    }
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        found.exports.push(export.map_err(damaged)?.name.to_owned());
                    }
                }
                Payload::CustomSection(section) => {
                    found.has_world |= section.name().starts_with("component-type");
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn refuse_foreign_imports(&self) -> Result<(), CoreModuleError> {
        let is_known = |module: &str| {
            module == WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME
                || module.starts_with("leadhost:")
                || is_offered(module)
        };
        let foreign: Vec<String> = self
            .imports
            .iter()
            .filter(|(module, _)| !is_known(module))
            .map(|(module, name)| format!("{module}.{name}"))
            .collect();
        if foreign.is_empty() {
            return Ok(());
        }
        Err(CoreModuleError::ForeignImports {
            imports: first_of(foreign.iter().map(String::as_str)),
        })
    }

    fn uses_preview1(&self) -> bool {
        let mut modules = self.imports.iter().map(|(module, _)| module.as_str());
        modules.any(|module| module == WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME)
    }

    fn contract(&self) -> Result<&'static Offer, CoreModuleError> {
        let claimed: Vec<&'static Offer> = OFFERED
            .iter()
            .filter(|contract| {
                self.exports.iter().any(|name| {
                    name.strip_prefix(contract.export)
                        .is_some_and(|function| function.starts_with('#'))
                })
            })
            .collect();
        match claimed.as_slice() {
            [contract] => Ok(*contract),
            [] => Err(CoreModuleError::NoContract {
                exports: first_of(self.exports.iter().map(String::as_str)),
                offered: OFFERED.iter().map(|contract| contract.export).collect(),
            }),
            several => Err(CoreModuleError::SeveralContracts {
                contracts: several.iter().map(|contract| contract.export).collect(),
            }),
        }
    }
}

/// Returns the module with the description of the contract's world, as bindings put it into
/// a module.
fn with_world(module: &[u8], contract: &Offer) -> Result<Vec<u8>, CoreModuleError> {
    let mut resolve = Resolve::default();
    let package = resolve
        .push_str(contract.file, contract.published)
        .map_err(unfit)?;
    let world = resolve
        .select_world(&[package], Some(contract.world))
        .map_err(unfit)?;
    let mut described = module.to_vec();
    embed_component_metadata(&mut described, &resolve, world, StringEncoding::UTF8)
        .map_err(unfit)?;
    Ok(described)
}

fn listed(exports: &[String]) -> String {
    if exports.is_empty() {
        "nothing".to_owned()
    } else {
        exports.join(", ")
    }
}

fn damaged(error: impl Display) -> CoreModuleError {
    CoreModuleError::Damaged(shortened(error.to_string()))
}

/// The alternate form of the encoder's errors has the whole chain of causes.
fn unfit(error: impl Display) -> CoreModuleError {
    CoreModuleError::Unfit(shortened(format!("{error:#}")))
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
        ImportSection, Instruction, MemorySection, MemoryType, Module, TypeSection, ValType,
    };
    use wit_component::{DecodedWasm, decode};
    use wit_parser::WorldItem;
    use wit_parser::abi::{AbiVariant, WasmType};

    use super::*;

    /// The name of a function, its parameters and its results.
    type CoreFunction = (String, Vec<ValType>, Vec<ValType>);

    /// Returns a module with these imported and exported functions. Its own functions trap.
    fn module(imports: &[(&str, &str, usize)], exports: &[CoreFunction]) -> Vec<u8> {
        let mut types = TypeSection::new();
        let mut imported = ImportSection::new();
        for (index, (module, name, parameters)) in (0..).zip(imports) {
            types
                .ty()
                .function(vec![ValType::I32; *parameters], vec![ValType::I32]);
            imported.import(module, name, EntityType::Function(index));
        }
        let mut functions = FunctionSection::new();
        let mut exported = ExportSection::new();
        let mut code = CodeSection::new();
        exported.export("memory", ExportKind::Memory, 0);
        let first = u32::try_from(imports.len()).expect("few imports");
        for (index, (name, parameters, results)) in (first..).zip(exports) {
            types.ty().function(parameters.clone(), results.clone());
            functions.function(index);
            exported.export(name, ExportKind::Func, index);
            let mut body = Function::new([]);
            body.instruction(&Instruction::Unreachable);
            body.instruction(&Instruction::End);
            code.function(&body);
        }
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: 1,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut module = Module::new();
        module
            .section(&types)
            .section(&imported)
            .section(&functions)
            .section(&memories)
            .section(&exported)
            .section(&code);
        module.finish()
    }

    /// Returns the functions of a contract as a module exports them, and that by which the
    /// host allocates in the guest.
    fn functions(contract: &Offer) -> Vec<CoreFunction> {
        let mut resolve = Resolve::default();
        let package = resolve
            .push_str(contract.file, contract.published)
            .expect("the contract is valid");
        let world = resolve
            .select_world(&[package], Some(contract.world))
            .expect("it has the world");
        let values = |types: &[WasmType]| -> Vec<ValType> {
            let value = |one: &WasmType| match one {
                WasmType::I32 | WasmType::Pointer | WasmType::Length => ValType::I32,
                WasmType::I64 | WasmType::PointerOrI64 => ValType::I64,
                WasmType::F32 => ValType::F32,
                WasmType::F64 => ValType::F64,
            };
            types.iter().map(value).collect()
        };
        let mut found = vec![(
            "cabi_realloc".to_owned(),
            vec![ValType::I32; 4],
            vec![ValType::I32],
        )];
        for item in resolve.worlds[world].exports.values() {
            let WorldItem::Interface { id, .. } = item else {
                continue;
            };
            for (name, function) in &resolve.interfaces[*id].functions {
                let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
                found.push((
                    format!("{}#{name}", contract.export),
                    values(&signature.params),
                    values(&signature.results),
                ));
            }
        }
        found
    }

    fn interfaces(component: &[u8]) -> (Vec<String>, Vec<String>) {
        let DecodedWasm::Component(resolve, world) = decode(component).expect("a component") else {
            panic!("it is a contract");
        };
        let world = &resolve.worlds[world];
        let imports = world.imports.keys();
        let exports = world.exports.keys();
        (
            imports.map(|key| resolve.name_world_key(key)).collect(),
            exports.map(|key| resolve.name_world_key(key)).collect(),
        )
    }

    #[test]
    fn a_module_without_a_world_gets_the_one_that_its_exports_name() {
        for contract in OFFERED {
            let core = module(&[], &functions(contract));
            assert!(is_core_module(&core));
            let component = encode(&core).expect("it implements the contract");
            assert!(!is_core_module(&component));
            let (_, exports) = interfaces(&component);
            assert_eq!(exports, [contract.export]);
        }
    }

    #[test]
    fn the_same_module_always_becomes_the_same_component() {
        let core = module(&[], &functions(&OFFERED[0]));
        let component = encode(&core).expect("it implements the contract");
        assert_eq!(encode(&core).expect("it still does"), component);
    }

    #[test]
    fn calls_of_preview_1_become_calls_that_the_host_offers() {
        let writes = [("wasi_snapshot_preview1", "fd_write", 4)];
        let core = module(&writes, &functions(&OFFERED[0]));
        let component = encode(&core).expect("it implements the contract");
        let (imports, _) = interfaces(&component);
        assert!(
            imports.iter().any(|import| is_offered(import)),
            "{imports:?}"
        );
        for import in imports {
            assert!(
                is_offered(&import) || import.starts_with("leadhost:types/"),
                "{import}"
            );
        }
    }

    #[test]
    fn a_foreign_import_is_refused_by_name() {
        let imports = [
            ("wasi_snapshot_preview1", "fd_write", 4),
            ("env", "emscripten_now", 0),
            ("wasi:http/outgoing-handler@0.2.0", "handle", 2),
        ];
        let core = module(&imports, &functions(&OFFERED[0]));
        let error = encode(&core).expect_err("it is refused");
        let CoreModuleError::ForeignImports { imports } = &error else {
            panic!("{error}");
        };
        let expect = [
            "env.emscripten_now",
            "wasi:http/outgoing-handler@0.2.0.handle",
        ];
        assert_eq!(imports, &expect);
    }

    #[test]
    fn a_module_without_a_contract_is_refused_with_what_it_exports() {
        let other = vec![(
            "leadhost:converter/converter@2.0.0#convert".to_owned(),
            vec![],
            vec![],
        )];
        let error = encode(&module(&[], &other)).expect_err("it is refused");
        let text = error.to_string();
        assert!(
            matches!(error, CoreModuleError::NoContract { .. }),
            "{text}"
        );
        for part in ["converter@2.0.0#convert", "converter@1.0.0"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_module_of_two_contracts_is_refused() {
        let mut both = functions(&OFFERED[0]);
        both.extend(functions(&OFFERED[1]).into_iter().skip(1));
        let error = encode(&module(&[], &both)).expect_err("it is refused");
        assert!(
            matches!(error, CoreModuleError::SeveralContracts { .. }),
            "{error}"
        );
    }

    #[test]
    fn a_function_with_another_signature_is_refused() {
        let mut wrong = functions(&OFFERED[0]);
        wrong[1].1.push(ValType::F64);
        let error = encode(&module(&[], &wrong)).expect_err("it is refused");
        assert!(matches!(error, CoreModuleError::Unfit(_)), "{error}");
    }

    #[test]
    fn damaged_bytes_are_an_error_and_never_a_panic() {
        let good = module(&[], &functions(&OFFERED[0]));
        for end in 0..good.len() {
            let _ = encode(&good[..end]);
        }
        assert!(matches!(
            encode(b"\0asm\x01\0\0\0\x02\x7f"),
            Err(CoreModuleError::Damaged(_))
        ));
    }
}
