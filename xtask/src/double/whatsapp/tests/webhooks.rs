//! The way back: webhooks, their handshake, and the command lines.

use std::thread::JoinHandle;

use super::*;
use crate::double::channel::{Callback, Flush, Status, by_hand};
use crate::double::testing;
use crate::double::whatsapp::webhook::escaped;

fn callback(statuses: Vec<u16>) -> (Callback, JoinHandle<Vec<Request>>) {
    let (url, thread) = testing::callback(statuses);
    let callback = Callback::to(&format!("{url}/channel-webhook/7/token"));
    (callback, thread)
}

#[test]
fn nothing_is_lost_without_a_callback() {
    let double = double();
    double.queue(Status::new("a", "sent"));
    assert!(double.flush(Flush::default()).is_err());
    assert_eq!(double.pending(), 1);
}

#[test]
fn the_handshake_shows_the_token_and_wants_its_challenge_back() {
    let double = double();
    let (to, thread) = callback(vec![200, 403]);
    double.call_back(to);
    assert!(double.handshake(None).expect("an answer").0);
    let (right, answer) = double.handshake(Some("other")).expect("an answer");
    assert!(!right);
    assert_eq!(answer.status, 403);
    let requests = thread.join().expect("no panic");
    assert_eq!(
        requests[0].query("hub.verify_token"),
        Some("double-verify-token")
    );
    assert_eq!(requests[1].query("hub.verify_token"), Some("other"));
}

#[test]
fn json_is_escaped_as_the_provider_does() {
    let value = json!({"a": "é/\"\n"});
    assert_eq!(escaped(&value), r#"{"a":"\u00e9\/\"\n"}"#);
}

#[test]
fn a_double_run_by_hand_sends_statuses_and_obeys_commands() {
    let options = WhatsAppOptions::default();
    let listen = options.listen;
    let double = by_hand::start(listen, Cloud::new(options)).expect("a free port");
    let (to, thread) = callback(vec![200, 200, 200]);
    double.call_back(to);
    send(&double, &greeting("5511987650101"));
    let accepted = double.accepted()[0].at;
    let line = |command: &str, rest: &str| {
        post(&double, &format!("/double/{command}"), "", rest).expect("an answer")
    };
    let (status, said) = line("inbound", "5511987650101 Oi, tudo bem?");
    assert_eq!(status, 200, "{said}");
    let (status, said) = line("fail", "131056/400 2");
    assert_eq!((status, said.trim()), (200, "2 x 131056/400"));
    assert_eq!(
        code(&send(&double, &greeting("5511987650101"))),
        (400, 131_056)
    );
    assert_eq!(line("fail", "nonsense").0, 400);
    let (status, said) = line("template", "aviso pt_BR PAUSED");
    assert_eq!(status, 200, "{said}");
    assert!(said.contains("the callback answered 200"), "{said}");
    assert!(line("messages", "").1.contains("5511987650101"));
    let mut changes: Vec<Value> = thread
        .join()
        .expect("no panic")
        .iter()
        .map(|request| request.json().expect("JSON")["entry"][0]["changes"][0].clone())
        .collect();
    // On a busy machine the status of the message may come before that of the
    // template.
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
