//! `leadhost serve` with a database that it cannot use: it exits with one line
//! that says what to do, without the password.

use std::net::TcpListener;

use leadhost_tests::service::serve;
use leadhost_tests::{has, lacks};

const PASSWORD: &str = "hidden-hunter";

/// Runs the program with this URL, and checks its message and its exit code: 2 if the value itself is
/// wrong.
#[track_caller]
fn is_refused(code: i32, url: &str, parts: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = serve(folder.path(), &["--store-url", url]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let lines = said.lines().filter(|line| line.starts_with("leadhost: "));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 1, "{said}");
    for part in parts {
        has!(lines[0], part);
    }
    lacks!(said, PASSWORD, "panicked");
}

#[test]
fn a_url_that_leads_nowhere_is_named_without_its_password() {
    let shown = "postgres://user:password@host/database";
    for (code, url, part) in [
        (
            1,
            "postgres://ana:PASSWORD@127.0.0.1:1/leads",
            "cannot be reached",
        ),
        (2, "mysql://ana:PASSWORD@127.0.0.1/leads", shown),
        (2, "ana:PASSWORD@127.0.0.1", shown),
        (2, "postgres://ana:PASSWORD@127.0.0.1:port/leads", ""),
    ] {
        let url = url.replace("PASSWORD", PASSWORD);
        is_refused(code, &url, &["store.url", part]);
    }
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    // The kernel accepts the connection, but no program reads from it.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("it is bound").port();
    let url = format!("postgres://ana:{PASSWORD}@127.0.0.1:{port}/leads");
    is_refused(1, &url, &["did not answer within", "store.url"]);
}
