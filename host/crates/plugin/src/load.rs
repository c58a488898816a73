//! Loading a component: it is checked, compiled, linked and tried. Everything that can be
//! found wrong before the component gets a delivery is found here, and reported in words
//! for its author. Nothing here activates it.

use std::borrow::Cow;

use serde_json::json;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};
use wasmtime::{Module, Precompiled, ResourcesRequired};

use super::abi::{self, Guest, Offer, of_either};
use super::caller::TRIAL_LANE;
use super::error::first_of;
use super::libraries::SplitComponent;
use super::schedule::in_background;
use super::trial::{BackgroundDrop, Trial};
use super::version::SharedNames;
use super::warm::WarmInstances;
use super::{
    CallBudget, golden, imports, libraries, replies, rules,
    runtime::{CallAccount, CallStart},
    signature, warm,
};
use crate::prelude::*;
use leadhost_domain::plugin::ReplySlot;
use leadhost_domain::publisher::PublicKey;
use leadhost_input::{Fault, Issue, Schema};

#[derive(Clone, Debug)]
pub struct PreparedVersion {
    pub loaded: Arc<Loaded>,
    /// The number of golden cases that it carries. All of them passed.
    pub golden: u32,
    /// Its sender checks under the empty configuration; none if it needs a configuration.
    pub checks: SenderChecks,
}

#[leadhost_boxed::boxed]
impl Plugins {
    /// Checks, compiles, links and tries a component. Does not install it.
    pub async fn prepare(&self, wasm: Vec<u8>) -> Result<PreparedVersion, LoadError> {
        self.trial().await?.prepare(wasm).await
    }

    /// Returns the faults that the plugin's schema finds in each of these configurations,
    /// one list for each. For a plugin without a schema, any configuration that is not
    /// empty is a fault.
    pub async fn config_faults(
        &self,
        loaded: &Loaded,
        configs: Vec<Value>,
    ) -> Result<Vec<Vec<Fault>>, LoadError> {
        let Some(schema) = &loaded.schema else {
            let name = &loaded.description.name;
            let faults = |config: &Value| match config {
                Value::Null => Vec::new(),
                Value::Object(fields) if fields.is_empty() => Vec::new(),
                _ => vec![Fault::whole(format!(
                    "the plugin {name} takes no configuration"
                ))],
            };
            return Ok(configs.iter().map(faults).collect());
        };
        // More at once would only share the same processors.
        let permit = Arc::clone(&self.0.schema_checks).acquire_owned().await;
        let schema = Arc::clone(schema);
        in_background(move || {
            // The thread goes on if the caller no longer waits.
            let _permit = permit;
            configs
                .iter()
                .map(|config| faults(&schema, config))
                .collect()
        })
        .await
    }
}

fn faults(schema: &Schema, config: &Value) -> Vec<Fault> {
    if let Err(why) = is_within_bounds(config) {
        return vec![Fault::whole(why)];
    }
    let issues = schema.issues(config);
    let faults = issues.iter().flat_map(Issue::told);
    faults.take(limits::CONFIG_FAULTS_SHOWN).collect()
}

fn is_within_bounds(config: &Value) -> Result<(), String> {
    let (mut bytes, mut left) = (0, vec![(config, 0)]);
    while let Some((value, depth)) = left.pop() {
        if depth > limits::CONFIG_DEPTH {
            return Err(format!(
                "it is nested deeper than {} levels",
                limits::CONFIG_DEPTH
            ));
        }
        bytes += 1;
        match value {
            Value::String(text) => bytes += text.len(),
            Value::Number(number) => bytes += number.as_str().len(),
            Value::Array(list) => left.extend(list.iter().map(|value| (value, depth + 1))),
            Value::Object(fields) => {
                bytes += fields.keys().map(String::len).sum::<usize>();
                left.extend(fields.values().map(|value| (value, depth + 1)));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    if bytes > limits::CONFIG_BYTES {
        return Err(format!("it has more than {} bytes", limits::CONFIG_BYTES));
    }
    Ok(())
}

impl Trial {
    /// Like [`Plugins::prepare`], but keeps the slot for the steps that follow.
    pub async fn prepare(&mut self, wasm: Vec<u8>) -> Result<PreparedVersion, LoadError> {
        self.begin();
        let prepared = Box::pin(prepare(self, wasm)).await?;
        self.pass();
        Ok(prepared)
    }
}

/// Checks, compiles, links and tries a component within the trial's time. It activates nothing.
async fn prepare(trial: &mut Trial, wasm: Vec<u8>) -> Result<PreparedVersion, LoadError> {
    let plugins = trial.plugins.clone();
    let limit = plugins.0.component_bytes;
    let (read, wasm) =
        in_background(move || InspectedComponent::from_wasm(&wasm, limit).map(|read| (read, wasm)))
            .await??;
    let linked = link(&plugins, &read.digest, wasm).await?;
    let prepared = trial.within(try_out(&plugins, &read, linked)).await??;
    try_warm(trial, &prepared.loaded, &read).await;
    Ok(prepared)
}

/// A component as its bytes show it, before any of it is run.
pub(super) struct InspectedComponent {
    digest: Digest,
    bytes: usize,
    pub(super) signer: Option<PublicKey>,
    pub(super) reply_slots: Vec<ReplySlot>,
    /// They take many times as much memory as in the component.
    pub(super) cases: BackgroundDrop<Vec<Arc<Case>>>,
}

impl InspectedComponent {
    /// Reads all of the bytes several times, so it must not run on threads that serve
    /// requests.
    pub(super) fn from_wasm(wasm: &[u8], limit: usize) -> Result<Self, LoadError> {
        refuse_foreign_bytes(wasm, limit)?;
        let cases = golden::golden_cases(wasm)?;
        Ok(Self {
            digest: Digest::compute(wasm),
            bytes: wasm.len(),
            signer: signature::signer(wasm).map_err(LoadError::Signature)?,
            reply_slots: replies::shown_in(&cases)
                .map_err(|why| LoadError::Answer(shortened(why)))?,
            cases: BackgroundDrop::new(cases.into_iter().map(Arc::new).collect()),
        })
    }
}

async fn try_out(
    plugins: &Plugins,
    read: &InspectedComponent,
    linked: Linked,
) -> Result<PreparedVersion, LoadError> {
    let (description, schema) = described(plugins, &read.digest, &linked).await?;
    let names = SharedNames {
        name: description.name.as_str().into(),
        version: description.version.as_str().into(),
        digest: read.digest.0.as_str().into(),
    };
    let loaded = Arc::new(Loaded {
        digest: read.digest.clone(),
        kind: linked.offer.kind,
        description,
        names,
        contract: linked.offer.contract.to_owned(),
        bytes: read.bytes as u64,
        loaded_at: plugins.0.clock.now(),
        signer: read.signer,
        reply_slots: read.reply_slots.clone(),
        warm: OnceLock::new(),
        history: OnceLock::new(),
        imports_wasi: linked.imports_wasi,
        guest: Arc::into_inner(linked.guest)
            .expect("the trial of `describe` has dropped its handle"),
        schema,
    });
    let empty_fits = plugins
        .config_faults(&loaded, vec![json!({})])
        .await?
        .iter()
        .all(Vec::is_empty);
    let checks = checks_without_configuration(plugins, &loaded, empty_fits).await?;
    let golden = u32::try_from(read.cases.len()).unwrap_or(u32::MAX);
    golden::try_cases(plugins, &loaded, &read.cases).await?;
    Ok(PreparedVersion {
        loaded,
        golden,
        checks,
    })
}

/// Tries whether instances of a version may be made ahead of their calls. No version is refused for it,
/// and the steps after it keep time.
async fn try_warm(trial: &mut Trial, loaded: &Arc<Loaded>, read: &InspectedComponent) {
    let plugins = trial.plugins.clone();
    if !plugins.0.warm.is_used() {
        return;
    }
    let Some(case) = warm::warm_up_case(read.bytes, &read.cases) else {
        return;
    };
    let proof = golden::try_warm(&plugins, loaded, &case, &read.cases);
    let tried = trial.with_spare_time(proof).await;
    let why = match tried {
        Some(None) => {
            // It was empty until here.
            let _ = loaded.warm.set(Arc::new(WarmInstances::new(case)));
            return;
        }
        Some(Some(why)) => why,
        None => "its golden cases take too long to try them twice".to_owned(),
    };
    tracing::info!(
        plugin = loaded.description.name,
        version = loaded.description.version,
        why,
        "plugin gets no warm instances"
    );
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
    // The magic bytes, then a version: 1 for modules; 13, layer 1, for components.
    match wasm.strip_prefix(b"\0asm") {
        None => Err(LoadError::NotWasm),
        Some([1, 0, 0, 0, ..]) => Err(LoadError::CoreModule),
        Some(_) => Ok(()),
    }
}

// ---- code

struct Linked {
    guest: Arc<Guest>,
    offer: &'static Offer,
    imports_wasi: bool,
    /// Unmapping its machine code takes a while if the component is refused.
    _code: BackgroundDrop<Component>,
}

async fn link(plugins: &Plugins, digest: &Digest, wasm: Vec<u8>) -> Result<Linked, LoadError> {
    let wasm = if plugins.0.compilation.is_for_rebuilds() {
        match link_split(plugins, wasm).await? {
            Ok(linked) => return Ok(linked),
            Err(wasm) => wasm,
        }
    } else {
        wasm
    };
    let component = machine_code(plugins, digest.clone(), wasm, load_component).await?;
    let plugins = plugins.clone();
    in_background(move || {
        let needs = component.resources_required();
        link_component(&plugins, &component, &[], needs)
    })
    .await?
}

/// Links a component whose libraries are compiled apart. Returns the bytes if that cannot be done.
async fn link_split(
    plugins: &Plugins,
    wasm: Vec<u8>,
) -> Result<Result<Linked, Vec<u8>>, LoadError> {
    let (split, wasm) = in_background(move || (libraries::split(&wasm), wasm)).await?;
    let Some(split) = split else {
        return Ok(Err(wasm));
    };
    match link_parts(plugins, split).await {
        // The compiler says of the whole what is wrong, and where.
        Err(LoadError::Invalid(_)) => Ok(Err(wasm)),
        linked => linked.map(Ok),
    }
}

async fn link_parts(plugins: &Plugins, split: SplitComponent) -> Result<Linked, LoadError> {
    let mut libraries = Vec::new();
    for library in split.libraries {
        let digest = Digest::compute(&library.module);
        let module = machine_code(plugins, digest, library.module, load_module).await?;
        libraries.push((library.import, module));
    }
    let digest = Digest::compute(&split.rest);
    let component = machine_code(plugins, digest, split.rest, load_component).await?;
    let plugins = plugins.clone();
    in_background(move || link_component(&plugins, &component, &libraries, Some(split.needs)))
        .await?
}

/// Returns the machine code of a component or a library: what is kept of it, or else what is compiled
/// now.
async fn machine_code<T: Send + 'static>(
    plugins: &Plugins,
    digest: Digest,
    wasm: Vec<u8>,
    load: fn(&Engine, &[u8]) -> wasmtime::Result<T>,
) -> Result<T, LoadError> {
    let kept = {
        let (plugins, digest) = (plugins.clone(), digest.clone());
        in_background(move || {
            let code = plugins.0.compilation.cached(&digest)?;
            match load(&plugins.0.engine, &code) {
                Ok(loaded) => Some(loaded),
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        digest = digest.short(),
                        "compiled plugin does not match this program; compiling it again"
                    );
                    plugins.0.compilation.forget(&digest);
                    None
                }
            }
        })
        .await?
    };
    if let Some(loaded) = kept {
        return Ok(loaded);
    }
    let code = plugins.0.compilation.compile(&digest, wasm).await?;
    let engine = plugins.0.engine.clone();
    in_background(move || load(&engine, &code))
        .await?
        // The code was just compiled by this program, so it can only be too large
        // for the pool.
        .map_err(|error| LoadError::NeedsTooMuch {
            what: error.root_cause().to_string(),
        })
}

#[expect(
    unsafe_code,
    reason = "compiled code is loaded as it is; these bytes come from our own compiler or passed the hash of a file in a folder that only the service's user can write"
)]
fn load_component(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: see the reason above. Bytes from elsewhere never get here, since uploads of
    // compiled code are refused.
    unsafe { Component::deserialize(engine, code) }
}

#[expect(unsafe_code, reason = "as for a component")]
fn load_module(engine: &Engine, code: &[u8]) -> wasmtime::Result<Module> {
    // SAFETY: as for a component.
    unsafe { Module::deserialize(engine, code) }
}

/// Links a component. `libraries`: the modules that were taken out of it, under the names of its imports.
fn link_component(
    plugins: &Plugins,
    component: &Component,
    libraries: &[(String, Module)],
    needs: Option<ResourcesRequired>,
) -> Result<Linked, LoadError> {
    let engine = &plugins.0.engine;
    let offer = claimed_offer(engine, component)?;
    let imports_wasi = check_imports(engine, component, libraries)?;
    check_needs(needs, plugins.0.memory)?;
    let linker: &Linker<InstanceState> = if imports_wasi {
        &plugins.0.wasi_linker
    } else {
        &plugins.0.bare_linker
    };
    let mismatch = |error: wasmtime::Error| LoadError::Mismatch {
        contract: offer.contract.to_owned(),
        detail: shortened(format!("{error:#}")),
    };
    let mut linker = Cow::Borrowed(linker);
    for (import, module) in libraries {
        let mut root = linker.to_mut().root();
        root.module(import, module).map_err(mismatch)?;
    }
    let pre = linker.instantiate_pre(component).map_err(mismatch)?;
    let guest = (offer.link)(pre).map_err(mismatch)?;
    Ok(Linked {
        guest: Arc::new(guest),
        offer,
        imports_wasi,
        _code: BackgroundDrop::new(component.clone()),
    })
}

/// Returns the contract that the component claims to implement. A component that claims to
/// be both a converter and an adapter would be two plugins under one name.
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
            (false, _) => format!("the contract {}", wants.join(" and ")),
            (true, false) => format!(
                "no contract of this host: it exports {}",
                first_of(exports).join(", ")
            ),
            (true, true) => "no contract: it exports nothing".to_owned(),
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

fn check_imports(
    engine: &Engine,
    component: &Component,
    libraries: &[(String, Module)],
) -> Result<bool, LoadError> {
    let ty = component.component_type();
    let mut wasi = false;
    let mut refused = Vec::new();
    for (name, item) in ty.imports(engine) {
        if libraries.iter().any(|(import, _)| import == name) {
            continue;
        }
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

/// Returns whether instances are nested deeper than `levels`. A component of some kilobytes
/// can have more levels than a stack has room for, and both the runtime and
/// [`holds_only_types`] walk them recursively.
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

fn check_needs(needs: Option<ResourcesRequired>, memory: usize) -> Result<(), LoadError> {
    const PAGE: u64 = 64 << 10;
    let too_much = |what: String| Err(LoadError::NeedsTooMuch { what });
    let Some(needs) = needs else {
        return too_much("core modules that it does not contain".to_owned());
    };
    let initial = needs.max_initial_memory_size.unwrap_or(0) * PAGE;
    if initial > memory as u64 {
        return too_much(format!(
            "an initial memory of {initial} bytes; the limit is {memory} (plugins.memory_mib)"
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

// ---- trial

/// Returns the component's description and its schema. Both are checked on a background thread, since they
/// are as long as the plugin made them.
async fn described(
    plugins: &Plugins,
    digest: &Digest,
    linked: &Linked,
) -> Result<(Description, Option<Arc<Schema>>), LoadError> {
    let guest = Arc::clone(&linked.guest);
    let start = CallStart {
        environment: linked
            .imports_wasi
            .then(|| CallEnvironment::new(&digest.0, "")),
        warm: None,
    };
    let whose = CallAccount {
        lane: TRIAL_LANE,
        digest,
        budget: CallBudget::Trial,
    };
    let (described, _) = plugins
        .0
        .call(whose, start, move |store| {
            Box::pin(async move { of_either!(guest.as_ref(), describe(store)) })
        })
        .await
        .map_err(LoadError::tried("describe"))?;
    in_background(move || with_schema(described)).await?
}

fn with_schema(description: Description) -> Result<(Description, Option<Arc<Schema>>), LoadError> {
    rules::description(&description).map_err(LoadError::Description)?;
    let text = description.config_schema.as_str();
    let schema = match text.trim() {
        "" => None,
        _ => Some(Arc::new(
            Schema::read(text).map_err(|why| LoadError::Schema(shortened(why)))?,
        )),
    };
    Ok((description, schema))
}

async fn checks_without_configuration(
    plugins: &Plugins,
    loaded: &Arc<Loaded>,
    empty_fits: bool,
) -> Result<SenderChecks, LoadError> {
    let answer = plugins
        .sender_checks(loaded, TRIAL_LANE, "{}", CallBudget::Trial)
        .await
        .map_err(LoadError::tried("sender-checks"))?;
    match answer {
        Ok(checks) => Ok(checks),
        // Without the configuration that it needs, the plugin cannot name its checks.
        Err(_) if !empty_fits => Ok(SenderChecks::default()),
        Err(problem) => Err(LoadError::Description(format!(
            "`sender-checks` refuses the empty configuration, which its schema allows: {}",
            problem.message
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_why_bytes_are_no_component_are_distinguished() {
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
