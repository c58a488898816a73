//! A component on its way to serving: checked, compiled, linked, tried out.
//! Everything that can be found wrong before a delivery meets it is found here,
//! and said in words for its author. Nothing here makes it serve.

use std::sync::Arc;

use leadhost_golden::{Case, SectionError, read_section, unpack};
use serde_json::{Value, json};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Precompiled};

use super::abi::{self, Guest, Offer};
use super::error::{CallError, LoadError, first_of, shortened};
use super::imports::Wasi;
use super::instance::State;
use super::schedule::aside;
use super::schema::{Bounded, Fault, Refused};
use super::trial::{Aside, TRIAL_LANE, Trial};
use super::{Budget, Plugins, Whose, golden, imports, replies, rules, signature};
use crate::domain::exchange::SenderChecks;
use crate::domain::plugin::{Description, Digest, PluginKind, RanWith, ReplySlot};
use crate::domain::publisher::PublicKey;
use crate::domain::time::Micros;
use crate::limits;

/// A version that can be called.
pub struct Loaded {
    pub digest: Digest,
    pub kind: PluginKind,
    pub description: Description,
    /// Package and version of the contract: `leadhost:converter@1.0.0`.
    pub contract: String,
    /// Of the component.
    pub bytes: u64,
    pub loaded_at: Micros,
    /// Whose signature it bears.
    pub signer: Option<PublicKey>,
    /// Secrets that replies and handshakes of its golden cases show.
    pub reply_slots: Vec<ReplySlot>,
    pub(super) imports_wasi: bool,
    pub(super) guest: Guest,
    /// None: no configuration is taken.
    pub(super) schema: Option<Bounded>,
}

/// A version that passed everything, and what was learnt about it.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub loaded: Arc<Loaded>,
    /// Golden cases that it carries, all passed.
    pub golden: u32,
    /// What it checks under the empty configuration; nothing where it needs one.
    pub checks: SenderChecks,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} ({})",
            self.description.name,
            self.description.version,
            self.digest.short()
        )
    }
}

impl Loaded {
    pub fn ran_with(&self, config_version: i64) -> RanWith {
        RanWith {
            plugin: self.description.name.clone(),
            version: self.description.version.clone(),
            digest: self.digest.clone(),
            contract: self.contract.clone(),
            config_version,
        }
    }
}

impl Plugins {
    /// What of each of these configurations the plugin's schema refuses, one list
    /// for each; of a plugin without a schema, whatever is configured.
    pub async fn config_faults(
        &self,
        loaded: &Loaded,
        configs: &[Value],
    ) -> Result<Vec<Vec<Fault>>, LoadError> {
        let Some(schema) = &loaded.schema else {
            let name = &loaded.description.name;
            let faults = |config: &Value| match config {
                Value::Null => Vec::new(),
                Value::Object(fields) if fields.is_empty() => Vec::new(),
                _ => vec![Fault {
                    place: String::new(),
                    what: format!("the plugin {name} takes no configuration"),
                }],
            };
            return Ok(configs.iter().map(faults).collect());
        };
        self.0
            .schemas
            .faults(schema, configs)
            .await
            .map_err(LoadError::from)
    }
}

impl From<Refused> for LoadError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Schema(why) => Self::Schema(shortened(why)),
            Refused::Host(why) => Self::Host(why),
        }
    }
}

pub(super) async fn prepare(trial: &mut Trial, wasm: Vec<u8>) -> Result<Prepared, LoadError> {
    let plugins = trial.plugins.clone();
    let limit = plugins.0.component_bytes;
    let (read, wasm) = aside(move || Read::of(&wasm, limit).map(|read| (read, wasm))).await??;
    let linked = link(&plugins, &read.digest, wasm).await?;
    trial.within(try_out(&plugins, read, linked)).await?
}

/// What its bytes say without anything of it being run.
pub(super) struct Read {
    digest: Digest,
    bytes: usize,
    pub(super) signer: Option<PublicKey>,
    pub(super) reply_slots: Vec<ReplySlot>,
    /// In memory they are many times as large as in the component.
    pub(super) cases: Aside<Vec<Arc<Case>>>,
}

impl Read {
    /// Goes through all of the bytes several times, so never where requests are served.
    pub(super) fn of(wasm: &[u8], limit: usize) -> Result<Self, LoadError> {
        refuse_foreign_bytes(wasm, limit)?;
        let cases = golden_cases(wasm)?;
        Ok(Self {
            digest: Digest::of(wasm),
            bytes: wasm.len(),
            signer: signature::signer(wasm).map_err(LoadError::Signature)?,
            reply_slots: replies::shown_in(&cases)
                .map_err(|why| LoadError::Answer(shortened(why)))?,
            cases: Aside::new(cases.into_iter().map(Arc::new).collect()),
        })
    }
}

/// Asks it everything that it is asked before it may serve.
async fn try_out(plugins: &Plugins, read: Read, linked: Linked) -> Result<Prepared, LoadError> {
    let (description, schema) = described(plugins, &read.digest, &linked).await?;
    let loaded = Arc::new(Loaded {
        digest: read.digest,
        kind: linked.offer.kind,
        description,
        contract: linked.offer.contract.to_owned(),
        bytes: read.bytes as u64,
        loaded_at: plugins.0.clock.now(),
        signer: read.signer,
        reply_slots: read.reply_slots,
        imports_wasi: linked.imports_wasi,
        guest: Arc::into_inner(linked.guest)
            .expect("the trial of `describe` has dropped its handle"),
        schema,
    });
    // It also shows that the schema is one.
    let empty_fits = plugins
        .config_faults(&loaded, &[json!({})])
        .await?
        .iter()
        .all(Vec::is_empty);
    let checks = checks_without_configuration(plugins, &loaded, empty_fits).await?;
    let golden = u32::try_from(read.cases.len()).unwrap_or(u32::MAX);
    golden::try_cases(plugins, &loaded, &read.cases).await?;
    Ok(Prepared {
        loaded,
        golden,
        checks,
    })
}

// ---- bytes

fn refuse_foreign_bytes(wasm: &[u8], limit: usize) -> Result<(), LoadError> {
    if wasm.is_empty() {
        return Err(LoadError::Empty);
    }
    if wasm.len() > limit {
        return Err(LoadError::TooLarge {
            bytes: wasm.len(),
            limit,
        });
    }
    if let Some(Precompiled::Component | Precompiled::Module) = Engine::detect_precompiled(wasm) {
        return Err(LoadError::Precompiled);
    }
    // Magic, then a version that says 1 for modules and 13, layer 1, for components.
    match wasm.strip_prefix(b"\0asm") {
        None => Err(LoadError::NotWasm),
        Some([1, 0, 0, 0, ..]) => Err(LoadError::CoreModule),
        Some(_) => Ok(()),
    }
}

fn golden_cases(wasm: &[u8]) -> Result<Vec<Case>, LoadError> {
    match read_section(wasm) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(packed)) => {
            unpack(&packed).map_err(|error| LoadError::GoldenSection(shortened(error.to_string())))
        }
        Err(SectionError::NotAComponent) => Err(LoadError::NotWasm),
        Err(error @ SectionError::Malformed { .. }) => Err(LoadError::Invalid(error.to_string())),
        Err(error @ SectionError::Repeated) => Err(LoadError::GoldenSection(error.to_string())),
    }
}

// ---- code

struct Linked {
    guest: Arc<Guest>,
    offer: &'static Offer,
    imports_wasi: bool,
    /// Its machine code takes a while to unmap where it is refused.
    _code: Aside<Component>,
}

async fn link(plugins: &Plugins, digest: &Digest, wasm: Vec<u8>) -> Result<Linked, LoadError> {
    let kept = {
        let (plugins, digest) = (plugins.clone(), digest.clone());
        aside(move || {
            let code = plugins.0.compilation.kept(&digest)?;
            match load_code(&plugins.0.engine, &code) {
                Ok(component) => Some(component),
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        digest = digest.short(),
                        "a compiled plugin does not fit this program; compiling it again"
                    );
                    plugins.0.compilation.forget(&digest);
                    None
                }
            }
        })
        .await?
    };
    let component = match kept {
        Some(component) => component,
        None => {
            let code = plugins.0.compilation.compile(digest, wasm).await?;
            let engine = plugins.0.engine.clone();
            aside(move || load_code(&engine, &code))
                .await?
                // Just compiled by this program, it can only be too large for the pool.
                .map_err(|error| LoadError::NeedsTooMuch {
                    what: error.root_cause().to_string(),
                })?
        }
    };
    let plugins = plugins.clone();
    aside(move || link_component(&plugins, &component)).await?
}

#[expect(
    unsafe_code,
    reason = "compiled code is loaded as it is; these bytes come from our own compiler or passed the hash of a file in a folder that only the service's user can write"
)]
fn load_code(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: see the reason above; bytes from elsewhere never get here, since
    // uploads that are compiled code are refused.
    unsafe { Component::deserialize(engine, code) }
}

fn link_component(plugins: &Plugins, component: &Component) -> Result<Linked, LoadError> {
    let engine = &plugins.0.engine;
    let offer = claimed_offer(engine, component)?;
    let imports_wasi = check_imports(engine, component)?;
    check_needs(component, plugins.0.memory)?;
    let linker: &Linker<State> = if imports_wasi {
        &plugins.0.wasi_linker
    } else {
        &plugins.0.bare_linker
    };
    let mismatch = |error: wasmtime::Error| LoadError::Mismatch {
        contract: offer.contract.to_owned(),
        detail: shortened(format!("{error:#}")),
    };
    let pre = linker.instantiate_pre(component).map_err(mismatch)?;
    let guest = offer.link(pre).map_err(mismatch)?;
    Ok(Linked {
        guest: Arc::new(guest),
        offer,
        imports_wasi,
        _code: Aside::new(component.clone()),
    })
}

/// The contract that the component claims to keep. One that claims to be both a
/// converter and an adapter would be two plugins under one name.
fn claimed_offer(engine: &Engine, component: &Component) -> Result<&'static Offer, LoadError> {
    let ty = component.component_type();
    let exports: Vec<&str> = ty.exports(engine).map(|(name, _)| name).collect();
    let claimed: Vec<&Offer> = abi::OFFERED
        .iter()
        .filter(|offer| exports.contains(&offer.export))
        .collect();
    if let Some(first) = claimed.first() {
        if claimed.iter().all(|offer| offer.kind == first.kind) {
            return Ok(first);
        }
        return Err(LoadError::SeveralKinds {
            contracts: claimed
                .iter()
                .map(|offer| offer.contract.to_owned())
                .collect(),
        });
    }
    let ours = exports.iter().filter(|name| name.starts_with("leadhost:"));
    let wants: Vec<String> = ours.map(|name| package_of(name)).collect();
    let wants = first_of(wants.iter().map(String::as_str));
    Err(LoadError::Incompatible {
        wants: match (wants.is_empty(), exports.is_empty()) {
            (false, _) => wants.join(" and "),
            (true, false) => format!("of whoever calls {}", first_of(exports).join(", ")),
            (true, true) => "of nobody: it exports nothing".to_owned(),
        },
        offered: abi::OFFERED
            .iter()
            .map(|offer| offer.contract.to_owned())
            .collect(),
    })
}

/// `leadhost:converter/converter@2.0.0` to `leadhost:converter@2.0.0`.
fn package_of(export: &str) -> String {
    let (path, version) = export.split_once('@').unwrap_or((export, ""));
    let package = path.split('/').next().unwrap_or(path);
    if version.is_empty() {
        package.to_owned()
    } else {
        format!("{package}@{version}")
    }
}

/// Whether anything of WASI is imported.
fn check_imports(engine: &Engine, component: &Component) -> Result<bool, LoadError> {
    let ty = component.component_type();
    let mut wasi = false;
    let mut refused = Vec::new();
    for (name, item) in ty.imports(engine) {
        let is_deep = is_deeper_than(limits::IMPORT_DEPTH, engine, &item.ty);
        if !is_deep && imports::is_offered(name) {
            wasi = true;
        } else if is_deep || !holds_only_types(engine, &item.ty) {
            refused.push(name);
        }
    }
    if refused.is_empty() {
        Ok(wasi)
    } else {
        Err(LoadError::RefusedImport {
            imports: first_of(refused),
        })
    }
}

/// Whether there are instances inside each other past so many levels. A component of
/// some kilobytes can have more of them than a stack has room for, and the runtime
/// walks them by recursion as [`holds_only_types`] does.
fn is_deeper_than(levels: usize, engine: &Engine, item: &ComponentItem) -> bool {
    let ComponentItem::ComponentInstance(instance) = item else {
        return false;
    };
    let mut exports = instance.exports(engine);
    levels == 0 || exports.any(|(_, item)| is_deeper_than(levels - 1, engine, &item.ty))
}

fn holds_only_types(engine: &Engine, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::Type(_) => true,
        ComponentItem::ComponentInstance(instance) => instance
            .exports(engine)
            .all(|(_, item)| holds_only_types(engine, &item.ty)),
        _ => false,
    }
}

fn check_needs(component: &Component, memory: usize) -> Result<(), LoadError> {
    const PAGE: u64 = 64 << 10;
    let too_much = |what: String| Err(LoadError::NeedsTooMuch { what });
    let Some(needs) = component.resources_required() else {
        return too_much("core modules that it does not carry itself".to_owned());
    };
    let initial = needs.max_initial_memory_size.unwrap_or(0) * PAGE;
    if initial > memory as u64 {
        return too_much(format!(
            "a memory of {initial} bytes; the limit is {memory} (plugins.memory_mib)"
        ));
    }
    if needs.num_memories > limits::PLUGIN_MEMORIES {
        return too_much(format!(
            "{} memories; the limit is {}",
            needs.num_memories,
            limits::PLUGIN_MEMORIES
        ));
    }
    let elements = needs.max_initial_table_size.unwrap_or(0);
    if needs.num_tables > limits::PLUGIN_TABLES || elements > limits::PLUGIN_TABLE_ELEMENTS as u64 {
        return too_much(format!(
            "{} tables, the largest of {elements}; the limit is {} of {}",
            needs.num_tables,
            limits::PLUGIN_TABLES,
            limits::PLUGIN_TABLE_ELEMENTS
        ));
    }
    Ok(())
}

// ---- trying it out

/// What it says of itself and the schema in it, looked at on the thread of the call:
/// both are as long as the plugin made them.
async fn described(
    plugins: &Plugins,
    digest: &Digest,
    linked: &Linked,
) -> Result<(Description, Option<Bounded>), LoadError> {
    let guest = Arc::clone(&linked.guest);
    let wasi = linked.imports_wasi.then(|| Wasi::new(&digest.0, ""));
    let whose = Whose {
        lane: TRIAL_LANE,
        digest,
        budget: Budget::Trial,
    };
    let (described, _) = plugins
        .0
        .call(whose, wasi, move |store| {
            Box::pin(async move { guest.describe(store).await.map(with_schema) })
        })
        .await
        .map_err(tried("describe"))?;
    described
}

fn with_schema(description: Description) -> Result<(Description, Option<Bounded>), LoadError> {
    rules::description(&description).map_err(LoadError::Description)?;
    let schema = Bounded::read(&description.config_schema).map_err(LoadError::Schema)?;
    Ok((description, schema))
}

async fn checks_without_configuration(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    empty_fits: bool,
) -> Result<SenderChecks, LoadError> {
    let answer = plugins
        .sender_checks(loaded, TRIAL_LANE, "{}", Budget::Trial)
        .await
        .map_err(tried("sender-checks"))?;
    match answer {
        Ok(checks) => Ok(checks),
        // Without a configuration that it needs it cannot know.
        Err(_) if !empty_fits => Ok(SenderChecks::default()),
        Err(problem) => Err(LoadError::Description(format!(
            "`sender-checks` refuses the empty configuration, which its schema allows: {}",
            problem.message
        ))),
    }
}

pub(super) fn tried(function: &'static str) -> impl Fn(CallError) -> LoadError {
    move |source| LoadError::Tried { function, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_component_are_told_apart() {
        let kind = |bytes: &[u8]| refuse_foreign_bytes(bytes, 100).map_err(|error| error.kind());
        assert_eq!(kind(b""), Err("empty"));
        assert_eq!(kind(&[0; 101]), Err("too_large"));
        assert_eq!(kind(b"hello"), Err("not_wasm"));
        assert_eq!(kind(b"\0asm\x01\0\0\0"), Err("core_module"));
        assert_eq!(kind(b"\0asm\x0d\0\x01\0"), Ok(()));
    }

    #[test]
    fn the_package_of_an_export_is_named_with_its_version() {
        assert_eq!(
            package_of("leadhost:converter/converter@2.0.0"),
            "leadhost:converter@2.0.0"
        );
        assert_eq!(
            package_of("leadhost:converter/converter"),
            "leadhost:converter"
        );
    }
}
