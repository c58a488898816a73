//! The double of the WhatsApp Cloud API, which `cargo xtask double whatsapp`
//! starts too: `WhatsApp::start()` listens on a free port.

use xtask::double::whatsapp::{Cloud, WhatsAppOptions};

use crate::provider::{BEGINNING, Double};

pub type WhatsApp = Double<Cloud>;

impl WhatsApp {
    /// Starts a double with the default options, whose time stands at [`BEGINNING`].
    pub fn start() -> Self {
        let options = WhatsAppOptions {
            now: Some(BEGINNING),
            ..WhatsAppOptions::default()
        };
        let started = xtask::double::whatsapp::WhatsApp::start(options);
        Self::new(started.expect("a free port on loopback"))
    }
}
