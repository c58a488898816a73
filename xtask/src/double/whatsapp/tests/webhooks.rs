//! The way back: webhooks and the command lines.

use super::*;
use crate::double::channel::{Callback, Flush, Status, by_hand};
use crate::double::testing;
use crate::double::whatsapp::webhook::escaped;

#[test]
fn nothing_is_lost_without_a_callback() {
    let double = double();
    double.queue(Status::new("a", "sent"));
    assert!(double.flush(Flush::default()).is_err());
    assert_eq!(double.pending(), 1);
}

#[test]
fn json_is_escaped_as_the_provider_does() {
    let value = json!({"a": "é/\"\n"});
    assert_eq!(escaped(&value), r#"{"a":"\u00e9\/\"\n"}"#);
}

#[test]
fn a_double_run_by_hand_sends_statuses_and_obeys_commands() {
    let listen = "127.0.0.1:0".parse().expect("an address");
    let double = by_hand::start(listen, Cloud::default()).expect("a free port");
    let (url, thread) = testing::callback(3);
    double.call_back(Callback::to(&url));
    send(&double, &greeting("5511987650101"));
    let accepted = double.accepted()[0].at;
    let line = |line: &str| by_hand::command(&double, line);
    assert!(line("inbound 5511987650101 Oi, tudo bem?").is_ok());
    assert_eq!(line("fail 131056 2").as_deref(), Ok("2 x 131056"));
    let refused = send(&double, &greeting("5511987650101"));
    assert_eq!(code(&refused), (429, 131_056));
    assert!(line("fail nonsense").is_err());
    let said = line("template aviso pt_BR PAUSED").expect("it is there");
    assert!(said.contains("the callback answered 200"), "{said}");
    let listed = line("messages").expect("a list");
    assert!(listed.contains("5511987650101"), "{listed}");
    let mut changes: Vec<Value> = thread
        .join()
        .expect("no panic")
        .iter()
        .map(|request| request.json().expect("JSON")["entry"][0]["changes"][0].clone())
        .collect();
    // On a busy machine the status of the message may come before the template's.
    changes[1..].sort_by_key(|change| change["field"] == "messages");
    let messages = &changes[0]["value"]["messages"];
    assert_eq!(messages[0]["text"]["body"], "Oi, tudo bem?");
    assert_eq!(changes[1]["field"], "message_template_status_update");
    let template = &changes[1]["value"];
    assert_eq!(template["message_template_name"], "aviso");
    assert_eq!(template["event"], "PAUSED");
    let statuses = &changes[2]["value"]["statuses"];
    assert_eq!(statuses[0]["status"], "sent");
    // A message has no status before it was accepted.
    assert_eq!(statuses[0]["timestamp"], (accepted + 1).to_string());
}
