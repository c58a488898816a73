//! `leadhost serve` with a database that it cannot use: it exits with one line
//! that says what to do, without the password.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use leadhost_tests::service::leadhost;

const PASSWORD: &str = "hidden-hunter";

/// Runs the program with this URL, and checks its message.
#[track_caller]
fn refusal(url: &str, parts: &[&str]) {
    ends_with(1, url, parts);
}

/// The same, with the exit code: 2 if the value itself is wrong.
#[track_caller]
fn ends_with(code: i32, url: &str, parts: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let Output { status, stderr, .. } = try_to_serve(folder.path(), url);
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(code), "{said}");
    let lines: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("leadhost: "))
        .collect();
    assert_eq!(lines.len(), 1, "{said}");
    for part in parts {
        assert!(lines[0].contains(part), "{part}: {said}");
    }
    assert!(!said.contains(PASSWORD), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

fn try_to_serve(folder: &Path, url: &str) -> Output {
    let flags = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
        "--store-url",
        url,
    ];
    leadhost(folder, &flags)
}

#[test]
fn a_url_that_leads_nowhere_is_named_without_its_password() {
    let nowhere = format!("postgres://ana:{PASSWORD}@127.0.0.1:1/leads");
    refusal(&nowhere, &["cannot be reached", "store.url"]);
    let unknown = format!("mysql://ana:{PASSWORD}@127.0.0.1/leads");
    ends_with(
        2,
        &unknown,
        &["store.url", "postgres://user:password@host/database"],
    );
    let no_url = format!("ana:{PASSWORD}@127.0.0.1");
    ends_with(
        2,
        &no_url,
        &["store.url", "postgres://user:password@host/database"],
    );
    let no_port = format!("postgres://ana:{PASSWORD}@127.0.0.1:port/leads");
    ends_with(2, &no_port, &["store.url"]);
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    // The kernel accepts the connection, but no program reads from it.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("it is bound").port();
    let url = format!("postgres://ana:{PASSWORD}@127.0.0.1:{port}/leads");
    refusal(&url, &["did not answer within", "store.url"]);
}
