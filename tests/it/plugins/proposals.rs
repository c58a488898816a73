//! Components that use a proposal of WebAssembly that no SDK needs. Some would end the process: they
//! are refused on every way in, and the service lives on.

use leadhost_plugin::LoadError;
use leadhost_tests::guests::{misbehave, with_module};
use leadhost_tests::registry::Registry;
use leadhost_tests::service::command;
use leadhost_tests::{Json, On, Service, eventually, has, lacks};
use wasm_encoder::{Component, Module, ModuleSection, NestedComponentSection, RawSection};

use super::Bench;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_component_that_would_end_the_process_is_refused_on_every_way_in,
}

/// A section of a core module: its id and its content.
type Section = (u8, &'static [u8]);

const NO_PARAMETERS: Section = (1, &[1, 0x60, 0, 0]);
const ONE_FUNCTION: Section = (3, &[1, 0]);

/// Calls a function of a subtype where its supertype is declared, in each instance.
const SUBTYPE: &[Section] = &[
    (
        1,
        &[3, 0x50, 0, 0x60, 0, 0, 0x4f, 1, 0, 0x60, 0, 0, 0x60, 0, 0],
    ),
    (3, &[2, 1, 2]),
    (4, &[1, 0x70, 0, 1]),
    (8, &[1]),
    (9, &[1, 0, 0x41, 0, 0x0b, 1, 0]),
    (10, &[2, 2, 0, 0x0b, 7, 0, 0x41, 0, 0x11, 0, 0, 0x0b]),
];

/// Wakes threads that wait for a place of its memory, in each instance.
const ATOMIC: &[Section] = &[
    NO_PARAMETERS,
    ONE_FUNCTION,
    (5, &[1, 0, 1]),
    (8, &[0]),
    (10, &[1, 11, 0, 0x41, 0, 0x41, 1, 0xfe, 0, 2, 0, 0x1a, 0x0b]),
];

const STRUCT: &[Section] = &[(1, &[1, 0x5f, 1, 0x7f, 0])];

fn module(sections: &[Section]) -> Module {
    let mut module = Module::new();
    for &(id, data) in sections {
        module.section(&RawSection { id, data });
    }
    module
}

/// The misbehaving converter with this module beside its own.
fn with(sections: &[Section]) -> Vec<u8> {
    with_module(&misbehave(), 1, &module(sections))
}

/// The misbehaving converter with a component in it that only contains this module.
fn nested(sections: &[Section]) -> Vec<u8> {
    let mut inner = Component::new();
    inner.section(&ModuleSection(&module(sections)));
    let mut more = Component::new();
    more.section(&NestedComponentSection(&inner));
    // Without the header.
    [&misbehave(), &more.finish()[8..]].concat()
}

#[tokio::test]
async fn a_proposal_that_no_guest_needs_is_refused_by_its_name() {
    let bench = Bench::new(&[]);
    let function = |code: &'static [u8]| [NO_PARAMETERS, ONE_FUNCTION, (10, code)];
    let cases: [(Vec<u8>, &str); 13] = [
        (with(SUBTYPE), "gc proposal"),
        (with(STRUCT), "gc feature"),
        (nested(STRUCT), "gc feature"),
        (nested(SUBTYPE), "gc proposal"),
        (with(&[(1, &[1, 0x60, 1, 0x6f, 0])]), "requires gc"),
        (
            with(&[(1, &[2, 0x60, 0, 0, 0x60, 1, 0x63, 0, 0])]),
            "function references",
        ),
        (with(ATOMIC), "threads"),
        (with(&[(5, &[1, 3, 1, 1])]), "threads"),
        (with(&[NO_PARAMETERS, (13, &[1, 0, 0])]), "exceptions"),
        (with(&function(&[1, 4, 0, 0x12, 0, 0x0b])), "tail calls"),
        (with(&[(5, &[1, 4, 1])]), "memory64"),
        (with(&[(5, &[1, 8, 1, 0])]), "custom page sizes"),
        (with(&[(1, &[2, 0x60, 0, 0, 0x5d, 0])]), "stack switching"),
    ];
    for (component, names) in cases {
        let error = bench.refused(component).await;
        let LoadError::Invalid(why) = &error else {
            panic!("{names}: {error}");
        };
        has!(why, names);
    }
    bench.misbehave().await;
}

async fn a_component_that_would_end_the_process_is_refused_on_every_way_in(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let [data, inbox] = ["data", "inbox"].map(|name| folder.path().join(name));
    std::fs::create_dir(&data).unwrap();
    std::fs::create_dir(&inbox).unwrap();
    let evil = [
        ("subtype", with(SUBTYPE)),
        ("atomic", with(ATOMIC)),
        ("nested", nested(SUBTYPE)),
    ];
    for (name, wasm) in &evil {
        std::fs::write(inbox.join(format!("{name}.wasm")), wasm).unwrap();
    }
    let inbox = inbox.to_str().unwrap();
    // They are taken in before the workspace is applied, and the start goes on.
    let workspace = folder.path().join("workspace.toml");
    std::fs::write(
        &workspace,
        "[workspace]\nslug = \"acme\"\nname = \"Acme\"\n[[partners]]\nname = \"crm\"\n",
    )
    .unwrap();
    let workspace = workspace.to_str().unwrap();
    let flags = ["--inbox", inbox, "--first-apply", workspace];
    let mut service = Service::start_on(&on, &data, &flags);
    for (name, wasm) in &evil {
        eventually("the file is refused", async || {
            service.run("plugin list").contains(&format!("{name}.wasm"))
        })
        .await;
        let key = std::fs::read_to_string(data.join("admin.key")).unwrap();
        for path in ["", "?activate=true", "/check", "/verify"] {
            let path = format!("/admin/v1/plugins{path}");
            let ask = service.ask("admin", "POST", &path);
            let ask = ask.header("authorization", &format!("Bearer {}", key.trim()));
            let refused = ask.body(wasm.clone()).send().await.expect(422).json();
            assert_eq!(refused["kind"], "invalid", "{name}: {path}");
            has!(refused["error"].text(), "does not compile");
        }
        let file = folder.path().join(format!("{name}.wasm"));
        std::fs::write(&file, wasm).unwrap();
        let refused = service.fail(&format!("plugin publish {}", file.display()));
        has!(refused, "does not compile");
        lacks!(refused, "panicked");
    }
    if let Some(registry) = Registry::open() {
        let address = format!("oci://{}/evil:1", registry.address());
        let file = folder.path().join("subtype.wasm");
        let push = format!("plugin push {} {address}", file.display());
        // Whether the command that pushes refuses it already is not the service's doing.
        let pushed = command(&data, &push).output().unwrap();
        if pushed.status.success() {
            let refused = service.fail(&format!("plugin publish {address}"));
            has!(refused, "does not compile");
        }
    }
    has!(
        service.run("status"),
        "subtype.wasm of the inbox was refused"
    );
    service.kill();
}
