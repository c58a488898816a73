//! Cases in folders: `golden/<case>/case.json` and the body files beside it.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Call, Case, Completion, Delivery, Message, Response};

/// Why a folder of cases cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(
        "there is no folder {}; add a case as {}",
        path.display(),
        path.join("<case>").join(CASE_FILE).display()
    )]
    Missing { path: PathBuf },
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{}: {source}", path.display())]
    Parse {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{}: field `{field}`: {problem}", path.display())]
    Field {
        path: PathBuf,
        field: &'static str,
        problem: String,
    },
    #[error("{} holds no case: a case is a folder with a `case.json`", path.display())]
    Empty { path: PathBuf },
}

/// Returns the cases of a folder, sorted by name.
///
/// # Errors
///
/// [`FolderError`] if the folder or a file in it cannot be read, a case is invalid, or there is none.
pub fn load_dir(dir: &Path) -> Result<Vec<Case>, FolderError> {
    let mut folders = Vec::new();
    let entries = std::fs::read_dir(dir).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => FolderError::Missing { path: dir.into() },
        _ => read_error(dir, source),
    })?;
    for entry in entries {
        let path = entry.map_err(|source| read_error(dir, source))?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !hidden {
            folders.push(path);
        }
    }
    if folders.is_empty() {
        return Err(FolderError::Empty { path: dir.into() });
    }
    folders.sort();
    folders.iter().map(|folder| load_case(folder)).collect()
}

/// Writes a case's output into its `case.json` and reformats the file.
///
/// # Errors
///
/// [`FolderError`] if the file cannot be read, parsed or written.
pub fn write_expect(dir: &Path, case: &str, expect: &Value) -> Result<(), FolderError> {
    let path = dir.join(case).join(CASE_FILE);
    let mut file = read_case_file(&path)?;
    file.expect = Some(expect.clone());
    let mut text = serde_json::to_string_pretty(&file).map_err(|source| FolderError::Parse {
        path: path.clone(),
        source,
    })?;
    text.push('\n');
    // Replaced as a whole: another test may read the case at the same moment.
    let new = path.with_extension("json.new");
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, &path))
        .map_err(|source| FolderError::Write { path, source })
}

/// Writes a new case into a folder of cases, with its body in a file of this name.
///
/// # Errors
///
/// [`FolderError`] if there is such a case already, or a file cannot be written.
pub fn write_case(dir: &Path, case: &Case, body: &str) -> Result<(), FolderError> {
    let folder = dir.join(&case.name);
    let written = |path: &Path| {
        let path = path.to_owned();
        move |source| FolderError::Write { path, source }
    };
    std::fs::create_dir_all(dir).map_err(written(dir))?;
    std::fs::create_dir(&folder).map_err(written(&folder))?;
    let files = case_files(case, body).map_err(|source| FolderError::Parse {
        path: folder.join(CASE_FILE),
        source,
    })?;
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(written(&path))?;
    }
    Ok(())
}

/// Returns the files of a case, by their names: its body, if it has one, in a file of this name, and
/// `case.json`.
///
/// # Errors
///
/// [`serde_json::Error`] if the case cannot be written as JSON.
pub fn case_files(case: &Case, body: &str) -> serde_json::Result<Vec<(String, Vec<u8>)>> {
    let has_body = !case.body.is_empty();
    let file = CaseFile {
        about: case.about.clone(),
        call: case.call,
        delivery: Some(case.delivery.clone()).filter(|one| *one != Delivery::default()),
        body: has_body.then(|| body.to_owned()),
        completion: (case.call == Call::Complete).then(|| case.completion.clone()),
        message: case.call.takes_message().then(|| case.message.clone()),
        response: case.call.takes_response().then(|| case.response.clone()),
        expect: case.expect.clone(),
    };
    let text = serde_json::to_string_pretty(&file)? + "\n";
    let mut files = Vec::new();
    if has_body {
        files.push((body.to_owned(), case.body.clone()));
    }
    files.push((CASE_FILE.to_owned(), text.into_bytes()));
    Ok(files)
}

const CASE_FILE: &str = "case.json";

/// The format of `case.json`; the order of its fields is the order for readers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CaseFile {
    about: String,
    call: Call,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<Delivery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<Completion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Response>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<Value>,
}

fn load_case(folder: &Path) -> Result<Case, FolderError> {
    let path = folder.join(CASE_FILE);
    let file = read_case_file(&path)?;
    let field = |field: &'static str, problem: String| FolderError::Field {
        path: path.clone(),
        field,
        problem,
    };

    let name = folder
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| field("about", "the folder's name is not UTF-8".into()))?;
    if (file.call == Call::Complete) != file.completion.is_some() {
        let problem = "required with call `complete`, and not allowed with another".to_owned();
        return Err(field("completion", problem));
    }
    if file.call.takes_message() != file.message.is_some() {
        let problem =
            "required with calls `send` and `readAnswer`, and not allowed with another".to_owned();
        return Err(field("message", problem));
    }
    if file.call.takes_response() != file.response.is_some() {
        let problem =
            "required with calls `readAnswer` and `readTemplates`, and not allowed with another"
                .to_owned();
        return Err(field("response", problem));
    }
    if let Some(expect) = &file.expect
        && !is_answer(expect)
    {
        let problem = "an object with exactly one of `ok` and `err`".to_owned();
        return Err(field("expect", problem));
    }
    let body = match &file.body {
        None => Vec::new(),
        Some(name) => {
            if !is_plain_file_name(name) {
                let problem = format!("`{name}` is not the name of a file in the case's folder");
                return Err(field("body", problem));
            }
            std::fs::read(folder.join(name))
                .map_err(|source| field("body", format!("`{name}` cannot be read: {source}")))?
        }
    };

    Ok(Case {
        name: name.into(),
        about: file.about,
        call: file.call,
        delivery: file.delivery.unwrap_or_default(),
        body,
        completion: file.completion.unwrap_or_default(),
        message: file.message.unwrap_or_default(),
        response: file.response.unwrap_or_default(),
        expect: file.expect,
    })
}

fn read_case_file(path: &Path) -> Result<CaseFile, FolderError> {
    let text = std::fs::read(path).map_err(|source| read_error(path, source))?;
    serde_json::from_slice(&text).map_err(|source| FolderError::Parse {
        path: path.into(),
        source,
    })
}

fn is_answer(expect: &Value) -> bool {
    expect.as_object().is_some_and(|object| {
        object.len() == 1 && (object.contains_key("ok") || object.contains_key("err"))
    })
}

fn is_plain_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    )
}

fn read_error(path: &Path, source: std::io::Error) -> FolderError {
    FolderError::Read {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn case(files: &[(&str, &str)]) -> Result<Vec<Case>, FolderError> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        load_dir(dir.path())
    }

    #[test]
    fn cases_come_sorted_with_bodies_and_defaults() {
        let cases = case(&[
            ("b/case.json", r#"{"about":"b","call":"handshake"}"#),
            (
                "a/case.json",
                r#"{"about":"a","call":"convert","body":"x.json","expect":{"err":{"message":"m","path":""}}}"#,
            ),
            ("a/x.json", "[1]"),
        ])
        .unwrap();
        assert_eq!(cases[0].name, "a");
        assert_eq!(cases[0].body, b"[1]");
        assert_eq!(cases[0].delivery, Delivery::default());
        assert_eq!(cases[1].delivery.method_for(cases[1].call), "GET");
        assert!(cases[1].expect.is_none());
    }

    #[test]
    fn a_missing_folder_is_named_with_the_place_of_a_case() {
        let dir = tempfile::tempdir().unwrap();
        let golden = dir.path().join("golden");
        let error = load_dir(&golden).unwrap_err().to_string();
        let golden = golden.display();
        let expect =
            format!("there is no folder {golden}; add a case as {golden}/<case>/case.json");
        assert_eq!(error, expect);
    }

    #[test]
    fn errors_name_the_file_and_the_field() {
        let check = |text: &str, expect: &[&str]| {
            let error = case(&[("one/case.json", text)]).unwrap_err().to_string();
            for part in expect {
                assert!(error.contains(part), "{error} should name {part}");
            }
        };
        check(r#"{"about":"a"}"#, &["one/case.json", "call"]);
        check(r#"{"about":"a","call":"x"}"#, &["case.json", "`x`"]);
        check(
            r#"{"about":"a","call":"convert","body":"../x"}"#,
            &["`body`", "../x"],
        );
        check(
            r#"{"about":"a","call":"convert","body":"none.json"}"#,
            &["`body`", "none.json"],
        );
        check(r#"{"about":"a","call":"complete"}"#, &["`completion`"]);
        check(r#"{"about":"a","call":"send"}"#, &["`message`"]);
        check(
            r#"{"about":"a","call":"routes","message":{}}"#,
            &["`message`"],
        );
        check(
            r#"{"about":"a","call":"readAnswer","message":{}}"#,
            &["`response`"],
        );
        check(
            r#"{"about":"a","call":"complete","completion":{},"response":{}}"#,
            &["`response`"],
        );
        check(
            r#"{"about":"a","call":"send","message":{"config":{}}}"#,
            &["case.json", "`config`"],
        );
        check(
            r#"{"about":"a","call":"convert","expect":[]}"#,
            &["`expect`"],
        );
        check(
            r#"{"about":"a","call":"convert","delivery":{"header":[]}}"#,
            &["case.json", "`header`"],
        );
    }

    #[test]
    fn messages_and_responses_of_adapters_are_read() {
        let cases = case(&[
            (
                "one/case.json",
                r#"{"about":"a","call":"readAnswer","body":"x.json",
                    "delivery":{"config":{"k":1}},
                    "message":{"template":{"name":"t","language":{"code":"pt_BR"}}},
                    "response":{"status":429,"headers":[["retry-after","7"]]}}"#,
            ),
            ("one/x.json", "{}"),
            (
                "two/case.json",
                r#"{"about":"b","call":"send","message":{"recipient":"x","template":"{"}}"#,
            ),
        ])
        .unwrap();
        assert_eq!(
            cases[0].message.template_text(),
            r#"{"language":{"code":"pt_BR"},"name":"t"}"#
        );
        assert_eq!(cases[0].message.recipient, Message::default().recipient);
        assert_eq!(cases[0].response.status, 429);
        assert_eq!(cases[0].body, b"{}");
        assert_eq!(cases[1].message.template_text(), "{");
        assert_eq!(cases[1].message.recipient, "x");
    }

    #[test]
    fn a_folder_without_cases_is_an_error() {
        assert!(matches!(case(&[]), Err(FolderError::Empty { .. })));
    }

    #[test]
    fn a_written_case_is_read_back_and_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let golden = dir.path().join("golden");
        let mut case = Case::new("one", Call::Complete);
        case.about = "a".into();
        case.body = b"{}".to_vec();
        case.delivery.config = serde_json::json!({"id": 1});
        case.completion.hop = 2;
        write_case(&golden, &case, "body.json").unwrap();
        let empty = Case::new("two", Call::Convert);
        write_case(&golden, &empty, "body.txt").unwrap();
        assert_eq!(load_dir(&golden).unwrap(), [case.clone(), empty]);
        let error = write_case(&golden, &case, "body.json").unwrap_err();
        assert!(error.to_string().contains("golden/one"), "{error}");
    }

    #[test]
    fn writing_an_answer_keeps_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("one")).unwrap();
        let path = dir.path().join("one/case.json");
        let text = r#"{"about":"a","call":"convert","delivery":{"query":[["k","v"]],"config":{"id":9007199254740993}}}"#;
        std::fs::write(&path, text).unwrap();
        let before = load_dir(dir.path()).unwrap();
        write_expect(dir.path(), "one", &serde_json::json!({"ok": 1})).unwrap();
        let after = load_dir(dir.path()).unwrap();
        assert_eq!(after[0].expect, Some(serde_json::json!({"ok": 1})));
        assert_eq!(after[0].delivery, before[0].delivery);
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("9007199254740993")
        );
    }
}
