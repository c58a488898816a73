//! The cases that the SDKs of all languages share, in `sdk-guest/cases`.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    Content, Delivery, at, email, join, list, number, phone_with_codes, text, texts, time, yes,
};

fn cases(file: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
    let content = std::fs::read_to_string(format!("{folder}/{file}.json")).expect("the cases");
    serde_json::from_str(&content).expect("JSON")
}

fn each(cases: &Value) -> &[Value] {
    cases.as_array().expect("a list").as_slice()
}

fn string(case: &Value, name: &str) -> Option<String> {
    case[name].as_str().map(str::to_owned)
}

fn tree(text: &Value) -> Value {
    crate::parse_json(text.as_str().expect("a text")).expect("JSON")
}

fn delivery(case: &Value) -> Delivery {
    let body = match (case["body"].as_str(), case["base64"].as_str()) {
        (Some(text), _) => Content::Text(text.to_owned()),
        (None, Some(encoded)) => Content::Bytes(STANDARD.decode(encoded).expect("base64")),
        (None, None) => panic!("{case}: no body"),
    };
    let pair = |pair: &Value| (string_at(pair, 0), string_at(pair, 1));
    Delivery {
        id: "1".to_owned(),
        received_at: "2026-01-01T12:00:00Z".to_owned(),
        method: "POST".to_owned(),
        path: "/".to_owned(),
        query: case["query"]
            .as_array()
            .into_iter()
            .flatten()
            .map(pair)
            .collect(),
        headers: vec![(
            "content-type".to_owned(),
            string(case, "contentType").unwrap_or_default(),
        )],
        body,
        config: "{}".to_owned(),
        context: Vec::new(),
    }
}

fn string_at(pair: &Value, index: usize) -> String {
    pair[index].as_str().expect("a text").to_owned()
}

#[test]
fn bodies_become_trees() {
    for case in each(&cases("bodies")) {
        match (delivery(case).tree(), case["problem"].as_str()) {
            (Ok(read), None) => assert_eq!(read, tree(&case["tree"]), "{case}"),
            (Err(problem), Some(begin)) => {
                assert!(
                    problem.message.starts_with(begin),
                    "{case}: {}",
                    problem.message
                );
            }
            (read, _) => panic!("{case}: {read:?}"),
        }
    }
}

#[test]
fn paths_lead_to_values() {
    let all = cases("paths");
    let root = tree(&all["tree"]);
    for case in each(&all["cases"]) {
        let path = case["path"].as_str().expect("a path");
        assert_eq!(text(&root, path), string(case, "text"), "{case}");
        assert_eq!(number(&root, path), number_in(case), "{case}");
        if let Some(expect) = case.get("at") {
            assert_eq!(at(&root, path), Some(&tree(expect)), "{case}");
        }
        if let Some(expect) = case.get("texts") {
            assert_eq!(serde_json::json!(texts(&root, path)), *expect, "{case}");
        }
        if let Some(expect) = case.get("list") {
            let found: Vec<Value> = list(&root, path).into_iter().cloned().collect();
            assert_eq!(Value::Array(found), tree(expect), "{case}");
        }
    }
}

fn number_in(case: &Value) -> Option<f64> {
    case.get("number")
        .map(|number| number.as_f64().expect("a number"))
}

#[test]
fn values_are_read_as_sources_write_them() {
    let all = cases("values");
    for case in each(&all["phone"]) {
        let [number, area, country] = ["text", "area", "country"].map(|name| string(case, name));
        let came = phone_with_codes(number, area, country);
        assert_eq!(came, string(case, "phone"), "{case}");
    }
    for case in each(&all["email"]) {
        assert_eq!(email(string(case, "text")), string(case, "email"), "{case}");
    }
    for case in each(&all["time"]) {
        assert_eq!(time(string(case, "text")), string(case, "time"), "{case}");
    }
    for case in each(&all["yes"]) {
        assert_eq!(
            Some(yes(string(case, "text"))),
            case["yes"].as_bool(),
            "{case}"
        );
    }
    for case in each(&all["number"]) {
        assert_eq!(number(&case["text"], ""), number_in(case), "{case}");
    }
    for case in each(&all["join"]) {
        let text = |index: usize| case["texts"][index].as_str().map(str::to_owned);
        assert_eq!(join([text(0), text(1)]), string(case, "join"), "{case}");
    }
}
