//! The exports of a converter, and the types that it shares with adapters.
#![allow(unsafe_code, clippy::all)]

wit_bindgen::generate!({
    path: ["../wit/v1/types", "../wit/v1/converter"],
    world: "leadhost:converter/lead-converter@1.0.0",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "__export_lead_converter",
    default_bindings_module: "leadhost_sdk::__bindings::converter",
    additional_derives: [PartialEq, serde::Serialize],
    disable_custom_section_link_helpers: true,
});
