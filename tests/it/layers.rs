//! Imports point one way: which module of the host may know which, in what order the files of
//! the pipeline and of the HTTP surfaces stand, which crate depends on which, and where each big
//! dependency is named. `ARCHITECTURE.md` describes the layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each module of the host, and those that it may import. A module comes after all of these.
const MODULES: [(&str, &[&str]); 21] = [
    ("domain", &[]),
    ("limits", &["domain"]),
    ("admin_api", &["domain", "limits"]),
    ("golden_export", &["admin_api", "domain", "limits"]),
    ("config", &["domain", "limits"]),
    ("clock", &["domain"]),
    ("disk", &[]),
    ("memory", &["limits"]),
    ("seal", &["domain"]),
    ("shutdown", &[]),
    ("search", &["domain", "limits"]),
    ("trace", &["domain", "limits"]),
    ("egress", &["domain", "limits", "seal", "trace"]),
    ("plugin", &["clock", "config", "domain", "limits", "memory"]),
    (
        "store",
        &["clock", "config", "domain", "limits", "memory", "trace"],
    ),
    (
        "telemetry",
        &[
            "clock", "config", "domain", "egress", "limits", "plugin", "store", "trace",
        ],
    ),
    (
        "core",
        &[
            "clock",
            "config",
            "domain",
            "egress",
            "plugin",
            "seal",
            "shutdown",
            "store",
            "telemetry",
            "trace",
        ],
    ),
    (
        "pipeline",
        &[
            "clock",
            "config",
            "core",
            "domain",
            "egress",
            "limits",
            "plugin",
            "seal",
            "search",
            "shutdown",
            "store",
            "telemetry",
            "trace",
        ],
    ),
    (
        "http",
        &[
            "admin_api",
            "clock",
            "config",
            "core",
            "disk",
            "domain",
            "golden_export",
            "limits",
            "memory",
            "pipeline",
            "plugin",
            "search",
            "store",
            "telemetry",
            "trace",
        ],
    ),
    ("app", &["core", "http", "pipeline"]),
    (
        "cli",
        &[
            "admin_api",
            "app",
            "clock",
            "config",
            "core",
            "disk",
            "domain",
            "egress",
            "golden_export",
            "http",
            "limits",
            "memory",
            "pipeline",
            "plugin",
            "seal",
            "shutdown",
            "store",
            "telemetry",
        ],
    ),
];

/// The parts of the pipeline: each imports only what stands before it.
const PIPELINE: [&str; 70] = [
    // State.
    "activity",
    "backoff",
    "offload",
    "connections",
    "catalogue/index_cache",
    "fleet/state",
    "keys",
    "local_rate",
    "repair/state",
    "rollup/failures",
    "rollup/zones",
    "rollup/state",
    "verify/outcome",
    "verify/composed",
    "verify/flaws",
    "verify/compare",
    "verify/progress",
    "rollout/guard",
    "rollout/hour",
    "rollout/state",
    "source_changes/sketch",
    "source_changes/state",
    "templates/lists",
    "delivery_turns",
    "waiting_deliveries",
    "state",
    // Steps that parts share.
    "check",
    "mask",
    "plugin_log",
    "failure",
    "props",
    "proof",
    "routing",
    "normalise",
    "versions",
    "rounds",
    "fleet",
    "templates",
    "greeting",
    "events",
    "convert",
    "answering",
    "parts",
    "lease",
    "rollout",
    "source_changes",
    // Events of deliveries and messages, and operators' actions.
    "fetch",
    "send",
    "notify",
    "deals",
    "desk",
    "intake",
    "worker",
    "redrive",
    "replay_answers",
    "source_changes/trial",
    "source_changes/task",
    "verify",
    "deploy",
    "apply",
    "replay",
    "repair",
    "catalogue",
    "erase",
    "import",
    "rollup",
    "sweep",
    "unanswered",
    "key_uses",
    "start",
];

/// The parts of the HTTP surfaces: each imports only what stands before it.
const HTTP: [&str; 46] = [
    "accept",
    "budget",
    "payload",
    "response",
    "request_id",
    "error",
    "reply",
    "head",
    "io",
    "presence",
    "connection_limit",
    "route",
    "failures",
    "rate",
    "console/sessions",
    "refused_writes",
    "state",
    "gauges",
    "metric_export",
    "query",
    "call",
    "body",
    "auth",
    "conditional",
    "decoding",
    "encoding",
    "asset",
    "lines",
    "streamed_list",
    "feed",
    "idempotency",
    "json",
    "terms",
    "zod",
    "endpoints",
    "openapi",
    "docs",
    "console",
    "peer",
    "router",
    "answer",
    "closing",
    "http2",
    "operators",
    "tls",
    "server",
];

/// Endpoints, each with the other ones that it may import.
const ENDPOINTS: [(&str, &[&str]); 12] = [
    ("admin", &["analytics"]),
    ("analytics", &[]),
    ("channel_webhook", &["ingest"]),
    ("deals", &["notifications"]),
    ("export", &[]),
    ("health", &[]),
    ("ingest", &[]),
    ("notifications", &[]),
    ("products", &[]),
    ("reports", &[]),
    ("tickets", &[]),
    ("whoami", &[]),
];

/// The crates of ours that a plugin, a guest or an example may depend on.
const GUEST: &[&str] = &["leadhost-sdk"];

/// Those that its tests may depend on besides.
const GUEST_TESTS: &[&str] = &["leadhost-fuzz", "leadhost-golden"];

/// Each crate of ours, those that it depends on, and those on which only its tests depend.
const CRATES: [(&str, &[&str], &[&str]); 7] = [
    ("leadhost-fuzz", &[], &[]),
    ("leadhost-golden", &[], &["leadhost-fuzz"]),
    ("leadhost-sdk", &["leadhost-golden"], &[]),
    ("leadhost", &["leadhost-golden"], &["leadhost-fuzz"]),
    ("xtask", &["leadhost-golden"], &[]),
    (
        "leadhost-bench",
        &["converter-grupo-olx", "leadhost", "leadhost-sdk", "xtask"],
        &[],
    ),
    (
        "leadhost-tests",
        &["leadhost", "leadhost-golden", "xtask"],
        &[],
    ),
];

/// The places where each big dependency may be named, as path prefixes under `host/src`.
const WHERE: [(&str, &[&str]); 12] = [
    ("sqlx", &["store/"]),
    ("rusqlite", &["store/"]),
    ("wasmtime", &["plugin/"]),
    ("wasmtime_wasi", &["plugin/"]),
    ("wasi_preview1_component_adapter_provider", &["plugin/"]),
    ("wasmparser", &["plugin/"]),
    ("wit_component", &["plugin/"]),
    ("wit_parser", &["plugin/"]),
    ("prost", &["telemetry/otlp/"]),
    // The command line is a client of the admin API.
    ("hyper", &["http/", "egress", "cli/"]),
    ("hyper_util", &["http/", "egress", "cli/"]),
    ("oci_client", &["cli/"]),
];

#[test]
fn each_module_imports_only_the_modules_below_it() {
    let sources = sources();
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (at, (module, may)) in MODULES.iter().enumerate() {
        for below in *may {
            let is_before = MODULES[..at].iter().any(|(name, _)| name == below);
            assert!(is_before, "`{below}` has to stand before `{module}`");
        }
    }
    for source in &sources {
        // `lib.rs` declares the modules, and `main.rs` runs the command line.
        if ["lib.rs", "main.rs"].contains(&source.name.as_str()) {
            continue;
        }
        let own = first(&source.module);
        let known = MODULES.iter().find(|(name, _)| *name == own);
        let (own, may) = known.unwrap_or_else(|| panic!("`{own}` is not in MODULES"));
        for import in source.imports(&sources) {
            let other = first(&import.module);
            if other == *own || other.is_empty() {
                continue;
            }
            let allowed = may.iter().find(|name| **name == other);
            let Some(allowed) = allowed else {
                panic!("{}:{} imports `{other}`", source.name, import.line);
            };
            used.entry(own).or_default().insert(allowed);
        }
    }
    for (module, may) in MODULES {
        for other in may {
            let is_used = used.get(module).is_some_and(|used| used.contains(other));
            assert!(is_used, "`{module}` does not import `{other}`: take it out");
        }
    }
}

#[test]
fn the_parts_of_the_pipeline_stand_in_one_order() {
    in_one_order("pipeline", &PIPELINE);
}

#[test]
fn the_parts_of_the_http_surfaces_stand_in_one_order() {
    // It starts the surfaces, on top of all of them.
    let all: Vec<&str> = HTTP.into_iter().chain(["listen"]).collect();
    in_one_order("http", &all);
}

/// Holds that a part of a folder imports only the parts before it. A part is a file or a folder;
/// of two that fit, the longer one.
fn in_one_order(folder: &str, order: &[&str]) {
    let sources = sources();
    let inside = format!("{folder}/");
    let place = |module: &str| {
        let within = module.strip_prefix(&inside)?;
        let fits = |part: &&str| within == *part || within.starts_with(&format!("{part}/"));
        let part = order
            .iter()
            .copied()
            .filter(fits)
            .max_by_key(|part| part.len());
        let part = part.unwrap_or_else(|| panic!("{module} has no place in the order"));
        order.iter().position(|one| *one == part)
    };
    let mut met = BTreeSet::new();
    for source in &sources {
        let Some(own) = place(&source.module) else {
            continue;
        };
        met.insert(own);
        for import in source.imports(&sources) {
            // The re-exports of the folder's own `mod.rs` are for the modules above.
            assert!(
                import.module != folder,
                "{}:{} imports `{folder}` itself: name the file",
                source.name,
                import.line
            );
            if let Some(other) = place(&import.module) {
                assert!(
                    other <= own,
                    "{}:{}: `{}` stands before `{}`, which it imports",
                    source.name,
                    import.line,
                    order[own],
                    order[other]
                );
            }
        }
    }
    assert_eq!(met.len(), order.len(), "a part of {folder} is not there");
}

/// A folder's own file names its parts, and they name it: it decides, they work. Between all others
/// imports point one way.
#[test]
fn files_that_stand_beside_each_other_form_no_circle() {
    let sources = sources();
    let is_inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        outer.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let re_exports: BTreeMap<&str, Vec<Import>> = sources
        .iter()
        .map(|source| {
            let imports = source.imports(&sources).into_iter();
            let public = imports
                .filter(|import| import.is_public && is_inside(&import.module, &source.module));
            (source.module.as_str(), public.collect())
        })
        .collect();
    // A name that a folder's own file re-exports from one of its parts counts as that part.
    let origin = |import: Import| {
        let parts = re_exports.get(import.module.as_str());
        let part = parts.into_iter().flatten().find(|part| {
            let declares = |source: &Source| source.declares(&import.name);
            let mut named = sources.iter().filter(|one| one.module == part.module);
            part.name == import.name || (part.name == "*" && named.any(declares))
        });
        part.map_or(import.module, |part| part.module.clone())
    };
    let mut left: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in &sources {
        let imports = source.imports(&sources).into_iter();
        let beside = imports
            .map(|import| match is_inside(&source.module, &import.module) {
                true => origin(import),
                false => import.module,
            })
            .filter(|other| !is_inside(other, &source.module) && !is_inside(&source.module, other));
        left.insert(&source.module, beside.collect());
    }
    // A file whose imports are all settled is settled. The remaining files form a circle or need one.
    loop {
        let settled: Vec<&str> = left
            .iter()
            .filter(|(_, imports)| {
                imports
                    .iter()
                    .all(|other| !left.contains_key(other.as_str()))
            })
            .map(|(module, _)| *module)
            .collect();
        if settled.is_empty() {
            break;
        }
        left.retain(|module, _| !settled.contains(module));
    }
    // Files that only need a circle are no part of it.
    loop {
        let needed: BTreeSet<String> = left.values().flatten().cloned().collect();
        let before = left.len();
        left.retain(|module, _| needed.contains(*module));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "files import each other: {left:#?}");
}

#[test]
fn an_endpoint_imports_no_other_one() {
    let sources = sources();
    for source in &sources {
        let Some(own) = source.module.strip_prefix("http/endpoints/").map(first) else {
            continue;
        };
        let known = ENDPOINTS.iter().find(|(name, _)| *name == own);
        let (_, may) = known.unwrap_or_else(|| panic!("`{own}` is not in ENDPOINTS"));
        for import in source.imports(&sources) {
            let other = import.module.strip_prefix("http/endpoints/").map(first);
            let allowed = other.is_none_or(|other| other == own || may.contains(&other));
            assert!(allowed, "{}:{} imports {other:?}", source.name, import.line);
        }
    }
}

#[test]
fn the_decisions_of_the_store_know_no_database_and_no_http() {
    let sources = sources();
    for source in sources
        .iter()
        .filter(|source| source.is_in("store/decide/"))
    {
        for (number, line) in source.code() {
            // The answers of the interface are worded in `http`.
            let names_http = line.contains("http::") || line.contains("hyper::");
            assert!(!names_http, "{}:{number}: {line}", source.name);
        }
        for import in source.imports(&sources) {
            let database = ["operations", "sql", "sqlite", "postgres", "row", "database"]
                .map(|part| format!("store/{part}"));
            let is_database = database.iter().any(|part| import.module.starts_with(part));
            assert!(
                !is_database,
                "{}:{} imports {}",
                source.name, import.line, import.module
            );
        }
    }
}

#[test]
fn each_crate_depends_only_on_the_crates_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut manifests = vec![];
    for folder in [
        "host",
        "sdk-guest",
        "sdk-guest/golden",
        "tests",
        "tests/fuzz",
        "bench",
        "xtask",
    ] {
        manifests.push(root.join(folder).join("Cargo.toml"));
    }
    // Plugins, guests and examples are written as an author outside writes one.
    for folder in ["plugins", "tests/guests", "examples"] {
        for entry in fs::read_dir(root.join(folder)).expect("a folder") {
            let manifest = entry.expect("an entry").path().join("Cargo.toml");
            if manifest.exists() {
                manifests.push(manifest);
            }
        }
    }
    let manifests: Vec<toml::Table> = manifests
        .into_iter()
        .map(|manifest| {
            let text = fs::read_to_string(&manifest).expect("a manifest");
            text.parse().expect("TOML")
        })
        .collect();
    let name_of = |manifest: &toml::Table| manifest["package"]["name"].as_str().map(str::to_owned);
    let ours: BTreeSet<String> = manifests.iter().filter_map(name_of).collect();
    assert_eq!(
        ours.len(),
        manifests.len(),
        "a package has a name of its own"
    );
    for manifest in &manifests {
        let name = manifest["package"]["name"].as_str().expect("a name");
        let listed = CRATES.iter().find(|(one, ..)| *one == name);
        let mut unused: BTreeSet<&str> = listed
            .iter()
            .flat_map(|(_, may, of_tests)| may.iter().chain(of_tests.iter()).copied())
            .collect();
        let guest = |table: &str| match table {
            "dev-dependencies" => GUEST_TESTS,
            _ => GUEST,
        };
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(toml::Table::values);
        let places: Vec<&toml::Table> = targets
            .filter_map(toml::Value::as_table)
            .chain([manifest])
            .collect();
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let may = match (listed, table) {
                (None, _) => guest(table),
                (Some((_, _, of_tests)), "dev-dependencies") => of_tests,
                (Some((_, may, _)), _) => may,
            };
            let dependencies = places
                .iter()
                .filter_map(|place| place.get(table)?.as_table())
                .flatten();
            for (key, value) in dependencies {
                // A dependency under another name says whose it is.
                let renamed = value.get("package").and_then(toml::Value::as_str);
                let other = renamed.unwrap_or(key);
                assert!(
                    !ours.contains(other) || may.contains(&other),
                    "`{name}` depends on `{other}`"
                );
                unused.remove(other);
            }
        }
        assert_eq!(
            unused,
            BTreeSet::new(),
            "`{name}` does not depend on all that it may"
        );
    }
}

#[test]
fn a_big_dependency_is_named_in_its_place_only() {
    for source in sources() {
        for (name, places) in WHERE {
            if places.iter().any(|place| source.is_in(place)) {
                continue;
            }
            for (number, line) in source.code() {
                let named = |before: &str| {
                    let last = before.chars().last();
                    !last.is_some_and(|one| one == ':' || one == '_' || one.is_alphanumeric())
                };
                let whole = format!("{name}::");
                let mut found = line.match_indices(&whole);
                assert!(
                    !found.any(|(at, _)| named(&line[..at])),
                    "{}:{number} names {name}, which belongs in {places:?}: {line}",
                    source.name
                );
            }
        }
    }
}

#[test]
fn only_the_store_names_which_stores_there_are() {
    for source in sources() {
        for (number, line) in source.code() {
            // The command that serves says which file it opens.
            let inside = source.is_in("store/") || source.is_in("cli/serve");
            assert!(
                inside || !line.contains("store::sqlite"),
                "{}:{number} names one store: {line}",
                source.name
            );
        }
    }
}

/// Modules that do no IO. `trace` reads the clock, the other ones do not.
const NO_IO: [&str; 4] = ["domain/", "search/", "golden_export/", "trace/"];

#[test]
fn the_modules_without_io_name_no_file_no_process_no_socket_and_no_clock() {
    let mut met = BTreeSet::new();
    for source in sources() {
        let Some(place) = NO_IO.into_iter().find(|place| source.is_in(place)) else {
            continue;
        };
        met.insert(place);
        let clock: &[&str] = match place {
            "trace/" => &[],
            _ => &["SystemTime", "Instant::now"],
        };
        let io = ["std::fs", "std::process", "TcpStream"];
        for (number, line) in source.code() {
            let named = io.iter().chain(clock).find(|name| line.contains(**name));
            assert!(named.is_none(), "{}:{number}: {line}", source.name);
        }
    }
    assert_eq!(met.len(), NO_IO.len(), "a module is not where it was");
}

/// Type names that two modules have, and why.
const SAME_NAME: [(&str, &str); 3] = [
    ("Adapter", "a version of the contract has its own"),
    ("Converter", "a version of the contract has its own"),
    ("Db", "each store has its own"),
];

#[test]
fn a_type_name_belongs_to_one_module() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        let lines: Vec<&str> = source.untested().lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let text = line.trim_start();
            // An indented type that is not public belongs to a trait, a function or a statement.
            if text != *line && !text.starts_with("pub") {
                continue;
            }
            let text = text.strip_prefix("pub").unwrap_or(text);
            let text = text.split_once(") ").map_or(text, |(scope, rest)| {
                if scope.starts_with('(') { rest } else { text }
            });
            let mut words = text.split_whitespace();
            let kind = words.next().unwrap_or_default();
            if !["struct", "enum", "trait", "type"].contains(&kind) {
                continue;
            }
            // A command for plugins is named as its verb: `List`, `Check`.
            let mut attributes = lines[..index]
                .iter()
                .rev()
                .take_while(|line| !line.is_empty());
            let is_verb = |line: &&str| {
                line.starts_with("#[derive(")
                    && ["Args", "Parser", "Subcommand"]
                        .iter()
                        .any(|one| line.contains(one))
            };
            if source.is_in("cli/plugin/") && attributes.any(is_verb) {
                continue;
            }
            let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
            let name: String = words
                .next()
                .unwrap_or_default()
                .chars()
                .take_while(|character| is_of_name(*character))
                .collect();
            // The parameter of a macro.
            if name.is_empty() {
                continue;
            }
            found.entry(name).or_default().insert(source.module.clone());
        }
    }
    assert!(found.len() > 1000, "the types are not where they were");
    for (name, modules) in &found {
        let is_known = SAME_NAME.iter().any(|(known, _)| known == name);
        assert!(modules.len() == 1 || is_known, "`{name}` is in {modules:?}");
    }
    for (name, _) in SAME_NAME {
        let is_needed = found.get(name).is_some_and(|modules| modules.len() > 1);
        assert!(is_needed, "`{name}` is in one module: take it out");
    }
}

#[test]
fn every_public_function_has_a_doc() {
    let mut functions = 0;
    for source in sources() {
        let lines: Vec<&str> = source.untested().lines().map(str::trim).collect();
        let of_public_traits = functions_of_public_traits(source.untested());
        for (index, line) in lines.iter().enumerate() {
            if !is_public_function(line) && !of_public_traits.contains(&index) {
                continue;
            }
            functions += 1;
            let is_doc = |line: &&str| line.starts_with("///");
            // Attributes may stand between, of several lines.
            let ends_an_item = |line: &&str| line.is_empty() || line.ends_with(['{', '}', ';']);
            let above = lines[..index].iter().copied().rev();
            let first = above
                .skip_while(|line| !is_doc(line) && !ends_an_item(line))
                .take_while(is_doc)
                .last();
            let is_sentence = first.is_some_and(|doc| !doc.starts_with("/// #"));
            let number = index + 1;
            assert!(
                is_sentence,
                "{}:{number} has no doc that begins with a sentence: {line}",
                source.name
            );
        }
    }
    assert!(functions > 2000, "the functions are not where they were");
}

/// Whether a line begins a function that other modules may call.
fn is_public_function(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pub") else {
        return false;
    };
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let mut words = rest.split_whitespace();
    words.find(|word| !["const", "async", "unsafe"].contains(word)) == Some("fn")
}

/// Returns the indexes of the lines that begin a method inside a `pub trait … {`.
fn functions_of_public_traits(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    // The indentation of the trait around the line.
    let mut within: Option<usize> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indentation = line.len() - trimmed.len();
        match within {
            Some(outer) if trimmed == "}" && indentation == outer => within = None,
            Some(_) if trimmed.starts_with("fn ") || trimmed.starts_with("async fn ") => {
                found.insert(index);
            }
            Some(_) => {}
            None => {
                let is_public = trimmed.starts_with("pub") && !trimmed.ends_with('}');
                let is_trait = trimmed
                    .split_whitespace()
                    .take(3)
                    .any(|word| word == "trait");
                within = (is_public && is_trait).then_some(indentation);
            }
        }
    }
    found
}

#[test]
fn imports_are_read_in_every_form() {
    let module = |name: &str, text: &str| Source::new(name.to_owned(), text.to_owned());
    let all = [
        module("a/mod.rs", ""),
        module(
            "a/b.rs",
            "use super::c::{self, D};\nuse crate::{e, f::g::H as I};\n",
        ),
        module(
            "a/c.rs",
            "fn x() { super::b::y(); crate::e::z() }\n// use crate::f;\n",
        ),
        module(
            "e.rs",
            "mod own;\nfn x() { own::y(); }\n#[cfg(test)]\nmod tests {\nuse crate::f;\n}",
        ),
        module(
            "e/own.rs",
            "pub(in crate::a) fn y() {}\npub(in crate::e) use crate::a::{Named};\n",
        ),
        module("f/g.rs", ""),
    ];
    let check = |name: &str, expect: &[(&str, usize)]| {
        let source = all
            .iter()
            .find(|one| one.name == name)
            .expect("it is there");
        let found: Vec<(String, usize)> = source
            .imports(&all)
            .into_iter()
            .map(|import| (import.module, import.line))
            .collect();
        let expect: Vec<(String, usize)> = expect
            .iter()
            .map(|(module, line)| ((*module).to_owned(), *line))
            .collect();
        assert_eq!(found, expect, "{name}");
    };
    check("a/b.rs", &[("a/c", 1), ("a/c", 1), ("e", 2), ("f/g", 2)]);
    check("a/c.rs", &[("a/b", 1), ("e", 1)]);
    check("e.rs", &[("e/own", 2)]);
    check("e/own.rs", &[("a", 2)]);
}

struct Source {
    /// The file under `host/src`.
    name: String,
    /// The module as a path: `http/route` for `http/route/mod.rs` and for `http/route.rs`.
    module: String,
    text: String,
}

/// A module that a line of a file names.
struct Import {
    module: String,
    /// What it names in the module, `*` for everything; empty for the module itself.
    name: String,
    /// It is a `pub use`.
    is_public: bool,
    line: usize,
}

impl Source {
    fn new(name: String, text: String) -> Self {
        let module = name.trim_end_matches(".rs").trim_end_matches("/mod");
        let module = if module == "lib" { "" } else { module };
        Self {
            module: module.to_owned(),
            name,
            text,
        }
    }

    fn is_in(&self, place: &str) -> bool {
        self.name.starts_with(place)
    }

    /// The text before the tests.
    fn untested(&self) -> &str {
        let tests = self.text.find("#[cfg(test)]\nmod tests {");
        &self.text[..tests.unwrap_or(self.text.len())]
    }

    /// Lines that are no comments and not of the tests, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.untested().lines().enumerate();
        lines
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.starts_with("//"))
    }

    /// The modules that paths in the code lead to, except its own.
    fn imports(&self, all: &[Self]) -> Vec<Import> {
        let modules: BTreeSet<&str> = all.iter().map(|one| one.module.as_str()).collect();
        let mut imports = Vec::new();
        let mut code = self.code();
        while let Some((line, text)) = code.next() {
            let text = text.replace("pub(in crate", "pub(in ");
            let mut whole = text.clone();
            let is_use = text.starts_with("use ")
                || text.starts_with("pub use ")
                || (text.starts_with("pub(") && text.contains(") use "));
            if is_use {
                while !whole.contains(';') {
                    let (_, more) = code.next().expect("a whole `use`");
                    whole.push_str(more);
                }
                let tree = whole.split_once("use ").expect("a `use`").1;
                for path in branches(tree.split(';').next().unwrap_or_default()) {
                    let found = self.leads_to(&path, &modules);
                    imports.extend(found.map(|(module, name)| Import {
                        module,
                        name,
                        is_public: text.starts_with("pub"),
                        line,
                    }));
                }
                continue;
            }
            for path in paths(&whole) {
                let found = self.leads_to(path, &modules);
                imports.extend(found.map(|(module, name)| Import {
                    module,
                    name,
                    is_public: false,
                    line,
                }));
            }
        }
        imports
    }

    /// Whether it has a public type of this name.
    fn declares(&self, name: &str) -> bool {
        let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
        self.code().any(|(_, line)| {
            let words: Vec<&str> = line.split(|one| !is_of_name(one)).collect();
            let is_type = |two: &[&str]| {
                ["struct", "enum", "trait", "type"].contains(&two[0]) && two[1] == name
            };
            line.starts_with("pub") && words.windows(2).any(is_type)
        })
    }

    /// The longest module that a path names, unless it is this one, and what the path names in it.
    fn leads_to(&self, path: &str, modules: &BTreeSet<&str>) -> Option<(String, String)> {
        let mut segments: Vec<&str> = path.split("::").map(str::trim).collect();
        let mut base: Vec<&str> = self
            .module
            .split('/')
            .filter(|one| !one.is_empty())
            .collect();
        match segments.first().copied()? {
            "crate" => {
                base.clear();
                segments.remove(0);
            }
            "self" => {
                segments.remove(0);
            }
            "super" => {
                while segments.first() == Some(&"super") {
                    base.pop();
                    segments.remove(0);
                }
            }
            child => {
                let child = [base.as_slice(), &[child]].concat().join("/");
                if !modules.contains(child.as_str()) {
                    return None;
                }
            }
        }
        let (found, length) = (0..=segments.len()).rev().find_map(|length| {
            let module = [base.as_slice(), &segments[..length]].concat().join("/");
            let is_there = modules.contains(module.as_str());
            is_there.then_some((module, length))
        })?;
        let name = segments.get(length).copied().unwrap_or_default();
        (found != self.module).then(|| (found, name.to_owned()))
    }
}

/// The paths of a `use`: `a::{b, c::D as E}` is `a::b` and `a::c::D`.
fn branches(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((start, inside)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.trim().to_owned()];
    };
    let inside = inside.trim_end().strip_suffix('}').expect("a closed tree");
    let mut depth = 0;
    let parts = inside.split(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    parts
        .flat_map(branches)
        .map(|path| format!("{start}{path}"))
        .collect()
}

/// Paths in a line of code, as far as they are names with `::` between.
fn paths(line: &str) -> Vec<&str> {
    let is_of_path = |character: char| character.is_alphanumeric() || "_:".contains(character);
    line.split(|character| !is_of_path(character))
        .filter(|path| path.contains("::") && !path.starts_with("::"))
        .map(|path| path.trim_end_matches(':'))
        .collect()
}

fn first(module: &str) -> &str {
    module.split('/').next().unwrap_or_default()
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(&root).expect("under the root");
                found.push(Source::new(
                    name.to_string_lossy().replace('\\', "/"),
                    fs::read_to_string(&path).expect("UTF-8"),
                ));
            }
        }
    }
    assert!(found.len() > 20, "the sources are not where they were");
    found
}
