//! The leads that are sent: made up, each with its own id, phone and address, and all
//! of exactly the same size, so that the requests of all rounds cost the same.

/// Bytes of a lead's body: the usual size of a portal's lead.
pub const BYTES: usize = 600;

const MESSAGE: &str = "Olá! Vi o anúncio e gostaria de saber se o apartamento ainda está disponível. Posso visitar na quinta-feira depois das 18h, ou no sábado de manhã.";

/// Writes the body of the lead with this number, below a hundred million.
pub fn write(number: u64, body: &mut Vec<u8>) {
    use std::io::Write as _;
    let phone = number % 100_000_000;
    body.clear();
    write!(
        body,
        concat!(
            r#"{{"leadOrigin":"ZAP","timestamp":"2026-03-02T09:15:30.250Z","originLeadId":"65f1a2b3c4d5{number:012}","#,
            r#""originListingId":"2711223344","clientListingId":"AP-0042","name":"Helena Duarte","email":"helena.{number:012}@example.com","#,
            r#""ddd":"11","phone":"9{phone:08}","phoneNumber":"119{phone:08}","temperature":"Alta","transactionType":"SELL","message":"{message}"#,
        ),
        number = number,
        phone = phone,
        message = MESSAGE,
    )
    .expect("writing to a Vec does not fail");
    pad(body, b' ', b"\"}");
}

/// Returns a body of the same size in which the converter finds no lead.
pub fn write_nothing(body: &mut Vec<u8>) {
    body.clear();
    body.push(b'[');
    pad(body, b' ', b"]");
}

fn pad(body: &mut Vec<u8>, with: u8, end: &[u8]) {
    assert!(
        body.len() + end.len() <= BYTES,
        "a lead is longer than {BYTES} bytes"
    );
    body.resize(BYTES - end.len(), with);
    body.extend_from_slice(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_differ_and_have_one_size() {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        write(7, &mut a);
        write(71, &mut b);
        assert_ne!(a, b);
        assert_eq!((a.len(), b.len()), (BYTES, BYTES));
        let value: serde_json::Value = serde_json::from_slice(&a).expect("JSON");
        assert_eq!(value["phone"], "900000007");
        write_nothing(&mut a);
        assert_eq!(a.len(), BYTES);
    }
}
