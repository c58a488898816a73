//! The exports of an adapter.
#![allow(unsafe_code, clippy::all)]

wit_bindgen::generate!({
    path: ["../wit/v1/types", "../wit/v1/adapter"],
    world: "leadhost:adapter/channel-adapter@1.0.0",
    with: { "leadhost:types/core@1.0.0": crate::bindings::core },
    pub_export_macro: true,
    export_macro_name: "__export_channel_adapter",
    default_bindings_module: "leadhost_sdk::__bindings::adapter",
    additional_derives: [PartialEq, serde::Serialize],
    disable_custom_section_link_helpers: true,
});
