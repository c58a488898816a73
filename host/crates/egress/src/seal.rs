//! Secrets at rest. The secrets of a connection are stored only sealed: XChaCha20-Poly1305
//! under the host's sealing key, bound to a context, so that a sealed value copied to
//! another place does not open there.
//!
//! The key is 32 bytes in base64, from the environment or from `<data folder>/sealing.key`, which the first
//! start creates. Every sealed value carries the id of its key. The folder's `sealing.id` names the key that
//! the store was last sealed with: a host without that key refuses to start rather than serve connections
//! that it cannot open. So does a host none of whose keys opens a secret of the store, as after restoring
//! another service's copy. Older keys are used only for opening. Nothing here shows a key or a secret,
//! neither in errors nor in `Debug`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use leadhost_domain::hex;
use leadhost_domain::id::WorkspaceId;

/// The environment variable with the key; it takes precedence over the key file.
pub const KEY_VARIABLE: &str = "LEADHOST_SEALING_KEY";
/// The environment variable with keys that are used only for opening, separated by commas.
pub const OLD_KEYS_VARIABLE: &str = "LEADHOST_SEALING_KEY_OLD";

/// The name of the key file in the data folder.
pub const KEY_FILE: &str = "sealing.key";
const OLD_KEYS_FOLDER: &str = "sealing.key.d";
const MARKER_FILE: &str = "sealing.id";

const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
/// The first byte of every sealed value: the version of its layout.
const LAYOUT: u8 = 1;

/// Why the host has no usable sealing key. All of these stop the start.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("{origin} is not a sealing key: expected 32 bytes in base64 (44 characters)")]
    Malformed { origin: String },
    #[error(
        "the secrets in {} were sealed with key {sealed_with}, but {} is key {found}: \
         put the right key there, or keep the old one in {}/ so that it can still open them",
        folder.display(), origin, folder.join(OLD_KEYS_FOLDER).display()
    )]
    Another {
        folder: PathBuf,
        origin: String,
        sealed_with: String,
        found: String,
    },
    #[error(
        "the secrets in {} were sealed with key {sealed_with}, and there is no key: \
         restore {} from its backup, or set {KEY_VARIABLE}",
        folder.display(), folder.join(KEY_FILE).display()
    )]
    Missing {
        folder: PathBuf,
        sealed_with: String,
    },
    #[error(
        "{} names key {named}, but the secrets in the store were sealed with another key, which this host has: \
         the file is from another store, so remove it",
        marker.display()
    )]
    OtherMarker { marker: PathBuf, named: String },
    #[error("cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Why a sealed value does not open.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    #[error(
        "it was sealed with key {0}, which this host does not have: put that key in {OLD_KEYS_FOLDER}/"
    )]
    UnknownKey(String),
    #[error("it is damaged, or it was sealed for another connection or purpose")]
    Damaged,
}

/// Keys from the environment. Only `main` reads them.
#[derive(Default)]
pub struct Environment {
    pub key: Option<String>,
    pub old_keys: Option<String>,
}

impl Environment {
    /// Reads the keys. A variable that is unset or not UTF-8 counts as absent.
    #[expect(
        clippy::disallowed_methods,
        reason = "keys stay out of files and of the process list"
    )]
    pub fn read() -> Self {
        Self {
            key: std::env::var(KEY_VARIABLE).ok(),
            old_keys: std::env::var(OLD_KEYS_VARIABLE).ok(),
        }
    }
}

/// Seals with one key, and opens with that key and the older ones.
pub struct Sealer {
    current: SealingKey,
    old: Vec<SealingKey>,
}

impl Sealer {
    /// Returns a sealer with the key of a data folder. Creates the key if the folder has
    /// never had one.
    pub fn from_folder(folder: &Path, environment: &Environment) -> Result<Self, KeyError> {
        Self::for_secrets(folder, environment, &BTreeSet::new())
    }

    /// Like [`Self::from_folder`], for a store whose secrets are sealed with these keys. At
    /// least one of them must be among the given keys, but not all: after a change of the key,
    /// some secrets may still be sealed with the former one.
    pub fn for_secrets(
        folder: &Path,
        environment: &Environment,
        sealed_with: &BTreeSet<String>,
    ) -> Result<Self, KeyError> {
        let marker_path = folder.join(MARKER_FILE);
        let marker = marker(folder)?;
        // The ids in the store take precedence: the folder may have served another store before.
        let needed = if sealed_with.is_empty() {
            marker.clone()
        } else {
            Some(Vec::from_iter(sealed_with.iter().cloned()).join(", "))
        };
        let key_path = folder.join(KEY_FILE);
        let (current, origin) = match &environment.key {
            Some(text) => (
                SealingKey::parse(text, KEY_VARIABLE)?,
                KEY_VARIABLE.to_owned(),
            ),
            None => {
                let origin = key_path.display().to_string();
                match (read_if_there(&key_path)?, &needed) {
                    (Some(text), _) => (SealingKey::parse(&text, &origin)?, origin),
                    (None, Some(sealed_with)) => {
                        return Err(KeyError::Missing {
                            folder: folder.to_owned(),
                            sealed_with: sealed_with.clone(),
                        });
                    }
                    (None, None) => (make_key(&key_path)?, origin),
                }
            }
        };
        let old = old_keys(folder, environment)?;
        let has = |id: &str| {
            let mut all = std::iter::once(&current).chain(&old);
            all.any(|key| key.name() == id)
        };
        let another = |sealed_with: String| KeyError::Another {
            folder: folder.to_owned(),
            origin: origin.clone(),
            sealed_with,
            found: current.name(),
        };
        let opens = sealed_with.iter().any(|id| has(id));
        if let Some(needed) = needed
            && !sealed_with.is_empty()
            && !opens
        {
            return Err(another(needed));
        }
        match marker {
            Some(id) if id == current.name() => {}
            Some(id) if !has(&id) => {
                return Err(if opens && !sealed_with.contains(&id) {
                    KeyError::OtherMarker {
                        marker: marker_path,
                        named: id,
                    }
                } else {
                    another(id)
                });
            }
            Some(_) => {
                // The key was changed and the old one is available: from now on the new one
                // seals.
                replace_private(&marker_path, &format!("{}\n", current.name()))?;
            }
            None => make_private(&marker_path, &format!("{}\n", current.name()))?,
        }
        Ok(Self { current, old })
    }

    /// Forgets with which key the store was last sealed, so that the next call accepts
    /// another key, or makes one.
    pub fn forget_key(folder: &Path) -> Result<(), KeyError> {
        let marker = folder.join(MARKER_FILE);
        match fs::remove_file(&marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&marker)(error)),
            _ => Ok(()),
        }
    }

    /// Returns whether the folder or the environment has a key, so that none would be
    /// created.
    pub fn has_key(folder: &Path, environment: &Environment) -> bool {
        environment.key.is_some() || folder.join(KEY_FILE).exists()
    }

    /// Returns a sealer with a random key of its own, for tests.
    pub fn throwaway() -> Self {
        Self {
            current: SealingKey::random(),
            old: Vec::new(),
        }
    }

    /// Returns the ids of the keys that are used only for opening.
    pub fn old_key_ids(&self) -> Vec<String> {
        self.old.iter().map(SealingKey::name).collect()
    }

    /// Returns the id of the key that seals, in hex. The id is not secret.
    pub fn key_id(&self) -> String {
        self.current.name()
    }

    pub fn seal(&self, plain: &[u8], context: &[u8]) -> Vec<u8> {
        let mut nonce = [0u8; NONCE_BYTES];
        getrandom::fill(&mut nonce).expect("the operating system gives random bytes");
        let sealed = self
            .current
            .cipher
            .encrypt(
                &XNonce::from(nonce),
                Payload {
                    msg: plain,
                    aad: context,
                },
            )
            .expect("secrets are far below the cipher's bound of 256 GiB");
        let mut out = Vec::with_capacity(1 + ID_BYTES + NONCE_BYTES + sealed.len());
        out.push(LAYOUT);
        out.extend_from_slice(&self.current.id);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        out
    }

    /// Opens a value that was sealed for the same `context`.
    pub fn open(&self, sealed: &[u8], context: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        let rest = match sealed.split_first() {
            Some((&LAYOUT, rest)) if rest.len() > ID_BYTES + NONCE_BYTES => rest,
            _ => return Err(OpenError::Damaged),
        };
        let (id, rest) = rest.split_at(ID_BYTES);
        let (nonce, sealed) = rest.split_at(NONCE_BYTES);
        let key = std::iter::once(&self.current)
            .chain(&self.old)
            .find(|key| key.id == id)
            .ok_or_else(|| OpenError::UnknownKey(hex::encode(id)))?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().expect("the slice has this length");
        key.cipher
            .decrypt(
                &XNonce::from(nonce),
                Payload {
                    msg: sealed,
                    aad: context,
                },
            )
            .map(Zeroizing::new)
            .map_err(|_| OpenError::Damaged)
    }

    /// Seals named secrets for a connection of a workspace. The connection's name is in the context, since
    /// its id is not known before the store has created it.
    pub fn seal_secrets(
        &self,
        workspace: WorkspaceId,
        connection: &str,
        secrets: &Secrets,
    ) -> Vec<u8> {
        let plain =
            Zeroizing::new(serde_json::to_vec(&secrets.0).expect("a map of texts is always JSON"));
        self.seal(&plain, &secrets_context(workspace, connection))
    }

    /// Opens the secrets of a connection. An empty value holds no secrets.
    pub fn open_secrets(
        &self,
        workspace: WorkspaceId,
        connection: &str,
        sealed: &[u8],
    ) -> Result<Secrets, OpenError> {
        if sealed.is_empty() {
            return Ok(Secrets::default());
        }
        let plain = match self.open(sealed, &secrets_context(workspace, connection)) {
            // Databases from before 0.1.0 have values that were sealed for the name alone.
            Err(OpenError::Damaged) => self.open(sealed, &former_context(connection)),
            opened => opened,
        }?;
        serde_json::from_slice(&plain)
            .map(Secrets)
            .map_err(|_| OpenError::Damaged)
    }

    /// Returns a keyed hash in hex. It shows whether data with secrets in it is the same as
    /// before, and reveals nothing without the key.
    pub fn fingerprint(&self, bytes: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.current.fingerprint)
            .expect("HMAC takes a key of any length");
        mac.update(bytes);
        hex::encode(&mac.finalize().into_bytes())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({})", self.current.name())
    }
}

/// Names and values that only the host may see. `Debug` lists the names alone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<String, String>);

impl Secrets {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds a secret. A value that it replaces is wiped from memory.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        if let Some(mut replaced) = self.0.insert(name.into(), value.into()) {
            replaced.zeroize();
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        for value in self.0.values_mut() {
            value.zeroize();
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Returns the id of the key that sealed a value, or `None` for an empty or a damaged one.
pub fn sealed_with(sealed: &[u8]) -> Option<String> {
    match sealed.split_first() {
        Some((&LAYOUT, rest)) => rest.get(..ID_BYTES).map(hex::encode),
        _ => None,
    }
}

fn secrets_context(workspace: WorkspaceId, connection: &str) -> Vec<u8> {
    format!("connection-secrets:{workspace}:{connection}").into_bytes()
}

fn former_context(connection: &str) -> Vec<u8> {
    format!("connection-secrets:{connection}").into_bytes()
}

struct SealingKey {
    id: [u8; ID_BYTES],
    cipher: XChaCha20Poly1305,
    /// Derived, so that a fingerprint reveals nothing about the sealing key.
    fingerprint: Zeroizing<[u8; KEY_BYTES]>,
}

impl SealingKey {
    fn new(bytes: &[u8; KEY_BYTES]) -> Self {
        let derive = |purpose: &str| -> [u8; KEY_BYTES] {
            let mut hash = Sha256::new();
            hash.update(purpose.as_bytes());
            hash.update(bytes);
            hash.finalize().into()
        };
        let mut id = [0u8; ID_BYTES];
        id.copy_from_slice(&derive("leadhost sealing key id:")[..ID_BYTES]);
        Self {
            id,
            cipher: XChaCha20Poly1305::new(bytes.into()),
            fingerprint: Zeroizing::new(derive("leadhost fingerprint key:")),
        }
    }

    fn random() -> Self {
        Self::new(&random_bytes())
    }

    fn parse(text: &str, origin: &str) -> Result<Self, KeyError> {
        let malformed = || KeyError::Malformed {
            origin: origin.to_owned(),
        };
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).map_err(|_| malformed())?);
        let bytes: &[u8; KEY_BYTES] = bytes.as_slice().try_into().map_err(|_| malformed())?;
        Ok(Self::new(bytes))
    }

    fn name(&self) -> String {
        hex::encode(&self.id)
    }
}

fn random_bytes() -> Zeroizing<[u8; KEY_BYTES]> {
    let mut bytes = Zeroizing::new([0u8; KEY_BYTES]);
    getrandom::fill(&mut *bytes).expect("the operating system gives random bytes");
    bytes
}

fn make_key(path: &Path) -> Result<SealingKey, KeyError> {
    let bytes = random_bytes();
    let text = Zeroizing::new(format!("{}\n", STANDARD.encode(*bytes)));
    make_private(path, &text)?;
    Ok(SealingKey::new(&bytes))
}

fn old_keys(folder: &Path, environment: &Environment) -> Result<Vec<SealingKey>, KeyError> {
    let mut keys = Vec::new();
    for text in environment.old_keys.iter().flat_map(|text| text.split(',')) {
        if !text.trim().is_empty() {
            keys.push(SealingKey::parse(text, OLD_KEYS_VARIABLE)?);
        }
    }
    let folder = folder.join(OLD_KEYS_FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(keys),
        Err(error) => return Err(at(&folder)(error)),
    };
    for entry in entries {
        let path = entry.map_err(at(&folder))?.path();
        let text = Zeroizing::new(fs::read_to_string(&path).map_err(at(&path))?);
        keys.push(SealingKey::parse(&text, &path.display().to_string())?);
    }
    Ok(keys)
}

/// Returns the id of the key that a data folder's secrets are sealed with: the id in
/// `sealing.id`, otherwise the key file's id, or `None` if there is neither.
pub fn key_of(folder: &Path) -> Result<Option<String>, KeyError> {
    if let Some(id) = marker(folder)? {
        return Ok(Some(id));
    }
    let path = folder.join(KEY_FILE);
    let Some(text) = read_if_there(&path)? else {
        return Ok(None);
    };
    Ok(Some(
        SealingKey::parse(&text, &path.display().to_string())?.name(),
    ))
}

/// Checks that there is a key which a start with this folder accepts: the one that `sealing.id` names, if it
/// names one. Writes nothing.
pub fn check_key(folder: &Path, environment: &Environment) -> Result<(), KeyError> {
    let Some(sealed_with) = marker(folder)? else {
        return Ok(());
    };
    let path = folder.join(KEY_FILE);
    let (text, origin) = match &environment.key {
        Some(text) => (Some(Zeroizing::new(text.clone())), KEY_VARIABLE.to_owned()),
        None => (read_if_there(&path)?, path.display().to_string()),
    };
    let folder = folder.to_owned();
    let Some(text) = text else {
        return Err(KeyError::Missing {
            folder,
            sealed_with,
        });
    };
    let current = SealingKey::parse(&text, &origin)?.name();
    let old = old_keys(&folder, environment)?;
    if current == sealed_with || old.iter().any(|key| key.name() == sealed_with) {
        return Ok(());
    }
    Err(KeyError::Another {
        folder,
        origin,
        sealed_with,
        found: current,
    })
}

/// Returns the id of the key that the folder's store was last sealed with, if it is
/// recorded.
pub fn marker(folder: &Path) -> Result<Option<String>, KeyError> {
    let text = read_if_there(&folder.join(MARKER_FILE))?;
    Ok(text.map(|text| text.trim().to_owned()))
}

fn read_if_there(path: &Path) -> Result<Option<Zeroizing<String>>, KeyError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(Zeroizing::new(text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(path)(error)),
    }
}

/// Creates a file that only its owner can read, durably: losing a sealing key in a power
/// cut would lose every secret. The file gets its name only when it is complete, since half
/// a key prevents the service from starting. An existing file is kept, and the call fails.
fn make_private(path: &Path, text: &str) -> Result<(), KeyError> {
    let make = || -> io::Result<()> {
        let new = written_aside(path, text)?;
        let made = fs::hard_link(&new, path);
        fs::remove_file(&new)?;
        made?;
        sync_folder_of(path)
    };
    make().map_err(at(path))
}

/// Like [`make_private`], but replaces an existing file.
fn replace_private(path: &Path, text: &str) -> Result<(), KeyError> {
    let replace = || -> io::Result<()> {
        fs::rename(written_aside(path, text)?, path)?;
        sync_folder_of(path)
    };
    replace().map_err(at(path))
}

/// Writes and syncs a file beside this one, under a name that no other process uses.
fn written_aside(path: &Path, text: &str) -> io::Result<PathBuf> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(new);
    // Left behind by an interrupted process with the same id.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(new)
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::File { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    const ACME: WorkspaceId = WorkspaceId(uuid::Uuid::nil());

    use super::*;
    use leadhost_domain::time::Micros;

    fn secrets() -> Secrets {
        [("token".to_owned(), "hush-hush".to_owned())]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_sealed_value_opens_only_in_its_own_context() {
        let sealer = Sealer::throwaway();
        let sealed = sealer.seal_secrets(ACME, "site", &secrets());
        assert!(!sealed.windows(9).any(|part| part == b"hush-hush"));
        assert_eq!(sealer.open_secrets(ACME, "site", &sealed), Ok(secrets()));
        assert_eq!(
            sealer.open_secrets(ACME, "other", &sealed),
            Err(OpenError::Damaged)
        );
        assert_eq!(
            sealer.open_secrets(WorkspaceId::new(Micros(1)), "site", &sealed),
            Err(OpenError::Damaged)
        );
        assert_ne!(sealed, sealer.seal_secrets(ACME, "site", &secrets()));
    }

    #[test]
    fn a_value_that_was_sealed_for_a_name_alone_still_opens() {
        let sealer = Sealer::throwaway();
        let plain = serde_json::to_vec(&secrets().0).expect("texts");
        let sealed = sealer.seal(&plain, b"connection-secrets:site");
        assert_eq!(sealer.open_secrets(ACME, "site", &sealed), Ok(secrets()));
    }

    #[test]
    fn a_damaged_or_foreign_value_is_refused() {
        let sealer = Sealer::throwaway();
        let sealed = sealer.seal(b"plain", b"here");
        for cut in 0..sealed.len() {
            assert!(sealer.open(&sealed[..cut], b"here").is_err(), "{cut}");
        }
        let mut flipped = sealed.clone();
        *flipped.last_mut().expect("it is not empty") ^= 1;
        assert!(sealer.open(&flipped, b"here").is_err());
        let error = Sealer::throwaway()
            .open(&sealed, b"here")
            .expect_err("another key");
        assert_eq!(error, OpenError::UnknownKey(sealer.key_id()));
    }

    #[test]
    fn nothing_secret_is_shown() {
        assert_eq!(format!("{:?}", secrets()), r#"{"token"}"#);
        let folder = tempfile::tempdir().expect("a folder");
        let sealer =
            Sealer::from_folder(folder.path(), &Environment::default()).expect("a key is made");
        let key = fs::read_to_string(folder.path().join(KEY_FILE)).expect("the key file");
        assert!(!format!("{sealer:?}").contains(key.trim()));
    }

    #[test]
    fn the_first_start_creates_a_private_key_and_the_next_one_uses_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Sealer::from_folder(folder.path(), &Environment::default());
        let sealed = open().expect("made").seal(b"plain", b"");
        let mode = fs::metadata(folder.path().join(KEY_FILE))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            open().expect("found").open(&sealed, b"").as_deref(),
            Ok(&b"plain".to_vec())
        );
    }

    #[test]
    fn another_key_or_none_stops_the_start_and_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let first =
            Sealer::from_folder(folder.path(), &Environment::default()).expect("a key is made");
        let other = Environment {
            key: Some(STANDARD.encode([7u8; KEY_BYTES])),
            old_keys: None,
        };
        let error = Sealer::from_folder(folder.path(), &other)
            .expect_err("another key")
            .to_string();
        assert!(error.contains(&first.key_id()), "{error}");
        assert!(error.contains(OLD_KEYS_FOLDER), "{error}");
        fs::remove_file(folder.path().join(KEY_FILE)).expect("it was there");
        let error = Sealer::from_folder(folder.path(), &Environment::default())
            .expect_err("no key")
            .to_string();
        assert!(error.contains("backup"), "{error}");
    }

    #[test]
    fn a_folder_needs_a_key_of_the_stores_secrets_whatever_it_had_before() {
        let first = tempfile::tempdir().expect("a folder");
        let environment = Environment::default();
        let sealer = Sealer::from_folder(first.path(), &environment).expect("a key is made");
        let sealed = sealer.seal_secrets(ACME, "site", &secrets());
        let needed: BTreeSet<String> = sealed_with(&sealed).into_iter().collect();
        assert_eq!(needed, BTreeSet::from([sealer.key_id()]));
        assert_eq!(sealed_with(b""), None);

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let open = || Sealer::for_secrets(path, &environment, &needed);
        let refused = || open().expect_err("it is refused").to_string();
        let missing = refused();
        assert!(missing.contains(&sealer.key_id()), "{missing}");
        assert!(!path.join(KEY_FILE).exists(), "none is made");
        // Another store was served from here before.
        let other = Sealer::from_folder(path, &environment).expect("a key is made");
        let wrong = refused();
        assert!(wrong.contains(&sealer.key_id()), "{wrong}");
        assert!(wrong.contains(&other.key_id()), "{wrong}");
        fs::copy(first.path().join(KEY_FILE), path.join(KEY_FILE)).expect("the right key");
        let stale = refused();
        assert!(stale.contains(MARKER_FILE), "{stale}");
        assert!(stale.contains(&other.key_id()), "{stale}");
        Sealer::forget_key(path).expect("it is removed");
        assert!(
            open()
                .expect("the right key")
                .open_secrets(ACME, "site", &sealed)
                .is_ok()
        );
    }

    #[test]
    fn a_new_key_seals_and_the_old_one_still_opens() {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = |key: u8, old: Option<u8>| Environment {
            key: Some(STANDARD.encode([key; KEY_BYTES])),
            old_keys: old.map(|old| STANDARD.encode([old; KEY_BYTES])),
        };
        let before = Sealer::from_folder(folder.path(), &environment(1, None)).expect("first key");
        let sealed = before.seal(b"plain", b"");
        let after = Sealer::from_folder(folder.path(), &environment(2, Some(1))).expect("rotated");
        assert_ne!(before.key_id(), after.key_id());
        assert!(after.open(&sealed, b"").is_ok());
        // The marker was updated: the new key alone starts, and a value that only the old
        // key opens names that key.
        let alone = Sealer::from_folder(folder.path(), &environment(2, None)).expect("new key");
        assert_eq!(
            alone.open(&sealed, b""),
            Err(OpenError::UnknownKey(before.key_id()))
        );
    }

    #[test]
    fn a_malformed_key_is_refused_without_being_quoted() {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = Environment {
            key: Some("not-a-key-at-all".to_owned()),
            old_keys: None,
        };
        let error = Sealer::from_folder(folder.path(), &environment)
            .expect_err("malformed")
            .to_string();
        assert!(
            error.contains(KEY_VARIABLE) && !error.contains("not-a-key"),
            "{error}"
        );
    }

    #[test]
    fn a_fingerprint_needs_the_key() {
        let sealer = Sealer::throwaway();
        assert_eq!(sealer.fingerprint(b"a"), sealer.fingerprint(b"a"));
        assert_ne!(sealer.fingerprint(b"a"), sealer.fingerprint(b"b"));
        assert_ne!(
            sealer.fingerprint(b"a"),
            Sealer::throwaway().fingerprint(b"a")
        );
    }
}
