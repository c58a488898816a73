//! What is refused before it can serve, and in which words.

use leadhost::plugin::{LoadError, Prepared, compile_component};
use leadhost_golden::{Call, Case, Completion, Delivery, append_section, pack};
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
async fn bytes_that_are_no_component_are_refused_each_in_its_own_words() {
    assert!(matches!(refused(Vec::new()).await, LoadError::Empty));
    let text = refused(b"not a component at all".to_vec()).await;
    assert!(matches!(text, LoadError::NotWasm));
    let module = refused(b"\0asm\x01\0\0\0".to_vec()).await;
    assert!(matches!(module, LoadError::CoreModule));
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
async fn machine_code_is_refused_even_where_this_program_made_it() {
    let code = compile_component(&guests::misbehave()).unwrap();
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
    assert_eq!(wants, "leadhost:converter@2.0.0");
    assert_eq!(offered, &["leadhost:converter@1.0.0"]);
}

#[tokio::test]
async fn a_component_of_somebody_else_is_told_what_it_would_have_to_be() {
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
async fn an_import_that_plugins_do_not_get_is_named() {
    let http = "wasi:http/outgoing-handler@0.2.0";
    let component = guests::importing(http, "leadhost:converter/converter@1.0.0");
    let error = refused(component).await;
    let LoadError::RefusedImport { imports } = &error else {
        panic!("{error}");
    };
    assert_eq!(imports, &[http]);
}

#[tokio::test]
async fn a_component_that_starts_with_too_much_memory_is_refused() {
    let error = refused_with(&[("memory_mib", "1")], guests::misbehave()).await;
    assert!(matches!(error, LoadError::NeedsTooMuch { .. }), "{error}");
}

// ---- golden cases

fn case(expect: Value) -> Case {
    Case {
        name: "refuses".to_owned(),
        about: "It refuses as asked".to_owned(),
        call: Call::Convert,
        delivery: Delivery {
            config: json!({"do": "refuse"}),
            ..Delivery::default()
        },
        body: Vec::new(),
        completion: Completion::default(),
        expect: Some(expect),
    }
}

async fn prepare_with(cases: &[Case]) -> Result<Prepared, LoadError> {
    let component = append_section(&guests::misbehave(), &pack(cases).unwrap()).unwrap();
    Bench::new(&[]).plugins.prepare(component).await
}

#[tokio::test]
async fn golden_cases_that_hold_are_counted() {
    let expect = json!({"err": {"message": "as asked", "path": "here"}});
    let prepared = prepare_with(&[case(expect)]).await.unwrap();
    assert_eq!(prepared.golden, 1);
}

#[tokio::test]
async fn a_golden_case_that_fails_refuses_the_version_with_the_difference() {
    let expect = json!({"err": {"message": "something else", "path": "here"}});
    let error = prepare_with(&[case(expect)]).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("1 of 1 golden cases"), "{text}");
    assert!(
        text.contains(r#"err.message: expected "something else", came "as asked""#),
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

#[tokio::test]
async fn damaged_golden_cases_refuse_the_version() {
    let component = append_section(&guests::misbehave(), b"not a packed case").unwrap();
    let error = refused(component).await;
    assert!(matches!(error, LoadError::GoldenSection(_)), "{error}");
}
