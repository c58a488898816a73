//! The portal that sends leads, to all hosts in turn. Every fifth lead leaves no phone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::client::{ClientAnswer, ClientRequest};
use crate::run;

/// The name of the lead with this number at the portal.
pub fn id(number: u64) -> String {
    format!("p-{number}")
}

/// Returns the phone that the service has to store for a lead.
pub fn phone(number: u64) -> Option<String> {
    (!number.is_multiple_of(5)).then(|| format!("+55119{number:08}"))
}

/// Returns the body of a lead's request.
pub fn body(number: u64) -> Value {
    let mut lead = json!({
        "id": id(number),
        "nome": format!("Marina Teixeira {number}"),
        "email": format!("marina.{number}@example.com"),
        "imovel": "AP-0042",
        "mensagem": "Ainda está disponível?",
    });
    if phone(number).is_some() {
        let (first, last) = (number / 10_000, number % 10_000);
        lead["telefone"] = json!(format!("(11) 9{first:04}-{last:04}"));
    }
    lead
}

#[derive(Clone)]
pub struct Portal(Arc<PortalState>);

struct PortalState {
    gateways: Vec<String>,
    path: String,
    sent: AtomicU64,
    refusals: Mutex<Vec<String>>,
}

impl Portal {
    /// Returns a portal that has sent nothing. `path` is that of the connection.
    pub fn new(gateways: Vec<String>, path: String) -> Self {
        Self(Arc::new(PortalState {
            gateways,
            path,
            sent: AtomicU64::new(0),
            refusals: Mutex::default(),
        }))
    }

    /// Returns how many leads were sent so far, and answered.
    pub fn sent(&self) -> u64 {
        self.0.sent.load(Ordering::SeqCst)
    }

    /// Returns the leads that were not accepted, with the reason.
    pub fn refusals(&self) -> Vec<String> {
        let refusals = self.0.refusals.lock();
        refusals.expect("the lock is not poisoned").clone()
    }

    /// Returns the address to which this lead is sent.
    pub fn address(&self, number: u64) -> String {
        format!("http://{}{}", self.gateway(number), self.0.path)
    }

    fn gateway(&self, number: u64) -> &str {
        let hosts = self.0.gateways.len();
        let place = usize::try_from(number).unwrap_or_default() % hosts;
        &self.0.gateways[place]
    }

    /// Sends the next lead. Only one is under way at a time.
    pub fn send(&self) -> Option<ClientAnswer> {
        let number = self.sent() + 1;
        let body = body(number).to_string();
        let request = ClientRequest {
            address: self.gateway(number),
            method: "POST",
            path: &self.0.path,
            headers: &[("Content-Type", "application/json".to_owned())],
            body: body.as_bytes(),
        };
        let answer = request.send();
        let refusal = match &answer {
            Ok(answer) if answer.status == 200 => None,
            Ok(answer) => Some(format!("{} {}", answer.status, answer.body)),
            Err(failure) => Some(failure.to_string()),
        };
        if let Some(why) = refusal {
            let mut refusals = self.0.refusals.lock().expect("the lock is not poisoned");
            refusals.push(format!("{}: {why}", id(number)));
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
                run::pause();
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
    fn every_fifth_lead_leaves_no_phone() {
        assert_eq!(phone(17).as_deref(), Some("+5511900000017"));
        assert_eq!(body(17)["telefone"], "(11) 90000-0017");
        assert_eq!(phone(20), None);
        assert!(body(20)["telefone"].is_null());
    }
}
