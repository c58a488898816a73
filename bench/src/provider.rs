//! A minimal provider for a channel: it answers each message of WhatsApp's Cloud API
//! with an id, at once or after a pause, and counts. Its own cost should not be
//! attributed to the service, so it reads a request only to find its end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::Failure;
use crate::http::read_head;

pub struct Provider {
    pub address: SocketAddr,
    taken: Arc<AtomicU64>,
}

impl Provider {
    /// Listens on a free port of loopback until the program ends; answers after `pause`.
    pub fn start(pause: Duration) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&taken);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                // The task ends with its connection.
                std::thread::spawn(move || serve(stream, pause, &counted));
            }
        });
        Ok(Self { address, taken })
    }

    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

pub fn message_id(number: u64) -> String {
    format!("wamid.bench{number:012}")
}

fn serve(mut stream: TcpStream, pause: Duration, taken: &AtomicU64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let Some(length) = request_length(&received) else {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            received.extend_from_slice(&buffer[..read]);
            continue;
        };
        received.drain(..length);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        let number = taken.fetch_add(1, Ordering::Relaxed) + 1;
        let body = format!(
            r#"{{"messaging_product":"whatsapp","contacts":[],"messages":[{{"id":"{}"}}]}}"#,
            message_id(number)
        );
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}

/// The length of the first request, once it is complete.
fn request_length(received: &[u8]) -> Option<usize> {
    let head = read_head(received)?;
    let whole = head.body + head.length.unwrap_or(0);
    (received.len() >= whole).then_some(whole)
}
