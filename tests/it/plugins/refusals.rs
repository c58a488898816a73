//! Components that are refused before they can serve, and the messages.

use leadhost_golden::{Call, Case, Delivery, append_section, pack};
use leadhost_plugin::{CodeUse, LoadError, PreparedVersion, compile_component};
use leadhost_tests::guests;
use serde_json::{Value, json};

use super::Bench;

async fn refused(bytes: Vec<u8>) -> LoadError {
    refused_with(&[], bytes).await
}

async fn refused_with(overrides: &[(&str, &str)], bytes: Vec<u8>) -> LoadError {
    Bench::new(overrides)
        .plugins
        .prepare(bytes)
        .await
        .expect_err("it is refused")
}

#[tokio::test]
async fn bytes_that_are_no_component_are_refused_each_with_its_own_reason() {
    assert!(matches!(refused(Vec::new()).await, LoadError::Empty));
    let text = refused(b"not a component at all".to_vec()).await;
    assert!(matches!(text, LoadError::NotWasm));
    let module = refused(b"\0asm\x01\0\0\0".to_vec()).await;
    assert!(matches!(module, LoadError::CoreModule));
    let text = module.to_string();
    let mends = "`leadhost plugin pack FILE -o OUT` turns it into a component";
    assert!(text.contains(mends), "{text}");
    let large = refused_with(&[("component_mib", "1")], vec![0; (1 << 20) + 1]).await;
    assert!(matches!(
        large,
        LoadError::TooLarge {
            limit: 1_048_576,
            ..
        }
    ));
}

#[tokio::test]
async fn machine_code_is_refused_even_if_this_program_made_it() {
    let code = compile_component(CodeUse::Serving, &guests::misbehave(), None).unwrap();
    assert!(matches!(refused(code).await, LoadError::Precompiled));
}

#[tokio::test]
async fn a_truncated_component_is_refused() {
    let mut bytes = guests::misbehave();
    bytes.truncate(bytes.len() / 2);
    let error = refused(bytes).await;
    assert!(matches!(error, LoadError::Invalid(_)), "{error}");
}

#[tokio::test]
async fn another_version_of_the_contract_is_named_with_those_on_offer() {
    let error = refused(guests::exporting("leadhost:converter/converter@2.0.0")).await;
    let LoadError::Incompatible { wants, offered } = &error else {
        panic!("{error}");
    };
    assert_eq!(wants, "the contract leadhost:converter@2.0.0");
    assert_eq!(
        offered,
        &["leadhost:converter@1.0.0", "leadhost:adapter@1.0.0"]
    );
}

#[tokio::test]
async fn a_foreign_component_is_refused_with_the_contracts_it_could_have() {
    let error = refused(guests::exporting("example:other/api@1.0.0")).await;
    let text = error.to_string();
    assert!(text.contains("example:other/api@1.0.0"), "{text}");
    assert!(text.contains("leadhost:converter@1.0.0"), "{text}");
}

#[tokio::test]
async fn a_component_that_only_claims_the_contract_is_refused() {
    let error = refused(guests::exporting("leadhost:converter/converter@1.0.0")).await;
    assert!(matches!(error, LoadError::Mismatch { .. }), "{error}");
}

#[tokio::test]
async fn a_component_that_only_claims_the_adapters_contract_is_refused() {
    let error = refused(guests::exporting("leadhost:adapter/adapter@1.0.0")).await;
    assert!(matches!(error, LoadError::Mismatch { .. }), "{error}");
    assert!(
        error.to_string().contains("leadhost:adapter@1.0.0"),
        "{error}"
    );
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
    assert_eq!(
        contracts,
        &["leadhost:converter@1.0.0", "leadhost:adapter@1.0.0"]
    );
}

#[tokio::test]
async fn an_import_that_plugins_do_not_get_is_named() {
    let http = "wasi:http/outgoing-handler@0.2.0";
    let component = guests::importing(http, "leadhost:converter/converter@1.0.0");
    let error = refused(component).await;
    let LoadError::RefusedImport { imports } = &error else {
        panic!("{error}");
    };
    assert_eq!(imports, &[http]);
}

/// Code that walks nested instances is recursive, and a stack is finite.
#[tokio::test]
async fn instances_inside_each_other_are_not_imported() {
    for import in ["example:deep/types@1.0.0", "wasi:cli/environment@0.2.0"] {
        let error = refused(guests::importing_nested(import, 9)).await;
        let LoadError::RefusedImport { imports } = &error else {
            panic!("{error}");
        };
        assert_eq!(imports, &[import]);
    }
}

#[tokio::test]
async fn a_component_that_starts_with_too_much_memory_is_refused() {
    let error = refused_with(&[("memory_mib", "1")], guests::misbehave()).await;
    assert!(matches!(error, LoadError::NeedsTooMuch { .. }), "{error}");
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
    let prepare = async |cases: &[Case]| {
        let component =
            append_section(&guests::misbehave_adapter(), &pack(cases).unwrap()).unwrap();
        Bench::new(&[]).plugins.prepare(component).await
    };
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
    assert!(text.contains("3 of 3 golden cases"), "{text}");
    assert!(text.contains("routes: ok.0.1: expected"), "{text}");
    assert!(
        text.contains("`convert`, which an adapter does not have"),
        "{text}"
    );
}

async fn prepare_with(cases: &[Case]) -> Result<PreparedVersion, LoadError> {
    let component = append_section(&guests::misbehave(), &pack(cases).unwrap()).unwrap();
    Bench::new(&[]).plugins.prepare(component).await
}

#[tokio::test]
async fn a_golden_case_that_fails_refuses_the_version_with_the_difference() {
    let expect = json!({"err": {"message": "something else", "path": "here"}});
    let error = prepare_with(&[case(expect)]).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("1 of 1 golden cases"), "{text}");
    assert!(
        text.contains(r#"err.message: expected "something else", got "as asked""#),
        "{text}"
    );
    assert!(!text.contains('\n'), "a log shows one line: {text}");
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
    let prepared = prepare_with(&[described("misbehave", "77.0.0")]).await;
    assert_eq!(prepared.unwrap().golden, 1);
    let error = prepare_with(&[described("somebody-else", "77.0.0")])
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("ok.name"), "{text}");
    assert!(!text.contains("77.0.0"), "{text}");
}
