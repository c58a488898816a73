//! Clients that send while a version is swapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leadhost_tests::{Answer, Ask, eventually};
use tokio::task::JoinHandle;

pub struct Traffic {
    swapped: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<(bool, Answer)>>>,
}

impl Traffic {
    /// Starts a client for each request, which repeats it, and waits until one has three answers.
    pub async fn start(asks: impl Iterator<Item = Ask>) -> Self {
        let swapped = Arc::new(AtomicBool::new(false));
        let enough = Arc::new(AtomicBool::new(false));
        let clients = asks.map(|ask| {
            let (swapped, enough) = (Arc::clone(&swapped), Arc::clone(&enough));
            tokio::spawn(async move {
                let mut answers = Vec::new();
                let mut after = 0;
                while after < 3 {
                    let is_after = swapped.load(Ordering::SeqCst);
                    let answer = ask.clone().send().await;
                    after += u32::from(is_after);
                    answers.push((is_after, answer));
                    if answers.len() >= 3 {
                        enough.store(true, Ordering::SeqCst);
                    }
                }
                answers
            })
        });
        let clients = clients.collect();
        eventually("traffic", async || enough.load(Ordering::SeqCst)).await;
        Self { swapped, clients }
    }

    /// Ends it after the swap, once each client has sent three more. Returns all answers, each with
    /// whether its request began after the swap.
    pub async fn end(self) -> Vec<(bool, Answer)> {
        self.swapped.store(true, Ordering::SeqCst);
        let mut answers = Vec::new();
        for client in self.clients {
            answers.extend(client.await.unwrap());
        }
        answers
    }
}
