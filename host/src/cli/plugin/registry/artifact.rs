//! The layout of a component in a registry, as the WebAssembly tools have it (the Wasm OCI artifact of
//! the CNCF): one layer with the component, and a configuration that names its imports and exports.

use oci_client::manifest::{OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use leadhost_domain::hex;
use leadhost_plugin::interfaces;

/// The media type of the configuration.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The media type of the component.
const LAYER: &str = "application/wasm";

/// Every file of WebAssembly begins with it.
const MAGIC: &[u8] = b"\0asm";

/// The beginning of a component: version 13, layer 1.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The parts of a push, as they go out.
pub struct PackedArtifact {
    pub manifest: Vec<u8>,
    pub config: Vec<u8>,
    pub layer: Vec<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WasmConfig {
    /// Always the same, so that a component has one digest wherever and whenever it is pushed.
    created: &'static str,
    author: Option<String>,
    architecture: &'static str,
    /// The word of the layout for components, whether they use WASI or not.
    os: &'static str,
    layer_digests: [String; 1],
    component: ComponentConfig,
}

#[derive(Serialize)]
struct ComponentConfig {
    exports: Vec<String>,
    imports: Vec<String>,
    target: Option<String>,
}

/// Distinguishes an index from a manifest. The enum of the client tries one after the other, and numbers
/// that keep their digits, as everywhere in this program, cannot be tried twice.
#[derive(Deserialize)]
struct ImageIndex {
    manifests: Option<IgnoredAny>,
}

pub fn digest(part: &[u8]) -> String {
    format!("sha256:{}", hex::encode(&sha2::Sha256::digest(part)))
}

pub fn pack(wasm: Vec<u8>) -> Result<PackedArtifact, String> {
    check_component(&wasm)?;
    let outer = interfaces::parse_component(&wasm)?;
    let config = WasmConfig {
        created: "1970-01-01T00:00:00Z",
        author: None,
        architecture: "wasm",
        os: "wasip2",
        layer_digests: [digest(&wasm)],
        component: ComponentConfig {
            exports: outer.exports,
            imports: outer.imports,
            target: None,
        },
    };
    let unwritable = |error: serde_json::Error| format!("the artifact cannot be written: {error}");
    let config = serde_json::to_vec(&config).map_err(unwritable)?;
    let manifest = OciImageManifest {
        schema_version: 2,
        media_type: Some(OCI_IMAGE_MEDIA_TYPE.to_owned()),
        config: descriptor(&config, CONFIG),
        layers: vec![descriptor(&wasm, LAYER)],
        ..OciImageManifest::default()
    };
    Ok(PackedArtifact {
        manifest: serde_json::to_vec(&manifest).map_err(unwritable)?,
        config,
        layer: wasm,
    })
}

fn descriptor(part: &[u8], media_type: &str) -> OciDescriptor {
    OciDescriptor {
        media_type: media_type.to_owned(),
        digest: digest(part),
        size: i64::try_from(part.len()).unwrap_or(i64::MAX),
        ..OciDescriptor::default()
    }
}

/// Returns where the component of a manifest is. Other places than the registry are left out.
pub fn component_of(manifest: &[u8]) -> Result<OciDescriptor, String> {
    let unread = |error: serde_json::Error| format!("its manifest cannot be read: {error}");
    let index: ImageIndex = serde_json::from_slice(manifest).map_err(unread)?;
    if index.manifests.is_some() {
        return Err("it is an index of several images".to_owned());
    }
    let manifest: OciImageManifest = serde_json::from_slice(manifest).map_err(unread)?;
    if manifest.config.media_type != CONFIG {
        return Err(format!(
            "its configuration has the media type `{}`, and a component's has `{CONFIG}`",
            manifest.config.media_type
        ));
    }
    match &manifest.layers[..] {
        [layer] if layer.media_type == LAYER => Ok(OciDescriptor {
            urls: None,
            ..layer.clone()
        }),
        [layer] => Err(format!(
            "its layer has the media type `{}`, and a component's has `{LAYER}`",
            layer.media_type
        )),
        layers => Err(format!(
            "it has {} layers, and a component has one",
            layers.len()
        )),
    }
}

/// Refuses bytes that do not begin like a component: core modules have the same layout.
pub fn check_component(wasm: &[u8]) -> Result<(), String> {
    if wasm.starts_with(COMPONENT) {
        return Ok(());
    }
    Err(if wasm.starts_with(MAGIC) {
        "the file is a core module: `leadhost plugin publish FILE -o OUT` turns it into a component"
            .to_owned()
    } else {
        "the file is not WebAssembly: it does not begin with the magic bytes".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(manifest: &Value) -> Result<i64, String> {
        component_of(manifest.to_string().as_bytes()).map(|layer| layer.size)
    }

    fn manifest(config: &str, layers: &[&str]) -> Value {
        let part = |media_type: &str| json!({"mediaType": media_type, "digest": digest(b"made up"), "size": 7});
        json!({
            "schemaVersion": 2,
            "mediaType": OCI_IMAGE_MEDIA_TYPE,
            "config": part(config),
            "layers": layers.iter().map(|layer| part(layer)).collect::<Vec<_>>(),
        })
    }

    #[test]
    fn a_packed_component_is_found_again_and_always_has_the_same_digest() {
        let packed = pack(COMPONENT.to_vec()).expect("the smallest component");
        let again = pack(COMPONENT.to_vec()).expect("the smallest component");
        assert_eq!(packed.manifest, again.manifest);
        let layer = component_of(&packed.manifest).expect("it is a component's");
        assert_eq!(layer.digest, digest(COMPONENT));
        assert_eq!(layer.size, 8);
        let config: Value = serde_json::from_slice(&packed.config).expect("JSON");
        let expected = json!({
            "created": "1970-01-01T00:00:00Z",
            "author": null,
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [digest(COMPONENT)],
            "component": {"exports": [], "imports": [], "target": null},
        });
        assert_eq!(config, expected);
    }

    #[test]
    fn only_the_layout_of_a_component_is_read() {
        assert_eq!(read(&manifest(CONFIG, &[LAYER])), Ok(7));
        let check = |manifest: Value, why: &str| {
            let said = read(&manifest).expect_err("it is refused");
            assert!(said.contains(why), "{said}");
        };
        check(json!([]), "its manifest cannot be read");
        check(json!({"schemaVersion": 1}), "its manifest cannot be read");
        check(
            manifest("application/vnd.oci.image.config.v1+json", &[LAYER]),
            "its configuration has the media type `application/vnd.oci.image.config.v1+json`",
        );
        check(
            manifest(CONFIG, &["application/vnd.oci.image.layer.v1.tar+gzip"]),
            "its layer has the media type",
        );
        check(manifest(CONFIG, &[]), "it has 0 layers");
        check(manifest(CONFIG, &[LAYER, LAYER]), "it has 2 layers");
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [],
        });
        check(index, "an index of several images");
    }

    #[test]
    fn other_files_are_not_packed() {
        let refused = |bytes: &[u8]| pack(bytes.to_vec()).map(drop).expect_err("it is refused");
        assert!(refused(b"\0asm\x01\0\0\0").contains("core module"));
        assert!(refused(b"hello").contains("not WebAssembly"));
        assert!(refused(b"").contains("not WebAssembly"));
    }
}
