//! Components in a registry of container images: pushed, pulled and activated by the command, against
//! the real registry of Debian, and against one that lies.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leadhost_domain::plugin::Digest;
use leadhost_tests::guests::version;
use leadhost_tests::registry::{NAME, PASSWORD, Registry};
use leadhost_tests::service::command;
use leadhost_tests::{Json, On, Service, has, lacks};
use serde_json::{Value, json};
use sha2::Digest as _;
use tempfile::TempDir;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_component_of_a_registry_is_activated_and_the_store_keeps_where_it_came_from,
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const LAYER: &str = "application/wasm";

/// The folder of a person who pushes and pulls: Docker's configuration and files.
struct Person {
    folder: TempDir,
}

impl Person {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// With these credentials for a registry, as `docker login` writes them.
    fn with_password(registry: &str, password: &str) -> Self {
        let person = Self::new();
        let auth = STANDARD.encode(format!("{NAME}:{password}"));
        let config = json!({"auths": {registry: {"auth": auth}}});
        std::fs::write(person.path("config.json"), config.to_string()).unwrap();
        person
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// Runs a command. `data`: the data folder of a service.
    fn run(&self, data: &Path, arguments: &str) -> Output {
        let mut command = command(data, arguments);
        command
            .env("DOCKER_CONFIG", self.folder.path())
            .current_dir(self.folder.path());
        command.output().unwrap()
    }

    /// Runs `leadhost plugin` with these arguments, which must succeed.
    #[track_caller]
    fn plugin(&self, arguments: &str) -> String {
        let output = self.run(self.folder.path(), &format!("plugin {arguments}"));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it, and it must fail with this exit code. Returns what it says.
    #[track_caller]
    fn refused(&self, code: i32, arguments: &str) -> String {
        let output = self.run(self.folder.path(), &format!("plugin {arguments}"));
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {complaint}");
        complaint
    }
}

fn digest(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns the address with its digest that a push has printed.
fn pinned(said: &str) -> &str {
    said.lines().next().unwrap()
}

/// Returns the same without the tag: only the digest names it.
fn by_digest(pinned: &str) -> String {
    let (tagged, digest) = pinned.split_once('@').unwrap();
    let (name, _) = tagged.rsplit_once(':').unwrap();
    format!("{name}@{digest}")
}

#[test]
fn a_pushed_component_is_pulled_by_its_tag_and_by_its_digest() {
    let Some(registry) = Registry::open() else {
        return;
    };
    let person = Person::new();
    let wasm = version("1.0.0");
    let file = person.write("built.wasm", &wasm);
    let tag = format!("oci://{}/plugins/portal:1.0.0", registry.address());
    let said = person.plugin(&format!("push {file} {tag}"));
    let pinned = pinned(&said);
    assert!(pinned.starts_with(&format!("{tag}@sha256:")), "{said}");

    has!(person.plugin(&format!("pull {tag}")), pinned);
    assert_eq!(std::fs::read(person.path("portal.wasm")).unwrap(), wasm);
    has!(person.refused(1, &format!("pull {tag}")), "-o FILE");
    for address in [by_digest(pinned), pinned.to_owned()] {
        let other = person.path("other.wasm");
        person.plugin(&format!("pull {address} -o {other}"));
        assert_eq!(std::fs::read(&other).unwrap(), wasm);
    }

    // The same bytes have the same digest under another tag, at another time.
    let latest = format!("oci://{}/plugins/portal:latest", registry.address());
    let again = person.plugin(&format!("push {file} {latest}"));
    assert!(again.starts_with(&format!("{latest}@")), "{again}");
    assert_eq!(by_digest(self::pinned(&again)), by_digest(pinned));
}

#[test]
fn an_artifact_that_is_missing_or_is_no_component_is_refused() {
    let Some(registry) = Registry::open() else {
        return;
    };
    let person = Person::new();
    let to = |rest: &str| format!("oci://{}/plugins/{rest}", registry.address());
    let file = person.write("built.wasm", &version("1.0.0"));
    person.plugin(&format!("push {file} {}", to("portal:1.0.0")));

    let other = to(&format!("portal@{}", digest(b"made up")));
    for missing in [to("portal:2.0.0"), to("nothing:1.0.0"), other] {
        let said = person.refused(1, &format!("pull {missing}"));
        has!(said, &format!("does not have {missing}"));
        assert!(!person.folder.path().join("portal.wasm").exists());
    }
    let text = person.write("text.wasm", b"hello");
    let said = person.refused(1, &format!("push {text} {}", to("text:1")));
    has!(said, "not WebAssembly", "text.wasm: the file");
    let said = person.refused(2, &format!("push {file} {}", to("portal")));
    has!(said, "neither a tag nor a digest");
    let said = person.refused(2, &format!("pull {file}"));
    has!(said, "oci://REGISTRY/NAME:TAG");

    let small = person.write("small.toml", b"[plugins]\ncomponent_mib = 0\n");
    let push = format!("push {file} {}", to("portal:1.0.1"));
    let pull = format!("pull {} -o {text}", to("portal:1.0.0"));
    for command in [push, pull] {
        let said = person.refused(1, &format!("{command} --config {small}"));
        has!(said, "at most 0 bytes are accepted");
    }
    let kept = std::fs::read(&text).unwrap();
    assert_eq!(kept, b"hello", "nothing is written");
}

#[test]
fn a_registry_that_asks_for_credentials_gets_those_of_docker() {
    let Some(registry) = Registry::closed() else {
        return;
    };
    let tag = format!("oci://{}/portal:1.0.0", registry.address());
    let known = Person::with_password(registry.address(), PASSWORD);
    let file = known.write("built.wasm", &version("1.0.0"));
    known.plugin(&format!("push {file} {tag}"));
    known.plugin(&format!("pull {tag}"));

    let nobody = Person::new();
    let wrong = Person::with_password(registry.address(), "another-secret");
    let elsewhere = Person::with_password("registry.example.com", PASSWORD);
    for (person, with) in [
        (&nobody, "with no credentials"),
        (&elsewhere, "with no credentials"),
        (&wrong, "with the credentials of `ana`"),
    ] {
        for command in [format!("pull {tag}"), format!("push {file} {tag}")] {
            let said = person.refused(1, &command);
            has!(said, "(401)", with, "docker login");
            lacks!(said, "secret");
        }
    }
    let broken = Person::new();
    broken.write("config.json", b"{");
    let said = broken.refused(1, &format!("pull {tag}"));
    has!(said, "the credentials for", "config.json: it is not JSON");
}

/// The manifest of a component, as `wkg` writes it.
fn manifest(layer: &[u8]) -> Vec<u8> {
    let config = json!({
        "created": "2026-03-02T12:15:30.250000123Z", "author": "Ana", "architecture": "wasm",
        "os": "wasip2", "layerDigests": [digest(layer)],
        "component": {"exports": ["leadhost:converter/guest@1.0.0"], "imports": [], "target": null},
    });
    let config = config.to_string().into_bytes();
    let part = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()});
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": part(CONFIG, &config),
        "layers": [part(LAYER, layer)],
        "annotations": {
            "org.opencontainers.image.version": "1.0.0",
            "org.opencontainers.image.title": "portal",
        },
    });
    manifest.to_string().into_bytes()
}

/// A registry that answers every request for a manifest with `manifest`, and every other one with
/// `part`.
struct Liar {
    address: String,
}

impl Liar {
    fn start(manifest: Vec<u8>, part: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // It ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let Some(Ok(head)) = lines.next() else {
                    continue;
                };
                let is_head = |line: &String| !line.is_empty();
                lines
                    .map_while(Result::ok)
                    .take_while(is_head)
                    .for_each(drop);
                let body = if head.contains("/manifests/") {
                    &manifest
                } else {
                    &part
                };
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {MANIFEST}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                // The client may have seen enough.
                let head = stream.write_all(answer.as_bytes());
                let _ = head.and_then(|()| stream.write_all(body));
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read(&mut [0]);
            }
        });
        Self { address }
    }
}

#[test]
fn other_bytes_than_those_of_the_digest_are_not_kept() {
    let person = Person::new();
    let wasm = version("1.0.0");
    let artifact = manifest(&wasm);
    let expected = digest(&artifact);
    let mut changed = wasm.clone();
    *changed.last_mut().unwrap() ^= 1;
    let mut longer = wasm.clone();
    longer.push(0);

    let of_other = Liar::start(manifest(&version("1.1.0")), wasm.clone());
    let pull = format!("pull oci://{}/portal@{expected}", of_other.address);
    let said = person.refused(1, &pull);
    has!(said, "other bytes than", &expected);

    let honest = Liar::start(artifact.clone(), wasm.clone());
    let address = honest.address;
    person.plugin(&format!("pull oci://{address}/honest@{expected}"));
    assert_eq!(std::fs::read(person.path("honest.wasm")).unwrap(), wasm);

    for (part, why) in [
        (changed, "other bytes than"),
        (longer, "has more bytes than the"),
    ] {
        let liar = Liar::start(artifact.clone(), part);
        let pull = format!("pull oci://{}/portal:1", liar.address);
        has!(person.refused(1, &pull), why);
        assert!(!person.folder.path().join("portal.wasm").exists());
    }
    let page = Liar::start(b"<html>".to_vec(), Vec::new());
    let pull = format!("pull oci://{}/portal:1", page.address);
    has!(person.refused(1, &pull), "is not a component");
}

async fn a_component_of_a_registry_is_activated_and_the_store_keeps_where_it_came_from(on: On) {
    let Some(registry) = Registry::open() else {
        return;
    };
    let person = Person::new();
    let data = tempfile::tempdir().unwrap();
    let _service = Service::start_on(&on, data.path(), &[]);
    let run = |arguments: &str| {
        let output = person.run(data.path(), arguments);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments}: {complaint}");
        (String::from_utf8(output.stdout).unwrap(), complaint)
    };
    let push = |number: &str, tag: &str| {
        let wasm = version(number);
        let file = person.write("built.wasm", &wasm);
        let to = format!("oci://{}/plugins/misbehave:{tag}", registry.address());
        let said = person.plugin(&format!("push {file} {to}"));
        (to, pinned(&said).to_owned(), Digest::compute(&wasm))
    };

    let (tag, first, digest) = push("1.0.0", "latest");
    let (said, note) = run(&format!("plugin publish {tag} --json"));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["digest"], json!(digest));
    has!(note, &format!("pulled {first}"));

    // The tag moves on; the digest does not.
    let (_, second, newer) = push("1.1.0", "latest");
    let by_digest = by_digest(&second);
    run(&format!("plugin test {tag} --on"));
    run(&format!("plugin publish {by_digest}"));
    let (list, _) = run("plugin list --json");
    let list: Value = serde_json::from_str(&list).unwrap();
    let versions = list["plugins"][0]["versions"].list();
    let origin = |digest: &Digest| {
        let one = versions.iter().find(|one| one["digest"] == json!(digest));
        one.unwrap()["origin"].text().to_owned()
    };
    assert_eq!(origin(&digest), first);
    assert_eq!(origin(&newer), by_digest);
    assert_eq!(list["plugins"][0]["digest"], json!(newer));
    let (table, _) = run("plugin list");
    has!(table, &first, &by_digest);

    // Bytes that are stored already keep their origin; the audit has each activation.
    run(&format!("plugin publish {first} --accept older"));
    let (audit, _) = run("audit --json");
    has!(audit, &first, &by_digest);

    let (_, third, _) = push("1.2.0", "next");
    run(&format!("plugin rollout start {third}"));
}
