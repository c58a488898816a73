//! The line of `curl` that sends a golden case of the project to the private service, with the proof
//! that the sender checks ask for.

use leadhost_golden::{Call, load_dir};

use crate::cli::plugin::body::BodyFormat;
use crate::cli::plugin::component_file::GOLDEN;
use crate::cli::prelude::*;
use crate::cli::serve::first_apply::fixed_header;
use leadhost_domain::exchange::{Encoding, Scheme, SenderCheck, SignedKind};
use leadhost_egress::seal::Secrets;

/// The case that is the sample if the project has it.
const FIRST: &str = "lead";

const CONTENT_TYPE: &str = "content-type";

/// A golden case that can be sent.
#[derive(Debug)]
pub struct CurlSample {
    body: PathBuf,
    method: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    /// The configuration for which it is written.
    pub config: Value,
}

impl CurlSample {
    /// Finds the first golden case with a body for this kind of plugin, or `lead`. `None` if there is
    /// none.
    pub fn find(folder: &Path, kind: PluginKind) -> Option<Self> {
        let wanted = match kind {
            PluginKind::Converter => Call::Convert,
            PluginKind::Adapter => Call::ReadWebhook,
        };
        let golden = folder.join(GOLDEN);
        let cases = load_dir(&golden).ok()?;
        let with_body = |case: &leadhost_golden::Case| {
            (case.call == wanted)
                .then(|| body_file(&golden.join(&case.name)))
                .flatten()
        };
        let mut found: Vec<_> = cases
            .into_iter()
            .filter_map(|case| Some((with_body(&case)?, case)))
            .collect();
        found.sort_by_key(|(_, case)| case.name != FIRST);
        let (body, case) = found.into_iter().next()?;
        let mut headers = case.delivery.headers;
        if !headers.iter().any(|(name, _)| name == CONTENT_TYPE)
            && let Ok(format) = BodyFormat::detect(&case.body)
        {
            headers.push((CONTENT_TYPE.to_owned(), format.content_type()));
        }
        Some(Self {
            body,
            method: case.delivery.method,
            query: case.delivery.query,
            headers,
            config: case.delivery.config,
        })
    }

    /// Returns the line that sends it to `url`, with the proofs of the checks that a line can have,
    /// and the checks that it cannot satisfy.
    pub fn curl<'a>(
        &self,
        url: &str,
        checks: &'a [SenderCheck],
        secrets: &Secrets,
    ) -> (String, Vec<&'a SenderCheck>) {
        let body = quoted(&self.body.to_string_lossy());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.query);
        let url = match query.finish() {
            none if none.is_empty() => url.to_owned(),
            query => format!("{url}?{query}"),
        };
        let mut line = format!("curl -sS {}", quoted(&url));
        if !matches!(self.method.as_str(), "" | "POST") {
            line += &format!(" -X {}", quoted(&self.method));
        }
        let (mut headers, mut unproven) = (Vec::new(), Vec::new());
        for check in checks {
            match header(check, secrets, &body) {
                Some(proof) => headers.push(proof),
                None => unproven.push(check),
            }
        }
        let proven = |name: &str| {
            checks
                .iter()
                .any(|one| one.proof.name.eq_ignore_ascii_case(name))
        };
        for (name, value) in self.headers.iter().filter(|(name, _)| !proven(name)) {
            line += &format!(" -H {}", quoted(&format!("{name}: {value}")));
        }
        for proof in headers {
            line += &format!(" -H {proof}");
        }
        line += &format!(" --data-binary @{body}");
        (line, unproven)
    }
}

/// Returns the header of a check as a word of a shell: a fixed one, or a signature of the body, which
/// the shell computes.
fn header(check: &SenderCheck, secrets: &Secrets, body: &str) -> Option<String> {
    if let Some((name, value)) = fixed_header(check, secrets) {
        return Some(quoted(&format!("{name}: {value}")));
    }
    let secret = secrets.get(&check.secret)?;
    let digest = match check.scheme {
        Scheme::HmacSha256 => "sha256",
        Scheme::HmacSha1 => "sha1",
        Scheme::Basic | Scheme::Bearer | Scheme::Equals => return None,
    };
    let is_of_body = check
        .signed
        .iter()
        .all(|part| part.kind == SignedKind::Body);
    if !check.proof.place.is_header() || !is_of_body {
        return None;
    }
    let sign = format!("openssl dgst -{digest} -hmac {}", quoted(secret));
    let sign = match check.encoding {
        Encoding::Hex => format!("{sign} {body} | sed 's/.* //'"),
        Encoding::Base64 => format!("{sign} -binary {body} | openssl base64 -A"),
        Encoding::Base64Url | Encoding::Plain => return None,
    };
    // The plugin says name and prefix: the shell may not read them.
    let begin = format!("{}: {}", check.proof.name, check.prefix);
    Some(format!("{}\"$({sign})\"", quoted(&begin)))
}

fn body_file(case: &Path) -> Option<PathBuf> {
    let text = std::fs::read(case.join("case.json")).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    Some(case.join(value["body"].as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{Place, ValueLocation};

    fn project(cases: &[(&str, Value)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, case) in cases {
            let case_folder = folder.path().join(GOLDEN).join(name);
            std::fs::create_dir_all(&case_folder).expect("a folder");
            std::fs::write(case_folder.join("case.json"), case.to_string()).expect("a file");
            std::fs::write(case_folder.join("body.json"), "{\"id\":1}").expect("a file");
        }
        folder
    }

    fn check(scheme: Scheme, proof: &str, encoding: Encoding) -> SenderCheck {
        SenderCheck {
            secret: "key".to_owned(),
            scheme,
            proof: ValueLocation {
                place: Place::Header,
                name: proof.to_owned(),
            },
            encoding,
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds: 0,
            signed: vec![],
        }
    }

    #[test]
    fn the_case_lead_is_sent_with_its_content_type_and_the_proofs() {
        let body = json!({"about": "x", "call": "convert", "body": "body.json"});
        let empty = json!({"about": "x", "call": "convert"});
        let cases = [("a", body.clone()), ("b", empty), ("lead", body)];
        let folder = project(&cases);
        let sample = CurlSample::find(folder.path(), PluginKind::Converter).expect("there is one");
        assert!(CurlSample::find(folder.path(), PluginKind::Adapter).is_none());
        let secrets: Secrets = [("key".to_owned(), "s3".to_owned())].into_iter().collect();
        let checks = [
            check(Scheme::Equals, "X-Token", Encoding::Hex),
            check(Scheme::HmacSha256, "X-Signature", Encoding::Hex),
            check(Scheme::HmacSha1, "X-Odd", Encoding::Plain),
        ];
        let (line, unproven) = sample.curl("http://127.0.0.1:1/x", &checks, &secrets);
        for part in [
            "curl -sS http://127.0.0.1:1/x -H 'content-type: application/json'",
            "-H 'X-Token: s3'",
            "-H 'X-Signature: '\"$(openssl dgst -sha256 -hmac s3 ",
            "golden/lead/body.json",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert_eq!(unproven, [&checks[2]]);
    }

    #[test]
    fn a_project_without_a_body_has_no_sample() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(CurlSample::find(folder.path(), PluginKind::Converter).is_none());
    }
}
