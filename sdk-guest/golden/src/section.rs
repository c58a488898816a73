//! Leadhost's custom sections of a component: the golden cases, and others by their
//! names.
//!
//! The parser reads top-level sections only: an id byte, a LEB128 length, that many
//! bytes. It does not look inside other sections, so a module nested in the
//! component cannot pass off a section as the component's. Every length is
//! checked before it is used.

/// The section's name.
pub const SECTION_NAME: &str = "leadhost:golden";

/// Why bytes are not a component that can carry cases.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    #[error("these bytes are not a WebAssembly component")]
    NotAComponent,
    #[error("the component's section at byte {offset} is cut short or malformed")]
    Malformed { offset: usize },
    #[error("the component has more than one section of a name that it may have once")]
    Repeated,
}

/// Returns the component with `payload` as its golden cases, replacing any that it had.
///
/// # Errors
///
/// [`SectionError`] if the bytes are not a component, or its sections are malformed.
pub fn append_section(component: &[u8], payload: &[u8]) -> Result<Vec<u8>, SectionError> {
    append_custom(component, SECTION_NAME, payload)
}

/// Returns the component's packed golden cases, if it carries any.
///
/// # Errors
///
/// [`SectionError`] if the bytes are not a component, its sections are malformed, or it has
/// several of this name.
pub fn read_section(component: &[u8]) -> Result<Option<Vec<u8>>, SectionError> {
    Ok(read_custom(component, SECTION_NAME)?.map(<[u8]>::to_vec))
}

/// Returns the component with `payload` in a custom section of this name at its end,
/// replacing any section of that name.
///
/// # Errors
///
/// [`SectionError`] if the bytes are not a component, or its sections are malformed.
pub fn append_custom(
    component: &[u8],
    name: &str,
    payload: &[u8],
) -> Result<Vec<u8>, SectionError> {
    let mut out = without_custom(component, name)?;
    let mut content = Vec::with_capacity(payload.len() + name.len() + 5);
    write_length(&mut content, name.len());
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(payload);
    out.push(CUSTOM);
    write_length(&mut out, content.len());
    out.extend_from_slice(&content);
    Ok(out)
}

/// Returns the payload of the component's custom section of this name, if it has one.
///
/// # Errors
///
/// [`SectionError`] if the bytes are not a well-formed component, or the section occurs twice.
pub fn read_custom<'a>(component: &'a [u8], name: &str) -> Result<Option<&'a [u8]>, SectionError> {
    let mut found = None;
    for section in sections(component)? {
        if let Some(payload) = section?.custom(name)
            && found.replace(payload).is_some()
        {
            return Err(SectionError::Repeated);
        }
    }
    Ok(found)
}

/// Returns the component without its custom sections of this name.
///
/// # Errors
///
/// [`SectionError`] if the bytes are not a component, or its sections are malformed.
pub fn without_custom(component: &[u8], name: &str) -> Result<Vec<u8>, SectionError> {
    let mut out = component.get(..HEADER.len()).unwrap_or_default().to_vec();
    for section in sections(component)? {
        let section = section?;
        if section.custom(name).is_none() {
            out.extend_from_slice(section.whole);
        }
    }
    Ok(out)
}

/// Magic, version 13, layer 1: the preamble of a component.
const HEADER: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
/// The id of custom sections.
const CUSTOM: u8 = 0;

struct Section<'a> {
    /// With id and length, as it is in the file.
    whole: &'a [u8],
    /// Name and payload of a custom section.
    custom: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Section<'a> {
    /// Returns the payload if this is the custom section of that name.
    fn custom(&self, wanted: &str) -> Option<&'a [u8]> {
        let (name, payload) = self.custom?;
        (name == wanted.as_bytes()).then_some(payload)
    }
}

/// Iterates over the sections; none is kept in memory, however many there are.
fn sections(
    component: &[u8],
) -> Result<impl Iterator<Item = Result<Section<'_>, SectionError>>, SectionError> {
    let mut rest = component
        .strip_prefix(&HEADER)
        .ok_or(SectionError::NotAComponent)?;
    Ok(std::iter::from_fn(move || {
        let [id, after_id @ ..] = rest else {
            return None;
        };
        let offset = component.len() - rest.len();
        let section = section(rest, *id, after_id);
        rest = section.as_ref().map_or(&[], |(_, after)| after);
        Some(match section {
            Some((section, _)) => Ok(section),
            None => Err(SectionError::Malformed { offset }),
        })
    }))
}

/// Returns the first section of `all`, and the bytes after it.
fn section<'a>(all: &'a [u8], id: u8, after_id: &'a [u8]) -> Option<(Section<'a>, &'a [u8])> {
    let (content, after) = sized(after_id)?;
    let custom = if id == CUSTOM {
        Some(sized(content)?)
    } else {
        None
    };
    let whole = &all[..all.len() - after.len()];
    Some((Section { whole, custom }, after))
}

/// Returns the bytes of a length-prefixed field, and the bytes after it.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = read_length(bytes)?;
    rest.split_at_checked(length)
}

/// Reads an unsigned LEB128 of 32 bits: at most five bytes.
fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).ok()?;
            return Some((value as usize, &bytes[index + 1..]));
        }
    }
    None
}

fn write_length(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A component with a type section and a custom section of another name.
    fn component() -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        bytes.extend([7, 3, 1, 2, 3]);
        bytes.extend([0, 5, 4, b'n', b'a', b'm', b'e']);
        bytes
    }

    #[test]
    fn a_component_without_cases_has_none() {
        assert_eq!(read_section(&component()), Ok(None));
        assert_eq!(read_section(&HEADER), Ok(None));
    }

    #[test]
    fn an_appended_section_is_read_and_replaced() {
        let long = vec![b'x'; 70_000];
        let once = append_section(&component(), &long).unwrap();
        assert_eq!(read_section(&once), Ok(Some(long)));
        let twice = append_section(&once, b"short").unwrap();
        assert_eq!(read_section(&twice), Ok(Some(b"short".to_vec())));
        assert!(twice.starts_with(&component()));
        assert!(twice.len() < 100);
    }

    #[test]
    fn a_core_module_and_other_bytes_are_refused() {
        let module = [0, b'a', b's', b'm', 1, 0, 0, 0];
        for bytes in [&module[..], b"", b"hello", &HEADER[..7]] {
            assert_eq!(read_section(bytes), Err(SectionError::NotAComponent));
            assert_eq!(append_section(bytes, b""), Err(SectionError::NotAComponent));
        }
    }

    #[test]
    fn a_second_section_of_cases_is_refused() {
        let once = append_section(&component(), b"a").unwrap();
        let mut twice = once.clone();
        twice.extend_from_slice(&once[component().len()..]);
        assert_eq!(read_section(&twice), Err(SectionError::Repeated));
    }

    /// A list of them would take more memory than a host has.
    #[test]
    fn a_component_of_nothing_but_small_sections_is_walked_without_keeping_them() {
        let mut bytes = HEADER.to_vec();
        for _ in 0..4_000_000 {
            bytes.extend([7, 0]);
        }
        assert_eq!(read_section(&bytes), Ok(None));
    }

    #[test]
    fn false_lengths_are_refused() {
        for tail in [
            &[0][..],
            &[0, 0x80],
            &[0, 200],
            &[7, 0xff, 0xff, 0xff, 0xff, 0x0f],
            &[7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0, 2, 200, 1],
            &[0, 0],
        ] {
            let mut bytes = component();
            let offset = bytes.len();
            bytes.extend_from_slice(tail);
            assert_eq!(
                read_section(&bytes),
                Err(SectionError::Malformed { offset })
            );
        }
    }

    #[test]
    fn truncated_and_mutated_components_never_panic() {
        let good = append_section(&component(), b"payload").unwrap();
        for end in 0..good.len() {
            let _ = read_section(&good[..end]);
            let _ = append_section(&good[..end], b"x");
        }
        for index in 0..good.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[index] = value;
                let _ = read_section(&bytes);
                let _ = append_section(&bytes, b"x");
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fuzz {
    use leadhost_fuzz::{Bytes, damaged, holds};

    use super::*;

    #[test]
    fn fuzz_a_section_of_any_component_is_replaced_and_taken_out_whole() {
        let mut component = HEADER.to_vec();
        component.extend([7, 3, 1, 2, 3]);
        component.extend([0, 5, 4, b'n', b'a', b'm', b'e']);
        let golden = append_section(&component, b"cases").unwrap();
        let other = append_custom(&golden, "other", &[b'x'; 300]).unwrap();
        let words = ["\0", "\x01", "\x7f", "leadhost:golden", "\0asm", "\x0f"];
        let inputs = (
            damaged([component, golden, other], &words),
            damaged(["payload"], &words),
        );
        holds(4_000, inputs, |(component, Bytes(payload))| {
            let Ok(sections) = without_custom(component, SECTION_NAME) else {
                assert!(append_section(component, payload).is_err());
                return;
            };
            // All that is not ours stays, in its order.
            assert!(sections.len() <= component.len());
            assert_eq!(read_section(&sections), Ok(None));
            let whole = append_section(component, payload).unwrap();
            assert_eq!(read_section(&whole), Ok(Some(payload.clone())));
            assert_eq!(without_custom(&whole, SECTION_NAME), Ok(sections));
        });
    }
}
