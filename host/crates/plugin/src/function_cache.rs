//! The machine code of single functions, for a component that is built again and again: of its
//! next build only the functions that changed are compiled.
//!
//! The cache is one file, which the compiling process reads at its start and writes at its end.
//! It keeps the functions of the last compilation only. A user who can write the file controls what
//! later builds execute, so it belongs to one developer's own components; the service has none.

use std::borrow::Cow;

use wasmtime::CacheStore;

use super::hashed_file;
use crate::prelude::*;

#[derive(Default)]
pub struct FunctionCache {
    last: HashMap<Vec<u8>, Vec<u8>>,
    used: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
}

impl FunctionCache {
    /// Reads the file. One that is missing, damaged or of another program is an empty cache.
    pub fn read(path: &Path) -> Arc<Self> {
        let last = hashed_file::read(path).ok().flatten();
        Arc::new(Self {
            last: last.as_deref().and_then(entries).unwrap_or_default(),
            used: Mutex::default(),
        })
    }

    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        for part in used.iter().flat_map(|(key, code)| [key, code]) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        hashed_file::write(path, &bytes)
    }
}

impl CacheStore for FunctionCache {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let code = self.last.get(key)?;
        self.insert(key, code.clone());
        Some(Cow::Borrowed(code))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(key.to_vec(), value);
        true
    }
}

impl std::fmt::Debug for FunctionCache {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FunctionCache")
            .field("last", &self.last.len())
            .finish_non_exhaustive()
    }
}

/// Reads pairs of texts, each after its length.
fn entries(mut bytes: &[u8]) -> Option<HashMap<Vec<u8>, Vec<u8>>> {
    let mut next = || {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some(part.to_vec())
    };
    let mut found = HashMap::new();
    while let Some(key) = next() {
        found.insert(key, next()?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_functions_of_the_last_compilation() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("functions");
        let first = FunctionCache::read(&path);
        assert!(first.get(b"a").is_none());
        assert!(first.insert(b"a", b"code of a".to_vec()));
        assert!(first.insert(b"b", Vec::new()));
        first.write(&path).expect("it can be written");

        let second = FunctionCache::read(&path);
        assert_eq!(second.get(b"a").as_deref(), Some(&b"code of a"[..]));
        second.write(&path).expect("it can be written");

        let third = FunctionCache::read(&path);
        assert!(third.get(b"a").is_some());
        assert!(third.get(b"b").is_none(), "the second one did not use it");
    }

    #[test]
    fn a_damaged_file_is_an_empty_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("functions");
        let first = FunctionCache::read(&path);
        first.insert(b"a", b"code".to_vec());
        first.write(&path).expect("it can be written");
        let mut bytes = std::fs::read(&path).expect("it is there");
        *bytes.last_mut().expect("it is not empty") ^= 1;
        std::fs::write(&path, bytes).expect("it can be written");
        assert!(FunctionCache::read(&path).get(b"a").is_none());
        assert!(entries(&9_u64.to_le_bytes()).unwrap_or_default().is_empty());
    }
}
