//! Replies of a plugin to strangers: no secrets, whatever it asks for, and no
//! page that a browser would run.

use leadhost_tests::host_actions::signature;
use leadhost_tests::{Answer, Declared, Host, On, fields, guests, has, lacks};

leadhost_tests::on_every_store! {
    a_handshake_reveals_no_secret,
    a_handshake_signs_a_challenge_and_nothing_else,
    a_challenge_that_could_be_a_delivery_is_not_signed,
    an_operator_may_allow_a_reply_to_reveal_a_secret,
    a_lead_is_converted_although_its_reply_may_not_go_out,
    a_check_without_its_secret_warns_that_anyone_may_send,
    a_secret_counts_as_used_if_the_plugin_checks_senders_with_it,
}

const CHALLENGE: &str = "890e4665-4dfe-4ab1-b689-ed553bceeed0";

/// Connections of the misbehaving converter, one for each word: senders sign
/// with `key`, and send `password` as it is.
fn connections(words: &[&str], more: &str) -> String {
    words
        .iter()
        .map(|word| {
            format!(
                r#"
[[connections]]
name = "{word}"
partner = "acme"
plugin = "misbehave"
config = {{ do = "{word}" }}
secrets = {{ key = "made-up-key", password = "made-up-word", url-key = "made-up-other" }}
{more}
[[connections.checks]]
secret = "key"
scheme = "hmac-sha256"
proof = {{ place = "header", name = "x-signature" }}
encoding = "hex"
[[connections.checks]]
secret = "password"
scheme = "equals"
proof = {{ place = "header", name = "x-password" }}
[[connections.checks]]
secret = "url-key"
scheme = "hmac-sha256"
proof = {{ place = "header", name = "x-form" }}
encoding = "hex"
signed = [{{ kind = "sorted-form" }}]
"#
            )
        })
        .collect()
}

async fn host(on: On, words: &[&str], more: &str) -> (Host, Declared) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&connections(words, more)).await;
    (host, declared)
}

async fn shake(host: &Host, declared: &Declared, word: &str, query: &str) -> Answer {
    let address = declared.address(word);
    host.get(&format!("{address}?{query}")).send().await
}

async fn a_handshake_reveals_no_secret(on: On) {
    let words = ["tell", "tell-basic", "sign-a-secret", "page"];
    let (host, declared) = host(on, &words, "").await;
    for word in words {
        for of in ["key", "password", "password/alias", "key/alias"] {
            let answer = shake(&host, &declared, word, &format!("of={of}&text=x")).await;
            let answer = answer.expect(403);
            lacks!(answer, "made-up", "bWFkZS11cC13b3Jk", "script"; "{word} of {of}");
            assert!(
                answer
                    .header("content-type")
                    .starts_with("application/json")
            );
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
        }
    }
}

async fn a_handshake_signs_a_challenge_and_nothing_else(on: On) {
    let (host, declared) = host(on, &["sign", "sign-another-text"], "").await;
    let query = format!("challengeCode=1&text={CHALLENGE}");
    let answer = shake(&host, &declared, "sign", &query).await.expect(200);
    let signed = signature("made-up-key", CHALLENGE.as_bytes());
    assert_eq!(answer.json()["signed"], signed);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");

    let long = "a".repeat(129);
    for text in [
        "%7B%22name%22%3A%22Eve%22%7D",
        "name%3DEve%26phone%3D11",
        "https%3A%2F%2Fhost%2Fpath",
        "a%20b",
        "",
        &long,
    ] {
        let query = format!("text={text}");
        shake(&host, &declared, "sign", &query).await.expect(403);
    }
    // Not with a secret that senders send as it is, whatever its name.
    for of in ["password", "password/alias"] {
        let query = format!("of={of}&text={CHALLENGE}");
        shake(&host, &declared, "sign", &query).await.expect(403);
    }
    let another = shake(&host, &declared, "sign-another-text", "text=x").await;
    another.expect(403);
}

async fn a_challenge_that_could_be_a_delivery_is_not_signed(on: On) {
    let (host, declared) = host(on, &["sign"], "").await;
    let query = "of=url-key&text=nameEvephone11999990000";
    shake(&host, &declared, "sign", query).await.expect(403);
}

async fn an_operator_may_allow_a_reply_to_reveal_a_secret(on: On) {
    let more = r#"reply_secrets = ["password"]"#;
    let (host, declared) = host(on, &["tell"], more).await;
    let answer = shake(&host, &declared, "tell", "of=password").await;
    assert_eq!(answer.expect(200).text(), "it is made-up-word");
    shake(&host, &declared, "tell", "of=key").await.expect(403);

    let key = host.admin_key().await;
    let list = host.admin("GET", "/admin/v1/connections").bearer(&key);
    let list = list.send().await.expect(200).json();
    let shown = &list["connections"][0];
    fields!(shown, {"replySecrets": serde_json::json!(["password"]), "senders": "checked"});

    let wrong = connections(&["tell"], r#"reply_secrets = ["passwort"]"#);
    let refused = host.try_declare(&wrong).await.err().expect("refused");
    let refused = refused.to_string();
    has!(
        refused,
        "connections[0].reply_secrets[0]: `passwort` is not among the secrets"
    );
}

async fn a_lead_is_converted_although_its_reply_may_not_go_out(on: On) {
    let words = ["tell", "page"];
    let (host, declared) = host(on, &words, "").await;
    for word in words {
        let body = r#"{"n":1}"#;
        let ask = host
            .post(&declared.address(word))
            .header("x-signature", &signature("made-up-key", body.as_bytes()))
            .header("x-password", "made-up-word")
            .header("x-form", &signature("made-up-other", br#"{"n":1}"#))
            .body(body);
        let answer = ask.send().await.expect(200);
        assert_eq!(answer.json()["status"], "converted", "{word}");
        lacks!(answer, "made-up");
    }
}

async fn a_check_without_its_secret_warns_that_anyone_may_send(on: On) {
    let host = Host::working(on).await;
    host.activate("converter-grupo-olx").await;
    let portal =
        "\n[[connections]]\nname = \"portal\"\npartner = \"acme\"\nplugin = \"grupo-olx\"\n";
    let declared = host.declare(portal).await;
    let [warning] = &declared.report.warnings[..] else {
        panic!("{:?}", declared.report.warnings);
    };
    assert_eq!(warning.path, "connections[0].secrets");
    has!(
        warning.message,
        "accepts leads from every sender",
        "the secret `basic`, which is missing"
    );
    let key = host.admin_key().await;
    let senders = async || {
        let list = host.admin("GET", "/admin/v1/connections").bearer(&key);
        let list = list.send().await.expect(200).json();
        list["connections"][0]["senders"].clone()
    };
    assert_eq!(senders().await, "anybody");

    let closed = format!("{portal}secrets = {{ basic = \"portal:made-up-word\" }}\n");
    let declared = host.declare(&closed).await;
    assert!(declared.report.warnings.is_empty());
    assert_eq!(senders().await, "checked");
}

async fn a_secret_counts_as_used_if_the_plugin_checks_senders_with_it(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let with = |secrets: &str| {
        format!(
            "\n[[connections]]\nname = \"signed\"\npartner = \"acme\"\nplugin = \"misbehave\"\nsecrets = {{ {secrets} }}\n"
        )
    };
    let warned = host.declare(&with("")).await.report.warnings;
    has!(warned[0].message, "only with the secret `key`"; "{warned:?}");
    let declared = host.declare(&with("key = \"made-up-key\"")).await;
    assert!(declared.report.warnings.is_empty());

    let unused = with("key = \"made-up-key\", kye = \"made-up-key\"");
    let refused = host.try_declare(&unused).await.err().expect("refused");
    let refused = refused.to_string();
    has!(
        refused,
        "a problem: connections[0].secrets.kye: neither the plugin nor"
    );
}
