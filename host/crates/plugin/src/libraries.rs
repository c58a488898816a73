//! The libraries of a component: core modules without a memory of their own, such as the interpreter of
//! Python, which work in the memory of a small module beside them. A build changes that memory and not
//! the libraries, so they are taken out of the component, and it imports them: then only the rest of it
//! is compiled again.
//!
//! All indices stay the same, because an import of a core module takes the place of the module.

use wasm_encoder::{
    Component, ComponentImportSection, ComponentTypeRef, CoreTypeSection, ModuleType, RawSection,
};
use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind, Instance, Parser, Payload,
};
use wasmtime::ResourcesRequired;

use super::module_shape::{ModuleNeeds, ModuleShape};
use leadhost_domain::limits;

pub struct SplitComponent {
    /// The component, which imports the libraries. It has no custom sections, such as golden cases, at
    /// its top: they change nothing in its code.
    pub rest: Vec<u8>,
    pub libraries: Vec<Library>,
    /// The resources that an instance needs. The runtime does not report them for a component with such imports.
    pub needs: ResourcesRequired,
}

pub struct Library {
    /// The name under which the rest imports it.
    pub import: String,
    pub module: Vec<u8>,
}

/// Takes the libraries out of a component. `None` if it has none that are worth it, or if its structure
/// is one for which this is not made.
pub fn split(component: &[u8]) -> Option<SplitComponent> {
    let mut splitter = Splitter::default();
    let mut nested = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.ok()?;
        if nested == 0 {
            splitter.add(component, &payload)?;
        } else if matches!(payload, Payload::InstanceSection(_)) {
            // It may make instances of the modules around it, as often as it is itself made.
            return None;
        }
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => nested += 1,
            Payload::End(_) => nested = nested.saturating_sub(1),
            _ => {}
        }
    }
    splitter.finish()
}

#[derive(Default)]
struct Splitter {
    rest: Component,
    libraries: Vec<Library>,
    /// The resources that one instance of each core module needs.
    modules: Vec<ModuleNeeds>,
    needs: ModuleNeeds,
}

impl Splitter {
    /// Adds a section at the top of the component. `None` if it is not known what it means for the core
    /// modules or their types.
    fn add(&mut self, component: &[u8], payload: &Payload<'_>) -> Option<()> {
        match payload {
            Payload::ModuleSection {
                unchecked_range, ..
            } => {
                let module = component.get(unchecked_range.clone())?;
                let shape = ModuleShape::parse(module).ok()?;
                let is_library = shape.needs == ModuleNeeds::default();
                self.modules.push(shape.needs);
                if is_library && module.len() >= limits::LIBRARY_BYTES {
                    self.import(module, &shape.into_type()?);
                    return Some(());
                }
            }
            Payload::InstanceSection(instances) => {
                for instance in instances.clone() {
                    if let Instance::Instantiate { module_index, .. } = instance.ok()? {
                        let module = self.modules.get(usize::try_from(module_index).ok()?)?;
                        self.needs.add(module);
                    }
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases.clone() {
                    match alias.ok()? {
                        ComponentAlias::InstanceExport {
                            kind: ComponentExternalKind::Module,
                            ..
                        }
                        | ComponentAlias::Outer {
                            kind:
                                ComponentOuterAliasKind::CoreModule | ComponentOuterAliasKind::CoreType,
                            ..
                        } => return None,
                        _ => {}
                    }
                }
            }
            Payload::ComponentImportSection(imports) => {
                for import in imports.clone() {
                    if matches!(import.ok()?.ty, wasmparser::ComponentTypeRef::Module(_)) {
                        return None;
                    }
                }
            }
            // The types of the imports would have other indices than these.
            Payload::CoreTypeSection(_) => return None,
            Payload::CustomSection(_) => return Some(()),
            _ => {}
        }
        if let Some((id, range)) = payload.as_section() {
            let data = component.get(range)?;
            self.rest.section(&RawSection { id, data });
        }
        Some(())
    }

    /// Imports a library in the place of its module.
    fn import(&mut self, module: &[u8], ty: &ModuleType) {
        let index = u32::try_from(self.libraries.len()).unwrap_or(u32::MAX);
        let name = format!("library{index}");
        let mut types = CoreTypeSection::new();
        types.ty().module(ty);
        let mut imports = ComponentImportSection::new();
        imports.import(name.as_str(), ComponentTypeRef::Module(index));
        self.rest.section(&types).section(&imports);
        self.libraries.push(Library {
            import: name,
            module: module.to_vec(),
        });
    }

    fn finish(self) -> Option<SplitComponent> {
        let needs = ResourcesRequired {
            num_memories: self.needs.memories,
            max_initial_memory_size: self.needs.largest_memory,
            num_tables: self.needs.tables,
            max_initial_table_size: self.needs.largest_table,
        };
        (!self.libraries.is_empty()).then(|| SplitComponent {
            rest: self.rest.finish(),
            libraries: self.libraries,
            needs,
        })
    }
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        Alias, CanonicalFunctionSection, CodeSection, ComponentAliasSection, ComponentExportKind,
        ComponentExportSection, ComponentTypeSection, ConstExpr, CustomSection, DataSection,
        EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection,
        InstanceSection, Instruction, MemArg, MemorySection, MemoryType, Module, ModuleArg,
        ModuleSection, NestedComponentSection, PrimitiveValType, RefType, TableSection, TableType,
        TypeSection, ValType,
    };
    use wasmtime::component::Linker;
    use wasmtime::{Engine, Store};

    use super::*;

    const MEMORY: MemoryType = MemoryType {
        minimum: 2,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };

    /// A module with a memory that begins with this byte, and a table.
    fn memory(byte: u8) -> Module {
        let mut tables = TableSection::new();
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: 7,
            maximum: None,
            shared: false,
        });
        let mut memories = MemorySection::new();
        memories.memory(MEMORY);
        let mut exports = ExportSection::new();
        exports.export("memory", ExportKind::Memory, 0);
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(0), [byte]);
        let mut module = Module::new();
        module
            .section(&tables)
            .section(&memories)
            .section(&exports)
            .section(&data);
        module
    }

    /// A module that returns the first byte of the memory of another one. It has this many bytes more.
    fn reader(more: usize) -> Module {
        let mut types = TypeSection::new();
        types.ty().function([ValType::F64], []);
        types.ty().function([], [ValType::I32]);
        let mut imports = ImportSection::new();
        imports.import("beside", "memory", EntityType::Memory(MEMORY));
        let mut functions = FunctionSection::new();
        functions.function(1);
        let mut exports = ExportSection::new();
        exports
            .export("first", ExportKind::Func, 0)
            .export("the-memory", ExportKind::Memory, 0);
        let mut body = Function::new([]);
        body.instruction(&Instruction::I32Const(0))
            .instruction(&Instruction::I32Load8U(MemArg {
                offset: 0,
                align: 0,
                memory_index: 0,
            }))
            .instruction(&Instruction::End);
        let mut code = CodeSection::new();
        code.function(&body);
        let mut module = Module::new();
        module
            .section(&types)
            .section(&imports)
            .section(&functions)
            .section(&exports)
            .section(&code)
            .section(&CustomSection {
                name: "more".into(),
                data: vec![0; more].into(),
            });
        module
    }

    /// A component that exports the function of the second module as `first`.
    fn component(memory: &Module, reader: &Module) -> Component {
        let mut component = Component::new();
        component
            .section(&ModuleSection(memory))
            .section(&ModuleSection(reader));
        let mut instances = InstanceSection::new();
        instances.instantiate(0, [] as [(&str, ModuleArg); 0]);
        instances.instantiate(1, [("beside", ModuleArg::Instance(0))]);
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::CoreInstanceExport {
            instance: 1,
            kind: ExportKind::Func,
            name: "first",
        });
        let mut types = ComponentTypeSection::new();
        types
            .function()
            .params([] as [(&str, PrimitiveValType); 0])
            .result(Some(PrimitiveValType::U32.into()));
        let mut lifted = CanonicalFunctionSection::new();
        lifted.lift(0, 0, []);
        let mut exports = ComponentExportSection::new();
        exports.export("first", ComponentExportKind::Func, 0, None);
        component
            .section(&instances)
            .section(&aliases)
            .section(&types)
            .section(&lifted)
            .section(&exports);
        component
    }

    /// Returns what the function answers if the libraries are compiled apart.
    fn first(split: &SplitComponent) -> u32 {
        let engine = Engine::default();
        let mut linker = Linker::<()>::new(&engine);
        for library in &split.libraries {
            let module = wasmtime::Module::new(&engine, &library.module).expect("a module");
            let linked = linker.root().module(&library.import, &module);
            linked.expect("the name is free");
        }
        let rest = wasmtime::component::Component::new(&engine, &split.rest).expect("a component");
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &rest).expect("it fits");
        let function = instance.get_typed_func::<(), (u32,)>(&mut store, "first");
        let called = function.expect("it is exported").call(&mut store, ());
        called.expect("it answers").0
    }

    #[test]
    fn a_library_stays_the_same_while_the_memory_beside_it_changes() {
        let reader = reader(limits::LIBRARY_BYTES);
        let [one, other] = [3, 5].map(|byte| {
            let component = component(&memory(byte), &reader).finish();
            split(&component).expect("it has a library")
        });
        assert_eq!((first(&one), first(&other)), (3, 5));
        let module = reader.finish();
        for split in [&one, &other] {
            assert_eq!(split.libraries.len(), 1);
            assert!(split.libraries[0].module == module);
            assert!(split.rest.len() < 1_000);
        }
    }

    #[test]
    fn it_needs_what_the_runtime_says_of_the_whole() {
        let mut component = component(&memory(1), &reader(limits::LIBRARY_BYTES));
        let mut more = InstanceSection::new();
        more.instantiate(0, [] as [(&str, ModuleArg); 0]);
        component.section(&more);
        let wasm = component.finish();
        let engine = Engine::default();
        let whole = wasmtime::component::Component::new(&engine, &wasm).expect("a component");
        let expect = whole.resources_required().expect("it has its modules");
        let needs = split(&wasm).expect("it has a library").needs;
        let numbers = |needs: &ResourcesRequired| {
            let largest = (needs.max_initial_memory_size, needs.max_initial_table_size);
            (needs.num_memories, needs.num_tables, largest)
        };
        assert_eq!(numbers(&needs), numbers(&expect));
        assert_eq!(numbers(&needs), (2, 2, (Some(2), Some(7))));
    }

    #[test]
    fn golden_cases_change_nothing() {
        let mut component = component(&memory(1), &reader(limits::LIBRARY_BYTES));
        let bare = split(&component.clone().finish()).expect("it has a library");
        component.section(&CustomSection {
            name: "cases".into(),
            data: b"some".into(),
        });
        let with = split(&component.finish()).expect("it has a library");
        assert!(bare.rest == with.rest);
    }

    #[test]
    fn a_component_without_a_large_library_is_left_whole() {
        let small = component(&memory(1), &reader(100));
        assert!(split(&small.finish()).is_none());
        let mut large = memory(1);
        large.section(&CustomSection {
            name: "more".into(),
            data: vec![0; limits::LIBRARY_BYTES].into(),
        });
        assert!(split(&component(&large, &reader(100)).finish()).is_none());
        assert!(split(b"").is_none());
    }

    #[test]
    fn a_structure_that_hides_modules_or_moves_their_types_is_left_whole() {
        let with = |change: &dyn Fn(&mut Component)| {
            let mut component = component(&memory(1), &reader(limits::LIBRARY_BYTES));
            change(&mut component);
            split(&component.finish()).is_some()
        };
        assert!(with(&|_| {}));
        assert!(!with(&|component| {
            let mut types = CoreTypeSection::new();
            types.ty().core().function([], []);
            component.section(&types);
        }));
        assert!(!with(&|component| {
            let mut inner = Component::new();
            inner.section(&ModuleSection(&memory(1)));
            let mut instances = InstanceSection::new();
            instances.instantiate(0, [] as [(&str, ModuleArg); 0]);
            inner.section(&instances);
            component.section(&NestedComponentSection(&inner));
        }));
        assert!(!with(&|component| {
            let mut aliases = ComponentAliasSection::new();
            aliases.alias(Alias::InstanceExport {
                instance: 0,
                kind: ComponentExportKind::Module,
                name: "a",
            });
            component.section(&aliases);
        }));
        assert!(!with(&|component| {
            let mut instances = InstanceSection::new();
            instances.instantiate(9, [] as [(&str, ModuleArg); 0]);
            component.section(&instances);
        }));
    }

    #[test]
    fn damaged_bytes_are_left_whole_and_never_a_panic() {
        let wasm = component(&memory(1), &reader(limits::LIBRARY_BYTES)).finish();
        for end in (0..300).chain(wasm.len() - 300..wasm.len()) {
            let _ = split(&wasm[..end]);
        }
        let mut flipped = wasm;
        for at in (0..300).chain(flipped.len() - 300..flipped.len()) {
            flipped[at] ^= 0xff;
            let _ = split(&flipped);
            flipped[at] ^= 0xff;
        }
    }
}
