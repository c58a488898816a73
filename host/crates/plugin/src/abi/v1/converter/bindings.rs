//! The bindings of the contract, as wasmtime generates them.

wasmtime::component::bindgen!({
    path: ["../../../wit/v1/types", "../../../wit/v1/converter"],
    world: "leadhost:converter/lead-converter",
    with: { "leadhost:types/core@1.0.0": crate::abi::v1::types::core },
    additional_derives: [serde::Serialize],
    exports: { default: async },
});
