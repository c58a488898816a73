//! The message of a call that failed: its root cause, then the functions in which it happened, the plugin
//! author's own first. Only components with a section of names have names.

use std::fmt::{self, Write};

use wasmtime::{FrameInfo, Trap, WasmBacktrace};

use leadhost_domain::limits;
use leadhost_domain::text::on_one_line;

/// Functions that a message names.
const NAMED: usize = 5;

/// How the names of functions begin that end a program, allocate, lead to the author's code, or are of the SDK
/// and its libraries: of Rust, C, Go, Zig and Python, in this order.
const MACHINERY: [&str; 31] = [
    "std::",
    "core::",
    "alloc::",
    "panic_abort::",
    "dlmalloc::",
    "wit_bindgen::",
    "leadhost_sdk::",
    "serde::",
    "serde_core::",
    "serde_json::",
    "__rust",
    "rust_begin_unwind",
    "rust_panic",
    "__wasm_",
    "__wasi_",
    "__wasilibc_",
    "__imported_wasi_",
    "__assert_",
    "__stack_chk_",
    "__funcs_on_exit",
    "cabi_realloc",
    "runtime.",
    "internal/",
    "syscall.",
    "reflect.",
    "wasm_pc_f_loop",
    "debug.",
    "builtin.",
    "posix.",
    "compiler_rt.",
    "wit_dylib_",
];

/// Whole names of such functions.
const MACHINERY_OF_C: [&str; 19] = [
    "abort",
    "raise",
    "exit",
    "_Exit",
    "_exit",
    "_start",
    "_initialize",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "sbrk",
    "dlmalloc",
    "dlcalloc",
    "dlrealloc",
    "posix_memalign",
    "memcpy",
    "memmove",
    "memset",
];

/// Returns the root cause and the functions in which it happened, on one line.
pub fn cause_first(error: &wasmtime::Error) -> String {
    let mut message = error.root_cause().to_string();
    if error.downcast_ref::<Trap>() == Some(&Trap::MemoryOutOfBounds) && is_recursion(error) {
        // Languages with a stack of their own in the memory run past its end.
        message.push_str(" (a function calls itself without end: the stack is used up)");
    }
    message.push_str(&place_of(error));
    on_one_line(&message)
}

/// Returns the functions in which the call was when it ended; an empty text if they are not known.
pub fn place_of(error: &wasmtime::Error) -> String {
    let trace = error.downcast_ref::<WasmBacktrace>();
    let frames = trace.map(WasmBacktrace::frames).unwrap_or_default();
    on_one_line(&place(frames.iter().filter_map(FrameInfo::func_name)))
}

/// Returns whether one function is most of what the engine has recorded.
fn is_recursion(error: &wasmtime::Error) -> bool {
    let trace = error.downcast_ref::<WasmBacktrace>();
    let frames = trace.map(WasmBacktrace::frames).unwrap_or_default();
    let same = |index| {
        frames
            .iter()
            .filter(|one| one.func_index() == index)
            .count()
    };
    frames.len() >= RECORDED
        && frames
            .iter()
            .any(|one| same(one.func_index()) > RECORDED / 3)
}

const RECORDED: usize = 20;

/// Returns the place of a failure, given the functions from the innermost one outwards.
fn place<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(readable).collect();
    if names.iter().any(|name| name.starts_with(INTERPRETER)) {
        // Whatever the author's functions are, the others are the interpreter's too.
        names.retain(|name| name.contains(EXPORT));
    }
    let mut shown: Vec<&str> = names.iter().map(String::as_str).collect();
    if shown.iter().any(|name| !is_machinery(name)) {
        shown.retain(|name| !is_machinery(name));
    }
    let mut folded: Vec<String> = Vec::new();
    for calls in shown.chunk_by(|inner, outer| inner == outer).take(NAMED) {
        folded.push(match calls {
            [one] => (*one).to_owned(),
            [one, ..] => format!("{one} (calls itself)"),
            [] => continue,
        });
    }
    if folded.is_empty() {
        String::new()
    } else {
        format!("{PLACE}{}", folded.join(OUTER))
    }
}

/// Returns the message of a failed call without the functions in which it happened: they may differ
/// between two builds of the same code.
pub fn without_place(message: &str) -> &str {
    match message.split_once(PLACE) {
        Some((cause, _)) => cause,
        None => message,
    }
}

/// Returns the message of a failed call with the innermost of its functions alone: the outer ones of one
/// crash may differ between calls, as the functions that start a goroutine do.
pub fn with_innermost_place(message: &str) -> &str {
    let place = without_place(message).len();
    match message[place..].find(OUTER) {
        Some(outer) => &message[..place + outer],
        None => message,
    }
}

/// The function in which Python interprets a plugin's.
const INTERPRETER: &str = "_PyEval_";

/// Separates an interface of the contract from its function, in the name of an export.
const EXPORT: char = '#';

/// Separates a function from the one that called it.
const OUTER: &str = " < ";

/// Separates the cause from the functions.
const PLACE: &str = ", in ";

fn is_machinery(name: &str) -> bool {
    // `<T as Trait>::f` is of the crate of `T`, and `(*T).f` of the package of `T`.
    let path = name.trim_start_matches(['<', '&', '(', '[', '*']);
    MACHINERY.iter().any(|begin| path.starts_with(begin)) || MACHINERY_OF_C.contains(&name)
}

/// Returns a name as its author wrote it, cut to its bound.
fn readable(name: &str) -> String {
    let mut out = BoundedName(String::new());
    // It ends with an error as soon as the name is long enough: a short symbol may stand for a name
    // of a megabyte.
    let _ = match rustc_demangle::try_demangle(name) {
        Ok(symbol) => write!(out, "{symbol:#}"),
        Err(_) => out.write_str(name),
    };
    out.0
}

struct BoundedName(String);

impl Write for BoundedName {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = limits::REFUSAL_NAME_BYTES.saturating_sub(self.0.len());
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() <= room {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_message_is_the_same_without_its_place() {
        let cause = "wasm trap: unreachable";
        let whole = format!("{cause}{}", super::place(["a", "b"].into_iter()));
        assert_eq!(whole, "wasm trap: unreachable, in a < b");
        assert_eq!(super::without_place(&whole), cause);
        assert_eq!(super::without_place(cause), cause);
        let inner = super::with_innermost_place(&whole);
        assert!(
            whole.starts_with(inner) && inner.len() > cause.len(),
            "{inner}"
        );
        assert_eq!(super::with_innermost_place(inner), inner);
        let comparing = "the value is 3 < 4";
        assert_eq!(super::with_innermost_place(comparing), comparing);
    }

    use std::sync::Arc;

    use wasm_encoder::{
        BlockType, CodeSection, ExportKind, ExportSection, Function, FunctionSection, Instruction,
        MemArg, MemorySection, MemoryType, Module, NameMap, NameSection, TypeSection, ValType,
    };
    use wasmtime::{Engine, Store};

    use super::*;
    use crate::memory::{MemoryExceeded, MemoryLimiter, MemoryPool};

    const NAMES: [&str; 4] = ["spin", "grow", "recurse", "descend"];

    /// A module whose functions run for ever, ask for memory for ever, or call themselves for ever: the last
    /// one with a stack in the memory.
    fn module() -> Vec<u8> {
        use Instruction as I;
        let at_zero = MemArg {
            offset: 0,
            align: 0,
            memory_index: 0,
        };
        let bodies: [&[I<'_>]; 4] = [
            &[I::Loop(BlockType::Empty), I::Br(0), I::End],
            &[
                I::Loop(BlockType::Empty),
                I::I32Const(1),
                I::MemoryGrow(0),
                I::Drop,
                I::Br(0),
                I::End,
            ],
            &[I::LocalGet(0), I::Call(2)],
            &[
                I::LocalGet(0),
                I::I32Const(0),
                I::I32Store(at_zero),
                I::LocalGet(0),
                I::I32Const(2_048),
                I::I32Sub,
                I::Call(3),
            ],
        ];
        let mut types = TypeSection::new();
        types.ty().function([ValType::I32], []);
        let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
        let (mut exports, mut named) = (ExportSection::new(), NameMap::new());
        for ((index, name), instructions) in (0..).zip(NAMES).zip(bodies) {
            functions.function(0);
            exports.export(name, ExportKind::Func, index);
            named.append(index, name);
            let mut body = Function::new([]);
            for instruction in instructions.iter().chain([&I::End]) {
                body.instruction(instruction);
            }
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
        let mut names = NameSection::new();
        names.functions(&named);
        let mut module = Module::new();
        module
            .section(&types)
            .section(&functions)
            .section(&memories)
            .section(&exports)
            .section(&code)
            .section(&names);
        module.finish()
    }

    fn error_of(function: &str) -> wasmtime::Error {
        let mut config = wasmtime::Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config).expect("an engine");
        let module = wasmtime::Module::new(&engine, module()).expect("a module");
        let pool = Arc::new(MemoryPool::from_limit(None));
        let mut store = Store::new(&engine, MemoryLimiter::new(4 << 16, pool));
        store.limiter(|limiter| limiter);
        store.set_epoch_deadline(1);
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).expect("an instance");
        let called = instance.get_typed_func::<i32, ()>(&mut store, function);
        if function == "spin" {
            engine.increment_epoch();
        }
        let called = called.expect("a function");
        called
            .call(&mut store, 65_532)
            .expect_err("it does not end")
    }

    #[test]
    fn a_call_that_is_cut_names_its_functions() {
        let error = error_of("spin");
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::Interrupt));
        assert_eq!(place_of(&error), ", in spin");
        let error = error_of("grow");
        assert!(error.is::<MemoryExceeded>());
        assert_eq!(place_of(&error), ", in grow");
        let message = cause_first(&error_of("recurse"));
        assert!(
            message.contains("call stack exhausted, in recurse (calls itself)"),
            "{message}"
        );
        let message = cause_first(&error_of("descend"));
        assert!(
            message.contains("out of bounds") && message.contains("the stack is used up"),
            "{message}"
        );
        assert!(message.contains(", in descend (calls itself)"), "{message}");
    }

    #[track_caller]
    fn check(names: &[&str], expect: &str) {
        assert_eq!(place(names.iter().copied()), expect);
    }

    #[test]
    fn the_authors_function_comes_first_in_every_language() {
        check(
            &[
                "_RNvCs1234_7___rustc17rust_begin_unwind",
                "_ZN4core9panicking9panic_fmt17h0123456789abcdefE",
                "_ZN4core6option13unwrap_failed17h0123456789abcdefE",
                "_ZN8ana_form9read_form17h0123456789abcdefE",
                "_ZN72_$LT$ana_form..AnaForm$u20$as$u20$leadhost_sdk..converter..Converter$GT$7convert17h0123456789abcdefE",
                "leadhost:converter/converter@1.0.0#convert",
            ],
            ", in ana_form::read_form < <ana_form::AnaForm as leadhost_sdk::converter::Converter>::convert < leadhost:converter/converter@1.0.0#convert",
        );
        check(
            &[
                "serde_json::ser::format_escaped_str",
                "<serde_json::value::Value as core::fmt::Display>::fmt",
                "ana_form::read_form",
            ],
            ", in ana_form::read_form",
        );
        check(
            &["abort", "__assert_fail", "read_form", "exports_convert"],
            ", in read_form < exports_convert",
        );
        check(
            &[
                "runtime.abort",
                "runtime.gopanic",
                "(*runtime.gcHeap).alloc",
                "converter.read",
                "converter.Convert",
                "wasm_pc_f_loop_export",
                "leadhost_converter_converter_1.0.0_convert",
            ],
            ", in converter.read < converter.Convert < leadhost_converter_converter_1.0.0_convert",
        );
        check(
            &[
                "debug.panicExtra",
                "converter.read",
                "converter.read",
                "converter.convert",
            ],
            ", in converter.read (calls itself) < converter.convert",
        );
        check(
            &[
                "long_dealloc",
                "_PyEval_EvalFrameDefault",
                "wit_dylib_export_call",
                "leadhost:converter/converter@1.0.0#convert",
            ],
            ", in leadhost:converter/converter@1.0.0#convert",
        );
    }

    #[test]
    fn functions_without_an_author_are_shown_as_they_are() {
        check(&[], "");
        check(&["abort", "__assert_fail"], ", in abort < __assert_fail");
    }

    #[test]
    fn a_deep_or_hostile_stack_stays_short() {
        let long = "x".repeat(10_000);
        let shown = place([&*long, "read"].repeat(10).into_iter());
        assert!(
            shown.len() <= NAMED * (limits::REFUSAL_NAME_BYTES + 5),
            "{shown}"
        );
        let deep = format!("_ZN{}17h0123456789abcdefE", "3abc".repeat(1_000));
        assert!(readable(&deep).starts_with("abc::abc::"));
        assert!(readable(&deep).len() <= limits::REFUSAL_NAME_BYTES);
        assert_eq!(
            readable("é".repeat(80).as_str()).len(),
            limits::REFUSAL_NAME_BYTES
        );
    }
}
