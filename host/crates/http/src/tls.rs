//! TLS of the outer addresses: a certificate and its key from files, which are read again when
//! they change. Open connections keep the certificate that they began with.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use arc_swap::ArcSwap;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, InconsistentKeys, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::prelude::*;
use leadhost_config::ServerSection;
use leadhost_domain::time;

/// The protocol name by which a client offers HTTP/2 (RFC 7301, RFC 9113).
const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// The first byte of a TLS connection: the type of a handshake record.
pub const HANDSHAKE: u8 = 0x16;

/// The interval of the checks of the files.
const LOOK: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {key} = {}: {source}", path.display())]
    Read {
        key: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{key} = {} is not a PEM file with {what}: {source}", path.display())]
    Pem {
        key: &'static str,
        path: PathBuf,
        what: &'static str,
        source: pem::Error,
    },
    #[error("server.tls_certificate and server.tls_key cannot be used together: {}", unfit(.0))]
    Pair(rustls::Error),
}

fn unfit(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "the key does not belong to the certificate".to_owned()
        }
        other => other.to_string(),
    }
}

/// The certificate for new connections.
pub struct Tls {
    files: Files,
    current: ArcSwap<ServerConfig>,
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

struct TlsFiles {
    certificate: Vec<u8>,
    key: zeroize::Zeroizing<Vec<u8>>,
}

impl Tls {
    /// Reads the configured files. Returns `None` if the service speaks no TLS.
    pub fn from_config(server: &ServerSection) -> Result<Option<Arc<Self>>, TlsError> {
        if !server.has_tls() {
            return Ok(None);
        }
        let files = Files {
            certificate: server.tls_certificate.clone().into(),
            key: server.tls_key.clone().into(),
        };
        let config = files.read()?.config(&files)?;
        Ok(Some(Arc::new(Self {
            files,
            current: ArcSwap::new(config),
        })))
    }

    /// Performs the handshake with a client. Returns the stream, and whether the client chose
    /// HTTP/2.
    pub async fn accept(
        &self,
        stream: TcpStream,
        until: Instant,
    ) -> io::Result<(TlsStream<TcpStream>, bool)> {
        let accepting = TlsAcceptor::from(self.current.load_full()).accept(stream);
        let stream = timeout_at(until, accepting).await??;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP_2);
        Ok((stream, is_http2))
    }

    /// Loads the files when they have changed, until the service ends. If they do not fit each
    /// other, the current certificate stays in use: one of them may be about to change too.
    pub async fn keep_current(self: Arc<Self>, http: Arc<Http>) {
        let mut seen = self.look().await.map(|content| content.digest()).ok();
        let mut logged = None;
        loop {
            tokio::select! {
                () = http.core.shutdown.ended() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let taken = match self.look().await {
                Ok(content) if Some(content.digest()) == seen => Ok(false),
                Ok(content) => match content.config(&self.files) {
                    Ok(config) => {
                        self.current.store(config);
                        seen = Some(content.digest());
                        Ok(true)
                    }
                    Err(error) => Err(error.to_string()),
                },
                Err(error) => Err(error.to_string()),
            };
            match taken {
                Ok(true) => {
                    logged = None;
                    tracing::info!(certificate = %self.files.certificate.display(), "TLS certificate reloaded");
                }
                Ok(false) => logged = None,
                Err(error) if logged.as_ref() == Some(&error) => {}
                Err(error) => {
                    tracing::warn!(
                        error,
                        "TLS certificate not reloaded, the previous one stays in use"
                    );
                    logged = Some(error);
                }
            }
        }
    }

    async fn look(self: &Arc<Self>) -> Result<TlsFiles, TlsError> {
        let tls = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || tls.files.read());
        read.await.unwrap_or_else(|error| {
            Err(TlsError::Read {
                key: CERTIFICATE,
                path: self.files.certificate.clone(),
                source: io::Error::other(error),
            })
        })
    }
}

/// Returns from when until when the configured certificate is valid. `None` if it cannot be read.
pub fn validity(server: &ServerSection) -> Option<(Micros, Micros)> {
    let pem = read(CERTIFICATE, Path::new(&server.tls_certificate)).ok()?;
    let certificate = CertificateDer::pem_slice_iter(&pem).next()?.ok()?;
    validity_of(&certificate)
}

/// Reads the dates of a certificate (RFC 5280, section 4.1).
fn validity_of(certificate: &[u8]) -> Option<(Micros, Micros)> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    if rest.first() == Some(&VERSION) {
        (_, _, rest) = element(rest)?;
    }
    // The serial number, the algorithm and the issuer.
    for _ in 0..3 {
        (_, _, rest) = element(rest)?;
    }
    let (kind, dates, _) = element(rest)?;
    let (first, begins, rest) = element(dates)?;
    let (last, ends, _) = element(rest)?;
    (kind == SEQUENCE).then_some(())?;
    Some((date(first, begins)?, date(last, ends)?))
}

/// Splits DER into its first element, with tag and content, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = bytes
                .iter()
                .fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Reads `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn date(tag: u8, content: &[u8]) -> Option<Micros> {
    const UTC_TIME: u8 = 0x17;
    let text = std::str::from_utf8(content).ok()?;
    text.is_ascii().then_some(())?;
    let text = match tag {
        // Two digits of the year, from 1950 to 2049.
        UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        _ => text.to_owned(),
    };
    let part = |from: usize, to: usize| text.get(from..to);
    time::parse(&format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    ))
}

const CERTIFICATE: &str = "server.tls_certificate";
const KEY: &str = "server.tls_key";

impl Files {
    fn read(&self) -> Result<TlsFiles, TlsError> {
        Ok(TlsFiles {
            certificate: read(CERTIFICATE, &self.certificate)?,
            key: read(KEY, &self.key)?.into(),
        })
    }
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let bounded = || {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        file.take(limits::PEM_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limits::PEM_BYTES {
            return Err(io::Error::other("it is too long for a PEM file"));
        }
        Ok(bytes)
    };
    bounded().map_err(|source| TlsError::Read {
        key,
        path: path.to_owned(),
        source,
    })
}

impl TlsFiles {
    fn digest(&self) -> [u8; 32] {
        let length = (self.certificate.len() as u64).to_be_bytes();
        Sha256::new()
            .chain_update(length)
            .chain_update(&self.certificate)
            .chain_update(&self.key)
            .finalize()
            .into()
    }

    fn config(&self, files: &Files) -> Result<Arc<ServerConfig>, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.certificate).collect();
        let chain = chain.and_then(|chain| {
            if chain.is_empty() {
                Err(pem::Error::NoItemsFound)
            } else {
                Ok(chain)
            }
        });
        let chain = chain.map_err(|source| TlsError::Pem {
            key: CERTIFICATE,
            path: files.certificate.clone(),
            what: "certificates",
            source,
        })?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|source| TlsError::Pem {
            key: KEY,
            path: files.key.clone(),
            what: "a private key",
            source,
        })?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
        config.ticketer = ring::Ticketer::new().map_err(TlsError::Pair)?;
        Ok(Arc::new(config))
    }
}
