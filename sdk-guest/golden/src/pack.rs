//! Golden cases as one JSON text that includes their bodies, as a component carries them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Call, Case, Completion, Delivery, Message, Response};

/// Maximum bytes of a component's own cases: enough for some hundred bodies, and
/// little beside the component itself.
pub const MAX_PACKED_BYTES: usize = 1 << 20;

/// Maximum number of cases. Each is a call before the version can be activated.
pub const MAX_CASES: usize = 1_000;

/// Maximum bytes of a case's name. It names a folder, and no file system allows longer names.
pub const MAX_NAME_BYTES: usize = 255;

/// Why cases cannot be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("the packed golden cases have {bytes} bytes, at most {MAX_PACKED_BYTES} are allowed")]
    TooLarge { bytes: usize },
    #[error("there are {cases} golden cases, at most {MAX_CASES} are allowed")]
    TooMany { cases: usize },
    #[error("a golden case has a name of {bytes} bytes, at most {MAX_NAME_BYTES} are allowed")]
    Name { bytes: usize },
    #[error("the packed golden cases are not readable: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the packed golden case `{case}` has a body that is not base64")]
    Body {
        case: String,
        #[source]
        source: base64::DecodeError,
    },
    #[error("the packed golden cases have format {0}, this program knows format {FORMAT}")]
    Format(u32),
}

/// Returns the cases as bytes for a component's custom section.
///
/// # Errors
///
/// [`PackError`] if there are too many cases, a name is too long, or the result is too large.
pub fn pack(cases: &[Case]) -> Result<Vec<u8>, PackError> {
    few(cases.len())?;
    cases.iter().try_for_each(|case| named(&case.name))?;
    let packed = Packed {
        format: FORMAT,
        cases: cases.iter().map(PackedCase::from).collect(),
    };
    let bytes = serde_json::to_vec(&packed)?;
    bounded(&bytes)?;
    Ok(bytes)
}

/// Returns the cases that [`pack`] wrote.
///
/// # Errors
///
/// [`PackError`] if the bytes exceed a limit, have another format, or are not packed cases.
pub fn unpack(bytes: &[u8]) -> Result<Vec<Case>, PackError> {
    bounded(bytes)?;
    let packed: Packed = serde_json::from_slice(bytes)?;
    if packed.format != FORMAT {
        return Err(PackError::Format(packed.format));
    }
    few(packed.cases.len())?;
    packed.cases.iter().try_for_each(|case| named(&case.name))?;
    packed.cases.into_iter().map(Case::try_from).collect()
}

fn few(cases: usize) -> Result<(), PackError> {
    if cases > MAX_CASES {
        return Err(PackError::TooMany { cases });
    }
    Ok(())
}

fn named(name: &str) -> Result<(), PackError> {
    let bytes = name.len();
    if bytes > MAX_NAME_BYTES {
        return Err(PackError::Name { bytes });
    }
    Ok(())
}

/// Increased when a case's fields change their meaning.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Packed {
    format: u32,
    cases: Vec<PackedCase>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PackedCase {
    name: String,
    about: String,
    call: Call,
    #[serde(default)]
    delivery: Delivery,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completion: Option<Completion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Response>,
    /// A body that is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// A body that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expect: Option<Value>,
}

impl From<&Case> for PackedCase {
    fn from(case: &Case) -> Self {
        let text = case.body_text();
        Self {
            name: case.name.clone(),
            about: case.about.clone(),
            call: case.call,
            delivery: case.delivery.clone(),
            completion: (case.call == Call::Complete).then(|| case.completion.clone()),
            message: case.call.takes_message().then(|| case.message.clone()),
            response: case.call.takes_response().then(|| case.response.clone()),
            text: text.map(str::to_owned),
            base64: text.is_none().then(|| STANDARD.encode(&case.body)),
            expect: case.expect.clone(),
        }
    }
}

impl TryFrom<PackedCase> for Case {
    type Error = PackError;

    fn try_from(packed: PackedCase) -> Result<Self, PackError> {
        let body = match (packed.text, packed.base64) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(encoded)) => {
                STANDARD.decode(encoded).map_err(|source| PackError::Body {
                    case: packed.name.clone(),
                    source,
                })?
            }
            (None, None) => Vec::new(),
        };
        Ok(Self {
            name: packed.name,
            about: packed.about,
            call: packed.call,
            delivery: packed.delivery,
            body,
            completion: packed.completion.unwrap_or_default(),
            message: packed.message.unwrap_or_default(),
            response: packed.response.unwrap_or_default(),
            expect: packed.expect,
        })
    }
}

fn bounded(bytes: &[u8]) -> Result<(), PackError> {
    if bytes.len() > MAX_PACKED_BYTES {
        return Err(PackError::TooLarge { bytes: bytes.len() });
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(body: &[u8]) -> Case {
        Case {
            about: "about".into(),
            delivery: Delivery {
                query: vec![("k".into(), "v".into())],
                config: json!({"a": 1}),
                ..Delivery::default()
            },
            body: body.into(),
            completion: Completion {
                state: json!({"page": "1"}),
                hop: 2,
                ..Completion::default()
            },
            expect: Some(json!({"ok": []})),
            ..Case::new("one", Call::Complete)
        }
    }

    fn answered() -> Case {
        Case {
            message: Message {
                template: json!({"name": "t"}),
                ..Message::default()
            },
            response: Response {
                status: 503,
                ..Response::default()
            },
            ..Case::new("two", Call::ReadAnswer)
        }
    }

    #[test]
    fn packed_cases_are_unpacked_unchanged() {
        let cases = [
            case(b"{\"id\":9007199254740993}"),
            case(&[0xff, 0]),
            case(b""),
            answered(),
        ];
        assert_eq!(unpack(&pack(&cases).unwrap()).unwrap(), cases);
    }

    #[test]
    fn too_much_is_refused_both_ways() {
        let large = [case(&vec![b'x'; MAX_PACKED_BYTES])];
        assert!(matches!(pack(&large), Err(PackError::TooLarge { .. })));
        let bytes = vec![b' '; MAX_PACKED_BYTES + 1];
        assert!(matches!(unpack(&bytes), Err(PackError::TooLarge { .. })));
    }

    #[test]
    fn too_many_cases_are_refused_both_ways() {
        let many = vec![Case::new("", Call::Convert); MAX_CASES + 1];
        assert!(matches!(pack(&many), Err(PackError::TooMany { .. })));
        let text = vec![r#"{"name":"","about":"","call":"convert"}"#; MAX_CASES + 1].join(",");
        let text = format!(r#"{{"format":1,"cases":[{text}]}}"#);
        assert!(matches!(
            unpack(text.as_bytes()),
            Err(PackError::TooMany { .. })
        ));
    }

    #[test]
    fn a_name_too_long_for_a_folder_is_refused_both_ways() {
        let named = |bytes: usize| [Case::new("n".repeat(bytes), Call::Convert)];
        let most = pack(&named(MAX_NAME_BYTES)).unwrap();
        assert!(unpack(&most).is_ok());
        let long = named(MAX_NAME_BYTES + 1);
        assert!(matches!(pack(&long), Err(PackError::Name { bytes: 256 })));
        let text = String::from_utf8(most).unwrap().replace("nnn", "nnnn");
        assert!(matches!(
            unpack(text.as_bytes()),
            Err(PackError::Name { .. })
        ));
    }

    #[test]
    fn another_format_is_named() {
        let error = unpack(br#"{"format":2,"cases":[]}"#).unwrap_err();
        assert!(error.to_string().contains("format 2"));
    }

    #[test]
    fn damaged_bytes_are_an_error_and_never_a_panic() {
        let good = pack(&[case(b"x"), case(&[0xff])]).unwrap();
        for end in 0..good.len() {
            assert!(unpack(&good[..end]).is_err());
        }
        for index in 0..good.len() {
            let mut bytes = good.clone();
            bytes[index] ^= 0x41;
            let _ = unpack(&bytes);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fuzz {
    use leadhost_fuzz::{damaged, holds};
    use serde_json::json;

    use super::*;
    use crate::{diff, normalise};

    #[test]
    fn fuzz_cases_that_are_unpacked_are_packed_as_they_were() {
        let case = Case {
            about: "about".into(),
            body: vec![0xff, 0, b'{'],
            expect: Some(json!({"ok": [{"lead": {"phones": ["1"], "attributes": []}}]})),
            ..Case::new("one", Call::Convert)
        };
        let seeds = [
            pack(std::slice::from_ref(&case)).unwrap(),
            pack(&[Case::new("two", Call::Complete), case]).unwrap(),
        ];
        let words = [
            "\"", "{", "}", "[", "]", ",", ":", "null", "\\u0000", "\\ud800", "1e999", "-0",
            "base64",
        ];
        holds(2_000, damaged(seeds, &words), |bytes| {
            let Ok(cases) = unpack(bytes) else {
                return;
            };
            assert!(cases.len() <= MAX_CASES);
            let again = pack(&cases).unwrap();
            assert_eq!(unpack(&again).unwrap(), cases);
            for case in &cases {
                let expect = case.expect.clone().unwrap_or_default();
                assert_eq!(diff(&expect, &expect), None);
                let _ = case.difference(&normalise(expect));
            }
        });
    }
}
