//! The log of the service: at `info`, no line has personal data, whatever fails. A reader that stands still holds
//! nothing up.
//!
//! The service runs as a process, so that the lines of all of its threads are read.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hyper::Method;
use leadhost_tests::client::{Answer, Ask};
use leadhost_tests::components::target;
use leadhost_tests::{Json, On, Service, eventually, guests, has, lacks, service};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    no_line_has_personal_data,
}

/// Parts of everything that the persons of this test are and write.
const PERSONAL: [&str; 9] = [
    "Zenóbia",
    "Quixadá",
    "988123454",
    "98812-3454",
    "977665544",
    "zenobia.q",
    "um segredo de família",
    "o outro recado",
    "127.0.0.1:",
];

/// A connection whose converter writes the body of each delivery to its log, and crashes.
const CRASHING: &str = r#"
[[connections]]
name = "crashing"
partner = "crm"
plugin = "misbehave"
config = { do = "confess", size = 1 }

[[connections]]
name = "refusing"
partner = "crm"
plugin = "misbehave"
config = { do = "refuse", size = 1 }
"#;

struct LoggedService {
    service: Service,
    keys: Value,
}

impl LoggedService {
    fn start(on: &On, folder: &Path, inbox: &Path) -> Self {
        for name in [
            "converter-grupo-olx",
            "converter-mapping",
            "adapter-sandbox",
        ] {
            let file = format!("{name}.wasm");
            std::fs::copy(target().join("plugins").join(&file), inbox.join(&file)).unwrap();
        }
        std::fs::write(inbox.join("misbehave.wasm"), guests::misbehave_with_wasi()).unwrap();
        let file = folder.join("workspace.toml");
        std::fs::write(&file, workspace(inbox)).unwrap();
        let (inbox, file) = (inbox.to_str().unwrap(), file.to_str().unwrap());
        let service = Service::start_on(on, folder, &["--inbox", inbox, "--first-apply", file]);
        let keys = std::fs::read_to_string(folder.join("keys.json")).unwrap();
        let keys = serde_json::from_str(&keys).unwrap();
        Self { service, keys }
    }

    async fn deliver(&self, connection: &str, body: &Value) -> u16 {
        let id = self.keys["connections"][connection].text();
        let mut ask = self
            .service
            .ask("gateway", "POST", &format!("/ingest-lead/{id}"));
        if let Some(headers) = self.keys["connectionHeaders"][connection].as_object() {
            for (name, value) in headers {
                ask = ask.header(name, value.text());
            }
        }
        ask.json(body).send().await.status
    }

    async fn gateway(&self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let key = self.keys["partnerKey"].text();
        let ask = self.service.ask("gateway", method, target);
        let ask = ask.header("x-service-api-key", key);
        let answer = match body {
            Value::Null => ask.send().await,
            body => ask.json(body).send().await,
        };
        (answer.status, answer.json())
    }
}

/// The workspace of the quickstart without the forms of the network, and with the crashing connections.
fn workspace(inbox: &Path) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart/workspace.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once("# Lead forms of a social network").unwrap();
    let (_, after) = rest.split_once("# A form of your own").unwrap();
    let crashing = if inbox.join("misbehave.wasm").exists() {
        CRASHING
    } else {
        ""
    };
    format!("{before}# A form of your own{after}{crashing}")
}

async fn no_line_has_personal_data(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let inbox = tempfile::tempdir().unwrap();
    let world = LoggedService::start(&on, folder.path(), inbox.path());
    let lead = json!({
        "originLeadId": "9", "clientListingId": "AP-0042", "name": "Zenóbia Quixadá",
        "ddd": "11", "phone": "988123454", "phoneNumber": "11988123454",
        "email": "zenobia.q@example.com", "message": "é um segredo de família",
    });
    assert_eq!(world.deliver("portal", &lead).await, 200);
    // Unreadable, without a sender check, and as it crashes and refuses.
    assert_ne!(
        world
            .deliver("portal", &json!("Zenóbia Quixadá 11988123454"))
            .await,
        500
    );
    let form = json!({
        "ticket": "t-1", "first": "Zenóbia", "last": "Quixadá", "whatsapp": "+55 11 98812-3454",
        "mail": "zenobia.q@example.com", "text": "um segredo de família", "unit": "AP-0042",
    });
    assert_eq!(world.deliver("site-form", &form).await, 200);
    let unchecked = world.keys["connections"]["site-form"].text();
    let unchecked = format!("/ingest-lead/{unchecked}?name=Zenóbia&phone=11988123454");
    let unchecked = unchecked.replace('ó', "%C3%B3");
    let ask = world.service.ask("gateway", "POST", &unchecked);
    assert_eq!(ask.json(&form).send().await.status, 401);
    if world.keys["connections"]["crashing"].is_string() {
        for _ in 0..4 {
            assert_eq!(world.deliver("crashing", &lead).await, 200);
        }
        world.deliver("refusing", &lead).await;
        eventually("the crash is logged", async || {
            world
                .service
                .log()
                .contains("plugin failed, delivery stored")
        })
        .await;
    }

    // The gateway: found, refused and created.
    let found = "/deal?phone=5511988123454&email=zenobia.q%40example.com";
    let (status, deals) = world.gateway("GET", found, &Value::Null).await;
    assert_eq!(status, 200, "{deals}");
    world
        .gateway("GET", "/deal?email=Zen%C3%B3bia", &Value::Null)
        .await;
    world
        .gateway("GET", "/no/such/11988123454/zenobia.q", &Value::Null)
        .await;
    world
        .gateway(
            "POST",
            "/deal",
            &json!({"name": "Zenóbia Quixadá", "phoneNumber": "11988123454 x"}),
        )
        .await;
    let (status, made) = world
        .gateway(
            "POST",
            "/deal",
            &json!({"name": "Zenóbia Quixadá", "phoneNumber": "+5521977665544"}),
        )
        .await;
    assert!((200..300).contains(&status), "{made}");

    // Messages: a greeting was sent, a contact answers, an operator looks.
    for arguments in [
        "outbox reply --instance demo/assistant +5511988123454 'é o outro recado'",
        "outbox --json",
        "contact erase --workspace demo --phone +5511988123454 --yes",
        "status",
    ] {
        world.service.run(arguments);
    }
    eventually("the erasure is logged", async || {
        world.service.log().contains("erasure completed")
    })
    .await;
    let log = world.service.log();
    traced_once(&log);
    assert!(
        log.lines()
            .filter(|line| line.contains(" answered "))
            .count()
            > 10,
        "{log}"
    );
    for line in log.lines() {
        // The addresses of the service itself.
        if line.contains(": ready ") {
            continue;
        }
        for personal in PERSONAL {
            lacks!(line, personal);
        }
    }
    assert!(world.service.stop());
}

/// Checks that each line of an answered request names its trace, and names it once.
#[track_caller]
fn traced_once(log: &str) {
    let mut lines = 0;
    for line in log
        .lines()
        .filter(|line| line.contains("route=\"ingest-lead\""))
    {
        let traces = line.matches(" trace=").count();
        let is_answer = line.contains(": answered");
        assert!(traces == 1 || traces == 0 && !is_answer, "{line}");
        lines += 1;
    }
    assert!(lines > 0, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_with_401_are_a_line_a_second_with_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let began = Instant::now();
    for _ in 0..100 {
        service
            .ask("gateway", "GET", "/deal")
            .send()
            .await
            .expect(401);
    }
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();
    // Its line comes after theirs.
    service
        .ask("gateway", "GET", "/nothing")
        .send()
        .await
        .expect(404);
    eventually("the last line is written", async || {
        service.log().contains("status=404")
    })
    .await;
    let log = service.log();
    let lines = log
        .lines()
        .filter(|line| line.contains("status=401"))
        .count();
    assert!(
        (1..=seconds + 1).contains(&lines),
        "{lines} lines in {seconds} s"
    );
    // The next line says how many had none.
    eventually("those without a line are counted", async || {
        service
            .ask("gateway", "GET", "/deal")
            .send()
            .await
            .expect(401);
        let log = service.log();
        let counts = log.split("refused_since_last_line=").skip(1);
        let counts =
            counts.filter_map(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
        counts.sum::<usize>() + log.matches("status=401").count() > 100
    })
    .await;
}

/// A service the reader of whose log stands still after the start. It is killed when it is dropped.
struct Unread {
    program: Child,
    addresses: Value,
    log: BufReader<ChildStderr>,
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

impl Unread {
    /// Starts it, and sends requests until lines of the log are dropped.
    async fn start(folder: &Path) -> Self {
        // Each request has many lines at this level.
        let talkative = ["--set", "log.filter=info,hyper=trace"];
        let mut program = service::command(folder, &[&service::SERVE[..], &talkative].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(program.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(": ready") {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ended");
        }
        let addresses = std::fs::read_to_string(folder.join("service.json")).unwrap();
        let unread = Self {
            program,
            addresses: serde_json::from_str(&addresses).unwrap(),
            log,
        };
        while unread.dropped().await == 0 {
            for _ in 0..100 {
                unread.answer("gateway", "/nothing").await.expect(404);
            }
        }
        unread
    }

    async fn answer(&self, surface: &str, target: &str) -> Answer {
        let address = self.addresses[surface].text();
        let ask = Ask::new(address.parse().unwrap(), Method::GET, target);
        let answer = ask.header("host", address).send();
        let answer = tokio::time::timeout(Duration::from_secs(30), answer).await;
        answer.expect("it does not wait for the reader of the log")
    }

    async fn dropped(&self) -> u64 {
        let metrics = self.answer("admin", "/metrics").await;
        let lines = metrics.text().lines();
        let mut counts =
            lines.filter_map(|line| line.strip_prefix("leadhost_log_lines_dropped_total "));
        counts.next().unwrap().parse().unwrap()
    }

    fn terminate(&self) {
        let id = i32::try_from(self.program.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    }

    fn ended(&mut self) -> ExitStatus {
        self.program.wait().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_probes_and_a_stop_do_not_wait_for_the_reader_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut unread = Unread::start(folder.path()).await;
    for surface in ["gateway", "admin"] {
        for probe in ["/health/live", "/health/ready"] {
            unread.answer(surface, probe).await.expect(200);
        }
    }
    let said = service::leadhost(folder.path(), "status").stdout;
    let said = String::from_utf8(said).unwrap();
    has!(said, "the log lost ", "because nothing reads it");
    unread.terminate();
    assert!(unread.ended().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_log_that_returns_learns_of_dropped_lines_and_gets_the_last_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut unread = Unread::start(folder.path()).await;
    unread.terminate();
    let mut log = String::new();
    unread.log.read_to_string(&mut log).unwrap();
    assert!(unread.ended().success());
    has!(
        log,
        "WARN leadhost_telemetry::log: log lines dropped",
        " dropped="
    );
    has!(log, ": stopped");
}
