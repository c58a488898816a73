//! The needs of an instance of a core module, and the module's type: the types of its imports and exports.

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{EntityType, ModuleType};
use wasmparser::{
    BinaryReaderError, CompositeInnerType, Export, ExternalKind, FuncType, Import, MemoryType,
    Parser, Payload, RecGroup, TableType, TypeRef,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModuleNeeds {
    pub memories: u32,
    /// The pages of the largest memory at its start.
    pub largest_memory: Option<u64>,
    pub tables: u32,
    /// The elements of the largest table at its start.
    pub largest_table: Option<u64>,
}

impl ModuleNeeds {
    /// Adds what an instance needs beside these.
    pub fn add(&mut self, other: &Self) {
        self.memories = self.memories.saturating_add(other.memories);
        self.largest_memory = self.largest_memory.max(other.largest_memory);
        self.tables = self.tables.saturating_add(other.tables);
        self.largest_table = self.largest_table.max(other.largest_table);
    }

    fn add_memory(&mut self, memory: MemoryType) {
        self.add(&Self {
            memories: 1,
            largest_memory: Some(memory.initial),
            ..Self::default()
        });
    }

    fn add_table(&mut self, table: TableType) {
        self.add(&Self {
            tables: 1,
            largest_table: Some(table.initial),
            ..Self::default()
        });
    }
}

#[derive(Default)]
pub struct ModuleShape<'a> {
    pub needs: ModuleNeeds,
    types: Vec<RecGroup>,
    imports: Vec<Import<'a>>,
    exports: Vec<Export<'a>>,
    /// Imported and own ones, by their indices.
    functions: Vec<TypeRef>,
    tables: Vec<TypeRef>,
    memories: Vec<TypeRef>,
    globals: Vec<TypeRef>,
}

impl<'a> ModuleShape<'a> {
    pub fn parse(module: &'a [u8]) -> Result<Self, BinaryReaderError> {
        let mut shape = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(types) => {
                    shape.types = types.into_iter().collect::<Result<_, _>>()?;
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import?;
                        shape.define(import.ty);
                        shape.imports.push(import);
                    }
                }
                Payload::FunctionSection(functions) => {
                    for function in functions {
                        shape.functions.push(TypeRef::Func(function?));
                    }
                }
                Payload::TableSection(tables) => {
                    for table in tables {
                        let table = table?.ty;
                        shape.needs.add_table(table);
                        shape.tables.push(TypeRef::Table(table));
                    }
                }
                Payload::MemorySection(memories) => {
                    for memory in memories {
                        let memory = memory?;
                        shape.needs.add_memory(memory);
                        shape.memories.push(TypeRef::Memory(memory));
                    }
                }
                Payload::GlobalSection(globals) => {
                    for global in globals {
                        shape.globals.push(TypeRef::Global(global?.ty));
                    }
                }
                Payload::ExportSection(exports) => {
                    shape.exports = exports.into_iter().collect::<Result<_, _>>()?;
                }
                _ => {}
            }
        }
        Ok(shape)
    }

    fn define(&mut self, imported: TypeRef) {
        match imported {
            TypeRef::Func(_) | TypeRef::FuncExact(_) => self.functions.push(imported),
            TypeRef::Table(_) => self.tables.push(imported),
            TypeRef::Memory(_) => self.memories.push(imported),
            TypeRef::Global(_) => self.globals.push(imported),
            TypeRef::Tag(_) => {}
        }
    }

    /// Returns the type of the module. `None` if it needs a later WebAssembly than guests have: with types
    /// other than function types, or with exceptions.
    pub fn into_type(self) -> Option<ModuleType> {
        let mut ty = ModuleType::new();
        for group in &self.types {
            ty.ty().func_type(
                &RoundtripReencoder
                    .func_type(function(group)?.clone())
                    .ok()?,
            );
        }
        for import in &self.imports {
            ty.import(import.module, import.name, entity(import.ty)?);
        }
        for export in &self.exports {
            let defined = match export.kind {
                ExternalKind::Func => &self.functions,
                ExternalKind::Table => &self.tables,
                ExternalKind::Memory => &self.memories,
                ExternalKind::Global => &self.globals,
                ExternalKind::Tag | ExternalKind::FuncExact => return None,
            };
            let index = usize::try_from(export.index).ok()?;
            ty.export(export.name, entity(*defined.get(index)?)?);
        }
        Some(ty)
    }
}

/// Returns the function type that is all of a group of types.
fn function(group: &RecGroup) -> Option<&FuncType> {
    let mut types = group.types();
    let only = types.next().filter(|_| types.len() == 0)?;
    let is_plain = only.is_final && only.supertype_idx.is_none() && !group.is_explicit_rec_group();
    match &only.composite_type.inner {
        CompositeInnerType::Func(function) if is_plain && !only.composite_type.shared => {
            Some(function)
        }
        _ => None,
    }
}

fn entity(ty: TypeRef) -> Option<EntityType> {
    match ty {
        TypeRef::Tag(_) | TypeRef::FuncExact(_) => None,
        _ => RoundtripReencoder.entity_type(ty).ok(),
    }
}
