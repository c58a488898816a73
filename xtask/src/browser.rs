//! The page of the API document in a real browser without a network: it can resolve
//! only this machine's name. The rendered page must show every operation, and must
//! request nothing from any other host.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Context, Failure};
use crate::files;
use crate::install::Install;
use crate::process;

const PROGRAMS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

pub fn installed() -> Option<PathBuf> {
    PROGRAMS.into_iter().find_map(process::find)
}

/// Finds a browser, or installs one if that is allowed.
pub fn program(install: Install) -> Result<PathBuf, Failure> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    install.debian(&["chromium"], "to render the page of the API document")?;
    installed().ok_or_else(|| Failure::new("Chromium was installed but is not on the PATH"))
}

/// Renders the page `/docs` of a service in Chromium without a network, and checks what it
/// shows and requests. It must show every operation of the document. `folder` gets the page and the browser's log.
pub fn test(chromium: &Path, folder: &Path, address: &str, document: &str) -> Result<(), Failure> {
    let profile = folder.join("browser");
    files::remove_folder(&profile)?;
    let log = folder.join("browser-net.json");
    let page = process::output(
        Command::new(chromium)
            .args([
                "--headless",
                "--disable-gpu",
                // As root, in a container: the page is our own.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--virtual-time-budget=10000",
                "--timeout=60000",
                "--dump-dom",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--log-net-log={}", log.display()))
            .arg(format!("{address}/docs")),
    )?;
    let shown = folder.join("browser-page.html");
    files::write(&shown, &page)?;
    let wrong = |what: String| {
        Failure::new(what).hint(format!(
            "what the browser rendered is in {}",
            shown.display()
        ))
    };
    if !page.contains("role=\"alert\" hidden") {
        return Err(wrong("the page shows an error".to_owned()));
    }
    let document: Value = serde_json::from_str(document).context("reading the document")?;
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let id = operation["operationId"].as_str().unwrap_or_default();
            let heading = format!("<span class=\"method\">{method}</span>{path}</h3>");
            if !page.contains(&format!("<article id=\"{id}\">")) || !page.contains(&heading) {
                return Err(wrong(format!("the page does not show {method} {path}")));
            }
            operations += 1;
        }
    }
    if !page.contains(&format!("data-shown=\"{operations}\"")) {
        return Err(wrong(format!(
            "the page does not show {operations} operations"
        )));
    }
    check_requests(&log, address)?;
    eprintln!("{:>12} {operations} operations at {address}/docs", "shown");
    Ok(())
}

/// Checks that every request of the page went to this service.
fn check_requests(log: &Path, address: &str) -> Result<(), Failure> {
    let text = files::text(log)?;
    let log: Value = serde_json::from_str(&text).context("reading the browser's log")?;
    let mut asked = 0;
    for event in log["events"].as_array().into_iter().flatten() {
        let params = &event["params"];
        // A request of the page names its initiator; the browser's own requests do not.
        let Some(url) = params["url"].as_str() else {
            continue;
        };
        let is_of_the_page = params["initiator"]
            .as_str()
            .is_some_and(|initiator| initiator.starts_with("http"));
        if url.starts_with(address) {
            asked += 1;
        } else if is_of_the_page && url.starts_with("http") {
            return Err(Failure::new(format!("the page requests {url}")));
        }
    }
    if asked < 4 {
        return Err(Failure::new(format!(
            "the browser's log has {asked} requests of the page, which loads four files"
        )));
    }
    Ok(())
}
