//! Components that are refused before they can serve, and the messages.

use leadhost_golden::{Call, Case, Delivery, append_section, pack};
use leadhost_plugin::{CodeUse, LoadError, PreparedVersion, compile_component};
use leadhost_tests::{guests, has, lacks};
use serde_json::{Value, json};

use super::Bench;

const CONTRACTS: [&str; 2] = ["leadhost:converter@1.0.0", "leadhost:adapter@1.0.0"];

async fn refused(bytes: Vec<u8>) -> LoadError {
    Bench::new(&[]).refused(bytes).await
}

#[tokio::test]
async fn what_cannot_serve_is_refused_each_with_its_own_reason() {
    let made = compile_component(CodeUse::Serving, &guests::misbehave(), None).unwrap();
    let misbehave = guests::misbehave();
    let cut = misbehave[..misbehave.len() / 2].to_vec();
    let claims = ["leadhost:converter/converter", "leadhost:adapter/adapter"]
        .map(|contract| guests::exporting(&format!("{contract}@1.0.0")));
    let [converter, adapter] = claims;
    type Check = fn(&LoadError) -> bool;
    let cases: [(&str, Vec<u8>, Check, &str); 7] = [
        (
            "nothing",
            Vec::new(),
            |error| matches!(error, LoadError::Empty),
            "",
        ),
        (
            "a text",
            b"not a component at all".to_vec(),
            |error| matches!(error, LoadError::NotWasm),
            "",
        ),
        (
            "a core module",
            b"\0asm\x01\0\0\0".to_vec(),
            |error| matches!(error, LoadError::CoreModule),
            "`leadhost plugin publish FILE -o OUT` turns it into a component",
        ),
        // Even if this program made it.
        (
            "machine code",
            made,
            |error| matches!(error, LoadError::Precompiled),
            "",
        ),
        (
            "half of one",
            cut,
            |error| matches!(error, LoadError::Invalid(_)),
            "",
        ),
        (
            "a converter that only claims to be one",
            converter,
            |error| matches!(error, LoadError::Mismatch { .. }),
            "leadhost:converter@1.0.0",
        ),
        (
            "an adapter that only claims to be one",
            adapter,
            |error| matches!(error, LoadError::Mismatch { .. }),
            "leadhost:adapter@1.0.0",
        ),
    ];
    let bench = Bench::new(&[]);
    for (what, bytes, is_it, says) in cases {
        let error = bench.refused(bytes).await;
        assert!(is_it(&error), "{what}: {error}");
        has!(error.to_string(), says; "{what}");
    }
}

#[tokio::test]
async fn a_component_past_a_limit_is_refused() {
    let small = Bench::new(&[("component_mib", "1")]);
    let error = small.refused(vec![0; (1 << 20) + 1]).await;
    let expected = matches!(
        error,
        LoadError::TooLarge {
            limit: 1_048_576,
            ..
        }
    );
    assert!(expected, "{error}");
    let little = Bench::new(&[("memory_mib", "1")]);
    let error = little.refused(guests::misbehave()).await;
    assert!(matches!(error, LoadError::NeedsTooMuch { .. }), "{error}");
}

#[tokio::test]
async fn another_version_of_the_contract_is_named_with_those_on_offer() {
    let error = refused(guests::exporting("leadhost:converter/converter@2.0.0")).await;
    let LoadError::Incompatible { wants, offered } = &error else {
        panic!("{error}");
    };
    assert_eq!(wants, "the contract leadhost:converter@2.0.0");
    assert_eq!(offered, &CONTRACTS);
}

#[tokio::test]
async fn a_foreign_component_is_refused_with_the_contracts_it_could_have() {
    let error = refused(guests::exporting("example:other/api@1.0.0")).await;
    let text = error.to_string();
    has!(text, "example:other/api@1.0.0", "leadhost:converter@1.0.0");
}

#[tokio::test]
async fn a_component_that_claims_to_be_of_both_kinds_is_refused() {
    let both = [
        "leadhost:adapter/adapter@1.0.0",
        "leadhost:converter/converter@1.0.0",
    ];
    let error = refused(guests::exporting_all(&both)).await;
    let LoadError::SeveralKinds { contracts } = &error else {
        panic!("{error}");
    };
    assert_eq!(contracts, &CONTRACTS);
}

#[tokio::test]
async fn an_import_that_plugins_do_not_get_is_named() {
    let http = "wasi:http/outgoing-handler@0.2.0";
    let mut cases = vec![(
        http,
        guests::importing(http, "leadhost:converter/converter@1.0.0"),
    )];
    // Code that walks nested instances is recursive, and a stack is finite.
    for nested in ["example:deep/types@1.0.0", "wasi:cli/environment@0.2.0"] {
        cases.push((nested, guests::importing_nested(nested, 9)));
    }
    for (import, component) in cases {
        let error = refused(component).await;
        let LoadError::RefusedImport { imports } = &error else {
            panic!("{import}: {error}");
        };
        assert_eq!(imports, &[import]);
    }
}

// ---- golden cases

fn case(expect: Value) -> Case {
    Case {
        delivery: Delivery {
            config: json!({"do": "refuse"}),
            ..Delivery::default()
        },
        expect: Some(expect),
        ..Case::new("refuses", Call::Convert)
    }
}

/// A golden case of an adapter with this name and call.
fn adapters(name: &str, call: Call, expect: Value) -> Case {
    Case {
        expect: Some(expect),
        ..Case::new(name, call)
    }
}

#[tokio::test]
async fn golden_cases_of_an_adapter_are_called_and_hold_or_refuse_it() {
    let checks = json!({"ok": {"carriedSecrets": [], "checks": [{
        "secret": "key", "scheme": "hmac-sha256", "encoding": "hex", "prefix": "",
        "proof": {"place": "header", "name": "x-signature"}, "signed": [],
        "timestampHeader": "", "toleranceSeconds": 0,
    }]}});
    let template = json!({
        "name": "welcome", "language": "pt_BR", "status": "approved", "category": "",
        "reason": "", "text": "Olá {{1}}", "placeholders": [], "components": [],
    });
    let page = json!({"templates": [template], "next": null});
    let accepted = json!({"ok": {"accepted": {
        "attributes": [], "externalIds": [""], "recipientId": "+5511900000001", "status": "200",
    }}});
    let webhook = json!({"ok": {
        "events": [
            {"attributes": [], "route": [], "body": {"status": {
                "externalId": "", "messageId": null, "status": "delivered",
                "occurredAt": null, "recipientId": null, "errors": [],
            }}},
            {"attributes": [], "route": [], "body": {"other": "2026-03-02T12:00:00.000000Z"}},
        ],
        "reply": null, "notes": ["read"],
    }});
    let cases = [
        adapters("checks", Call::SenderChecks, checks),
        adapters(
            "routes",
            Call::Routes,
            json!({"ok": [["number", "1"], ["account", "2"]]}),
        ),
        adapters("answer", Call::ReadAnswer, accepted),
        adapters("webhook", Call::ReadWebhook, webhook),
        adapters(
            "list",
            Call::ListTemplates,
            json!({"ok": {"page": page.clone()}}),
        ),
        adapters("page", Call::ReadTemplates, json!({"ok": page})),
    ];
    let prepare = async |cases: &[Case]| prepare_with(guests::misbehave_adapter(), cases).await;
    assert_eq!(prepare(&cases).await.unwrap().golden, 6);

    let failing = [
        adapters("routes", Call::Routes, json!({"ok": [["number", "7"]]})),
        adapters(
            "send",
            Call::Send,
            json!({"ok": {"answer": {"unknown": ""}}}),
        ),
        adapters("convert", Call::Convert, json!({"ok": {}})),
    ];
    let text = prepare(&failing).await.unwrap_err().to_string();
    has!(text, "3 of 3 golden cases", "routes: ok.number: expected");
    has!(text, "`convert`, which an adapter does not have");
}

async fn prepare_with(component: Vec<u8>, cases: &[Case]) -> Result<PreparedVersion, LoadError> {
    let component = append_section(&component, &pack(cases).unwrap()).unwrap();
    Bench::new(&[]).plugins.prepare(component).await
}

#[tokio::test]
async fn a_golden_case_that_fails_refuses_the_version_with_the_difference() {
    let expect = json!({"err": {"message": "something else", "path": "here"}});
    let error = prepare_with(guests::misbehave(), &[case(expect)]).await;
    let error = error.unwrap_err();
    let text = error.to_string();
    has!(
        text,
        "1 of 1 golden cases",
        r#"err.message: expected "something else", got "as asked""#
    );
    lacks!(text, '\n'; "a log shows one line");
}

#[tokio::test]
async fn a_golden_case_of_the_description_holds_for_every_version() {
    let described = |name: &str, version: &str| Case {
        call: Call::Describe,
        ..case(json!({"ok": {
            "name": name, "version": version, "summary": "Does what its configuration says",
            "configSchema": {
                "type": "object",
                "properties": {
                    "do": {"type": "string"},
                    "size": {"type": "integer", "minimum": 0}
                },
                "additionalProperties": false
            },
            "secrets": [], "hosts": [],
        }}))
    };
    let prepare = async |name: &str| {
        let case = described(name, "77.0.0");
        prepare_with(guests::misbehave(), &[case]).await
    };
    assert_eq!(prepare("misbehave").await.unwrap().golden, 1);
    let error = prepare("somebody-else").await.unwrap_err();
    let text = error.to_string();
    has!(text, "ok.name");
    lacks!(text, "77.0.0");
}
