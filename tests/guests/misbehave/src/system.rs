//! The view that a guest with WASI has of time, randomness and the machine, and ways
//! to keep the host busy in WASI calls. Without WASI there is nothing to see.

pub use seen::{ask_for_chance, ask_the_clock, flood, look_around, sleep};

#[cfg(target_os = "wasi")]
mod seen {
    use std::collections::hash_map::RandomState;
    use std::hash::BuildHasher;
    use std::hint::black_box;
    use std::io::Write as _;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use chance::wasi::random::random::{get_random_bytes, get_random_u64};
    use leadhost_sdk::Conversion;

    /// The standard library asks for randomness only once.
    #[allow(unsafe_code, clippy::all)]
    mod chance {
        wit_bindgen::generate!({
            inline: "
                package misbehave:guest;
                world chance {
                    import wasi:random/random@0.2.0;
                }
                package wasi:random@0.2.0 {
                    interface random {
                        get-random-bytes: func(len: u64) -> list<u8>;
                        get-random-u64: func() -> u64;
                    }
                }
            ",
            world: "misbehave:guest/chance",
            generate_all,
        });
    }

    pub fn ask_the_clock() -> ! {
        loop {
            black_box(Instant::now());
        }
    }

    /// This many bytes at a time; a number each if it is 0.
    pub fn ask_for_chance(bytes: usize) -> ! {
        loop {
            if bytes == 0 {
                black_box(get_random_u64());
            } else {
                black_box(get_random_bytes(bytes as u64));
            }
        }
    }

    pub fn sleep() -> ! {
        loop {
            std::thread::sleep(Duration::from_secs(3_600));
        }
    }

    /// Writes lines of this many bytes to both streams.
    pub fn flood(bytes: usize) -> ! {
        let line = "f".repeat(bytes.max(1));
        loop {
            println!("{line}");
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    pub fn look_around(sleep_seconds: usize) -> Conversion {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map(|since| since.as_micros());
        let began = Instant::now();
        std::thread::sleep(Duration::from_secs(sleep_seconds as u64));
        let slept = began.elapsed();
        let chance = RandomState::new().hash_one("x");
        Conversion {
            items: Vec::new(),
            reply: None,
            notes: vec![
                format!("wall {wall:?}"),
                format!("slept {slept:?}"),
                format!("chance {chance}"),
                format!("variables {}", std::env::vars().count()),
                format!("arguments {}", std::env::args().count()),
                format!("root {}", std::fs::read_dir("/").is_ok()),
                format!(
                    "socket {}",
                    std::net::TcpStream::connect(("127.0.0.1", 9)).is_ok()
                ),
            ],
        }
    }
}

#[cfg(not(target_os = "wasi"))]
mod seen {
    use leadhost_sdk::Conversion;

    pub fn ask_the_clock() -> ! {
        panic!("there is no clock")
    }

    pub fn ask_for_chance(_: usize) -> ! {
        panic!("there is no chance")
    }

    pub fn sleep() -> ! {
        panic!("there is no sleep")
    }

    pub fn flood(_: usize) -> ! {
        panic!("there is nothing to write to")
    }

    pub fn look_around(_: usize) -> Conversion {
        crate::note("there is nothing to see")
    }
}
