//! Components in a registry of container images, in the layout of the WebAssembly tools (`artifact.rs`). The
//! command talks to the registry; the service gets the component as it would from a file.

mod address;
mod artifact;
mod credentials;
mod failure;

use futures_util::StreamExt as _;
use http::HeaderValue;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
};
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;

pub use address::RegistryAddress;

use self::artifact::PackedArtifact;
use self::credentials::Credentials;
use self::failure::Exchange;
use crate::cli::prelude::*;

/// Timeout of a connection to a registry.
const CONNECT: Duration = Duration::from_secs(10);

const SILENCE: Duration = Duration::from_secs(30);

/// Timeout of an exchange about a manifest or a configuration, of a few kilobytes.
const SHORT: Duration = Duration::from_secs(60);

/// Timeout of the transfer of a component.
const TRANSFER: Duration = Duration::from_secs(300);

/// The manifests that a registry may answer with. Only the first kind can describe a component; the others
/// are refused by name.
const MANIFESTS: [&str; 4] = [
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];

/// A registry, and the credentials that the user has for it.
pub struct RegistryClient {
    client: oci_client::Client,
    address: RegistryAddress,
    credentials: Credentials,
}

pub struct PulledComponent {
    pub wasm: Vec<u8>,
    /// Its address with the digest of its manifest, which always names these bytes.
    pub pinned: RegistryAddress,
}

/// Returns the greatest size of a component in bytes, as the service's configuration file has it.
pub fn component_limit(config: Option<&Path>) -> CommandResult<usize> {
    Ok(Config::load(config, &[])?.plugins.component_mib << 20)
}

impl RegistryClient {
    /// Reads the user's credentials for the registry of this address. It does not connect yet.
    pub async fn new(address: &RegistryAddress) -> CommandResult<Self> {
        let credentials = credentials::find(address.credentials_key()).await?;
        // The first one stays, and all of this program are of the same crate.
        let _ = ring::default_provider().install_default();
        let client = oci_client::Client::try_from(settings(address)).map_err(|error| {
            failed!(
                "cannot prepare connections to {}: {error}",
                address.registry()
            )
            .hint("the certificates of authorities are the system's: install its package, such as ca-certificates, or name a file of certificates in SSL_CERT_FILE")
        })?;
        client
            .store_auth_if_needed(address.resolved(), &credentials.auth)
            .await;
        Ok(Self {
            client,
            address: address.clone(),
            credentials,
        })
    }

    pub async fn pull(&self, limit: usize) -> CommandResult<PulledComponent> {
        let reference = self.address.reference();
        let manifest = self
            .client
            .pull_manifest_raw(reference, &self.credentials.auth, &MANIFESTS);
        let (manifest, digest) = self.within(SHORT, "pulling the manifest", manifest).await?;
        let layer = artifact::component_of(&manifest).map_err(|why| self.not_ours(&why))?;
        let said = usize::try_from(layer.size).unwrap_or(usize::MAX);
        if said > limit {
            return Err(self.too_large(&format!("has {}", size::exact(said as u64)), limit));
        }
        let body = async {
            let mut pulled = self.client.pull_blob_stream(reference, &layer).await?;
            let mut wasm = Vec::with_capacity(said);
            // It checks the digest of the component when it ends.
            while let Some(part) = pulled.stream.next().await {
                let part = part?;
                if wasm.len() + part.len() > said {
                    return Ok(None);
                }
                wasm.extend_from_slice(&part);
            }
            Ok::<_, OciDistributionError>(Some(wasm))
        };
        let wasm = self
            .within(TRANSFER, "pulling the component", body)
            .await?
            .ok_or_else(|| {
                let pinned = self.address.pinned(&digest);
                failed!(
                    "{pinned} has more bytes than the {said} that its manifest names: nothing is kept"
                )
                .hint("the registry changed it or is faulty: contact its operator")
            })?;
        artifact::check_component(&wasm).map_err(|why| self.not_ours(&why))?;
        Ok(PulledComponent {
            wasm,
            pinned: self.address.pinned(&digest),
        })
    }

    /// Stores the component of a file under the tag of the address. Returns the address with its digest.
    pub async fn push(&self, wasm: Vec<u8>, file: &Path) -> CommandResult<RegistryAddress> {
        let PackedArtifact {
            manifest,
            config,
            layer,
        } = artifact::pack(wasm).map_err(|error| CommandFailure::new(error).about(file))?;
        let reference = self.address.reference();
        let blobs = [
            (layer, "pushing the component", TRANSFER),
            (config, "pushing the configuration", SHORT),
        ];
        for (blob, what, time) in blobs {
            let digest = artifact::digest(&blob);
            let push = self.client.push_blob(reference, blob, &digest);
            self.within(time, what, push).await?;
        }
        let digest = artifact::digest(&manifest);
        let media_type = HeaderValue::from_static(OCI_IMAGE_MEDIA_TYPE);
        let push = self
            .client
            .push_manifest_raw(reference, manifest, media_type);
        self.within(SHORT, "pushing the manifest", push).await?;
        Ok(self.address.pinned(&digest))
    }

    async fn within<T>(
        &self,
        time: Duration,
        what: &'static str,
        exchange: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> CommandResult<T> {
        let exchanged = Exchange {
            address: &self.address,
            credentials: &self.credentials,
            what,
        };
        match timeout(time, Box::pin(exchange)).await {
            Ok(done) => done.map_err(|error| exchanged.failed(&error)),
            Err(_) => Err(exchanged.too_slow(time)),
        }
    }

    fn not_ours(&self, why: &str) -> CommandFailure {
        failed!("{} is not a component: {why}", self.address).hint(
            "name a component that `leadhost plugin push` or `wkg oci push` has put into the registry",
        )
    }

    fn too_large(&self, found: &str, limit: usize) -> CommandFailure {
        failed!(
            "{} {found}; at most {} are accepted (plugins.component_mib)",
            self.address,
            size::readable(limit as u64)
        )
        .hint("make the component smaller, or raise plugins.component_mib in the configuration of the service and in the one that --config names here")
    }
}

/// Returns how to talk to a registry: on loopback without TLS, elsewhere with it.
fn settings(address: &RegistryAddress) -> ClientConfig {
    let settings = ClientConfig {
        // Each blob in one request: some registries do not take chunks.
        use_monolithic_push: true,
        connect_timeout: Some(CONNECT),
        read_timeout: Some(SILENCE),
        user_agent: concat!("leadhost/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    };
    if !address.is_loopback() {
        return settings;
    }
    ClientConfig {
        protocol: ClientProtocol::Http,
        // A proxy that the environment names does not reach this machine: a proxy that no host uses
        // replaces it.
        http_proxy: Some(format!("http://{}", address.registry())),
        no_proxy: Some("*".to_owned()),
        ..settings
    }
}
