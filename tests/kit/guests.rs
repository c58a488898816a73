//! Components for tests: built from the workspace's crates once in a run, or assembled
//! by hand where no toolchain produces such a component.
//!
//! If the Rust target is installed, they are always built, so that `cargo test` alone
//! works. Otherwise the ones that `cargo xtask` has built are used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use leadhost_domain::limits;
/// Instructions of core modules by hand.
pub use wasm_encoder::Instruction;
use wasm_encoder::{
    Alias, CodeSection, Component, ComponentExportKind, ComponentExportSection,
    ComponentImportSection, ComponentInstanceSection, ComponentOuterAliasKind, ComponentTypeRef,
    ComponentTypeSection, CustomSection, EntityType, Function, FunctionSection, ImportSection,
    InstanceSection, InstanceType, MemorySection, MemoryType, Module, ModuleArg, ModuleSection,
    NameMap, NameSection, StartSection, TypeSection,
};
use wit_component::ComponentEncoder;
use xtask::cargo::has_target;
use xtask::misbehave;

use crate::components::target;

/// The converter that does what its configuration asks for.
pub fn misbehave() -> Vec<u8> {
    rust_component("guest-misbehave")
}

/// The adapter that does what its configuration asks for.
pub fn misbehave_adapter() -> Vec<u8> {
    rust_component("guest-misbehave-adapter")
}

/// The example converter, without golden cases.
pub fn example_form() -> Vec<u8> {
    rust_component("example-form")
}

/// The sandbox adapter, which needs no network.
pub fn sandbox() -> Vec<u8> {
    rust_component("adapter-sandbox")
}

/// The component of a crate that is compiled without WASI.
#[track_caller]
pub fn rust_component(package: &str) -> Vec<u8> {
    static BUILT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(component) = built.get(package) {
        return component.clone();
    }
    let component = if has_target(UNKNOWN).expect("rustc has a folder") {
        let module = compile(package, UNKNOWN);
        ComponentEncoder::default()
            .validate(true)
            .module(&module)
            .and_then(|mut encoder| encoder.encode())
            .expect("the module carries its world")
    } else {
        let folders = ["plugins", "guests"].map(|folder| target().join(folder));
        folders
            .iter()
            .find_map(|folder| std::fs::read(folder.join(format!("{package}.wasm"))).ok())
            .unwrap_or_else(|| {
                panic!("`{package}` is not built: `rustup target add {UNKNOWN}`, or run the tests by `cargo xtask test`")
            })
    };
    built.insert(package.to_owned(), component.clone());
    component
}

/// The core module of a crate that is compiled without WASI, before a component is made of
/// it.
pub fn rust_module(package: &str) -> Vec<u8> {
    compile(package, UNKNOWN)
}

/// Returns a component of one core module with a [`library`] beside it.
pub fn with_library(component: &[u8], start: &[Instruction<'_>]) -> Vec<u8> {
    with_module(component, 1, &library(start))
}

/// Returns a component with one more core module, its number `index`, in each instance.
pub fn with_module(component: &[u8], index: u32, module: &Module) -> Vec<u8> {
    let mut instances = InstanceSection::new();
    instances.instantiate(index, [] as [(&str, ModuleArg); 0]);
    let mut more = Component::new();
    more.section(&ModuleSection(module)).section(&instances);
    // Without the header.
    [component, &more.finish()[8..]].concat()
}

/// A core module with memories of this many pages each, and nothing else.
pub fn memories(count: u32, pages: u64) -> Module {
    let mut memories = MemorySection::new();
    for _ in 0..count {
        memories.memory(MemoryType {
            minimum: pages,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
    }
    let mut module = Module::new();
    module.section(&memories);
    module
}

/// A core module without a memory, large enough to be compiled apart. Each instance runs `start`, which
/// has the name `library_start`.
pub fn library(start: &[Instruction<'_>]) -> Module {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut body = Function::new([]);
    for instruction in start {
        body.instruction(instruction);
    }
    body.instruction(&Instruction::End);
    let mut code = CodeSection::new();
    code.function(&body);
    let mut called = NameMap::new();
    called.append(0, "library_start");
    let mut names = NameSection::new();
    names.functions(&called);
    let mut module = Module::new();
    module
        .section(&types)
        .section(&functions)
        .section(&StartSection { function_index: 0 })
        .section(&code)
        .section(&names)
        .section(&CustomSection {
            name: "filler".into(),
            data: vec![0; limits::LIBRARY_BYTES].into(),
        });
    module
}

/// A core module that exports nothing and imports one function.
pub fn importing_module(module: &str, name: &str) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut imports = ImportSection::new();
    imports.import(module, name, EntityType::Function(0));
    let mut core = Module::new();
    core.section(&types).section(&imports);
    core.finish()
}

/// The misbehaving converter compiled with WASI.
pub fn misbehave_with_wasi() -> Vec<u8> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    compile("guest-misbehave", WASI)
}

/// The misbehaving converter with as many golden cases as a component may carry, over twenty thousand, each
/// an endless loop.
pub fn golden_bomb() -> Vec<u8> {
    misbehave::with_most_cases(&looping())
}

/// The misbehaving converter, which loops for ever in each conversion.
pub fn looping() -> Vec<u8> {
    Variant::default().always("loop").component()
}

/// The misbehaving converter in Python.
pub fn misbehave_python() -> Vec<u8> {
    crate::components::component("guests/misbehave-py.wasm")
}

/// A component that exports an empty interface of this name.
pub fn exporting(interface: &str) -> Vec<u8> {
    exporting_all(&[interface])
}

/// A component that exports an empty interface and imports another one with one
/// function.
pub fn importing(import: &str, export: &str) -> Vec<u8> {
    let mut component = Component::new();
    let mut interface = InstanceType::new();
    interface
        .ty()
        .function()
        .params([] as [(&str, wasm_encoder::ComponentValType); 0])
        .result(None);
    interface.export("call", ComponentTypeRef::Func(0));
    let mut types = ComponentTypeSection::new();
    types.instance(&interface);
    component.section(&types);
    let mut imports = ComponentImportSection::new();
    imports.import(import, ComponentTypeRef::Instance(0));
    component.section(&imports);
    export_empty(&mut component, export, 1);
    component.finish()
}

/// A component that imports, under this name, this many nested instances, with only
/// types in the innermost.
pub fn importing_nested(import: &str, levels: u32) -> Vec<u8> {
    let mut component = Component::new();
    let mut types = ComponentTypeSection::new();
    types.instance(&InstanceType::new());
    for level in 0..levels {
        let mut outer = InstanceType::new();
        outer.alias(Alias::Outer {
            kind: ComponentOuterAliasKind::Type,
            count: 1,
            index: level,
        });
        outer.export("a", ComponentTypeRef::Instance(0));
        types.instance(&outer);
    }
    component.section(&types);
    let mut imports = ComponentImportSection::new();
    imports.import(import, ComponentTypeRef::Instance(levels));
    component.section(&imports);
    export_empty(&mut component, "leadhost:converter/converter@1.0.0", 1);
    component.finish()
}

/// A component that exports several empty interfaces.
pub fn exporting_all(interfaces: &[&str]) -> Vec<u8> {
    let mut component = Component::new();
    // An export is a separate instance, after the one that it names.
    for (index, interface) in (0..).step_by(2).zip(interfaces) {
        export_empty(&mut component, interface, index);
    }
    component.finish()
}

fn export_empty(component: &mut Component, interface: &str, index: u32) {
    let mut instances = ComponentInstanceSection::new();
    instances.export_items([] as [(&str, ComponentExportKind, u32); 0]);
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    exports.export(interface, ComponentExportKind::Instance, index, None);
    component.section(&exports);
}

const UNKNOWN: &str = "wasm32-unknown-unknown";
const WASI: &str = "wasm32-wasip2";

#[track_caller]
fn compile(package: &str, triple: &str) -> Vec<u8> {
    // `cargo xtask test` has built them.
    if std::env::var_os("LEADHOST_TEST_BUILT").is_none() {
        let status = xtask::cargo::command(&repository())
            .env_remove(xtask::cargo::LINTER)
            .args(["build", "--quiet", "--profile", "plugin"])
            .args(["--target", triple, "--package", package])
            .status()
            .expect("cargo starts");
        assert!(
            status.success(),
            "`{package}` does not compile for {triple}"
        );
    }
    let file = format!("{}.wasm", package.replace('-', "_"));
    let path = target().join(triple).join("plugin").join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests are in it").to_path_buf()
}

/// Another version of the misbehaving converter, which does the same.
pub fn version(version: &str) -> Vec<u8> {
    Variant::version(version).component()
}

/// Another version of the misbehaving converter. An unset field is as in the version
/// that it is made from.
pub struct Variant<'a> {
    pub version: &'a str,
    /// The secret of the sender check. Empty: no check.
    pub check: &'a str,
    /// The host of fetches.
    pub fetch: &'a str,
    /// A word that no longer does harm in this version.
    pub mended: &'a str,
    /// The prefix of messages, or how the word `person` reads people wrong.
    pub prefix: &'a str,
    /// The harm in `describe`: `loop`, or a word of `misbehave/src/schema.rs`.
    /// Empty: none.
    pub describe: &'a str,
    /// The word to use if a configuration has none.
    pub always: &'a str,
}

impl Default for Variant<'_> {
    fn default() -> Self {
        Self {
            version: "1.0.0",
            check: "key",
            fetch: "https://leads.example.com/v1/leads",
            mended: "",
            prefix: "",
            describe: "",
            always: "",
        }
    }
}

/// Makes a method of each field, which sets it.
macro_rules! setters {
    ($($field:ident),+) => {$(
        #[must_use]
        pub fn $field(self, $field: &'a str) -> Self {
            Self { $field, ..self }
        }
    )+};
}

impl<'a> Variant<'a> {
    pub fn version(version: &'a str) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    setters!(check, fetch, mended, prefix, describe, always);

    /// Returns the component, made by changing bytes of the compiled one.
    pub fn component(&self) -> Vec<u8> {
        let fields = [
            self.version,
            self.check,
            self.fetch,
            self.mended,
            self.prefix,
            self.describe,
            self.always,
        ];
        misbehave::variant(self::misbehave(), misbehave::CONVERTER, &fields)
    }
}

/// Another version of the misbehaving adapter. An unset field is as in the version
/// that it is made from.
pub struct AdapterVariant<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// The secret of the sender check. Empty: no check.
    pub check: &'a str,
    /// A host that it requests. Empty: none.
    pub host: &'a str,
    /// A secret that it requests. Empty: none.
    pub secret: &'a str,
    /// A word that no longer does harm in this version.
    pub mended: &'a str,
    /// The function and the word to use if a configuration has none, such as
    /// `send:trap`.
    pub always: &'a str,
    /// The address of sends.
    pub sends: &'a str,
}

impl Default for AdapterVariant<'_> {
    fn default() -> Self {
        Self {
            name: "misbehave-adapter",
            version: "1.0.0",
            check: "key",
            host: "",
            secret: "",
            mended: "",
            always: "",
            sends: "https://api.example.com/v1/messages",
        }
    }
}

impl<'a> AdapterVariant<'a> {
    pub fn version(version: &'a str) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    setters!(name, check, host, secret, mended, always, sends);

    /// Returns the component, made by changing bytes of the compiled one.
    pub fn component(&self) -> Vec<u8> {
        let fields = [
            self.name,
            self.version,
            self.check,
            self.host,
            self.secret,
            self.mended,
            self.always,
            self.sends,
        ];
        misbehave::variant(misbehave_adapter(), misbehave::ADAPTER, &fields)
    }
}
