//! The portal that sends leads of many people, to all hosts in turn. Every fifth person leaves no
//! phone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use xtask::double::http::Received;

use crate::client;
use crate::wait;

/// The name of a person's first lead at the portal. Those of later leads begin with it.
pub fn id(person: u64) -> String {
    format!("p-{person}")
}

pub fn person(id: &str) -> Option<u64> {
    id.split('-').nth(1)?.parse().ok()
}

/// Returns the digits of a person's phone after the 9. The last one is 0 for all people, so that
/// a phone with another last digit is nobody's.
fn digits(person: u64) -> Option<String> {
    (!person.is_multiple_of(5)).then(|| format!("{:08}", person * 10))
}

/// Returns what the service has to store for a person: phone, name, e-mail address and message.
pub fn values(person: u64) -> [Option<String>; 4] {
    [
        digits(person).map(|digits| format!("+55119{digits}")),
        Some(format!("Marina Teixeira {person}")),
        Some(format!("marina.{person}@example.com")),
        Some(format!("Ainda está disponível? Sou a cliente {person}.")),
    ]
}

pub fn body(person: u64, id: &str) -> Value {
    let [_, name, email, message] = values(person);
    let mut lead = json!({
        "id": id,
        "nome": name,
        "email": email,
        "imovel": "AP-0042",
        "mensagem": message,
    });
    if let Some((first, last)) = digits(person)
        .as_deref()
        .and_then(|all| all.split_at_checked(4))
    {
        lead["telefone"] = json!(format!("(11) 9{first}-{last}"));
    }
    lead
}

#[derive(Clone)]
pub struct Portal(Arc<PortalState>);

struct PortalState {
    gateways: Vec<String>,
    path: String,
    people: AtomicU64,
    sent: AtomicU64,
    refusals: Mutex<Vec<String>>,
}

impl Portal {
    /// Returns a portal that has sent nothing. `path` is the connection's.
    pub fn new(gateways: Vec<String>, path: String) -> Self {
        Self(Arc::new(PortalState {
            gateways,
            path,
            people: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            refusals: Mutex::default(),
        }))
    }

    pub fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::SeqCst)
    }

    /// Returns of how many people leads were sent so far.
    pub fn people(&self) -> u64 {
        self.0.people.load(Ordering::SeqCst)
    }

    pub fn refusals(&self) -> Vec<String> {
        let refusals = self.0.refusals.lock();
        refusals.expect("the lock is not poisoned").clone()
    }

    pub fn address(&self, number: u64) -> String {
        format!("http://{}{}", self.gateway(number), self.0.path)
    }

    fn gateway(&self, number: u64) -> &str {
        let hosts = self.0.gateways.len();
        let place = usize::try_from(number).unwrap_or_default() % hosts;
        &self.0.gateways[place]
    }

    /// Sends the first lead of the next person. Only one lead is under way at a time.
    pub fn send(&self) -> Option<Received> {
        let person = self.people() + 1;
        self.0.people.store(person, Ordering::SeqCst);
        self.post(person, &id(person))
    }

    pub fn send_first(&self, people: u64) {
        for _ in 0..people {
            self.send();
        }
    }

    pub fn send_again(&self, people: impl Iterator<Item = u64>) {
        for person in people {
            self.post(person, &format!("{}-{}", id(person), self.sent()));
        }
    }

    fn post(&self, person: u64, id: &str) -> Option<Received> {
        let number = self.sent() + 1;
        let headers = [("Content-Type", "application/json".to_owned())];
        let body = body(person, id).to_string();
        let (gateway, path) = (self.gateway(number), &self.0.path);
        let answer = client::send(gateway, "POST", path, &headers, &body);
        let refusal = match &answer {
            Ok(answer) if answer.status == 200 => None,
            Ok(answer) => Some(format!("{} {}", answer.status, answer.body)),
            Err(failure) => Some(failure.to_string()),
        };
        if let Some(why) = refusal {
            let mut refusals = self.0.refusals.lock().expect("the lock is not poisoned");
            refusals.push(format!("{id}: {why}"));
        }
        self.0.sent.store(number, Ordering::SeqCst);
        answer.ok()
    }

    /// Sends leads, about nine in a second, until the flow is stopped.
    pub fn flow(&self) -> Flow {
        let (portal, ends) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let ending = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !ending.load(Ordering::SeqCst) {
                portal.send();
                wait::pause();
            }
        });
        Flow {
            ends,
            thread: Some(thread),
        }
    }
}

/// Leads that arrive. They stop with this value, when the last one is answered.
pub struct Flow {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fifth_person_leaves_no_phone() {
        assert_eq!(values(17)[0].as_deref(), Some("+5511900000170"));
        assert_eq!(body(17, "p-17-9")["telefone"], "(11) 90000-0170");
        assert_eq!(person("p-17-9"), Some(17));
        assert_eq!(values(20)[0], None);
        assert!(body(20, "p-20")["telefone"].is_null());
    }
}
