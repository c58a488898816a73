//! Converts the answer to a golden case to JSON, to be compared with the case's
//! expectation. A plugin's answer is bounded in bytes, but as JSON values it takes a
//! hundred times as much: every byte of a body becomes a number of its own. So its values
//! are counted first, and an answer larger than any expectation is not converted.

use std::io::{Error, Result as Written, Write, sink};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Formatter;

use super::fault::Fault;
use leadhost_domain::limits;

pub(super) fn shown<T: Serialize>(answer: T) -> Result<Value, Fault> {
    let left = Left {
        values: limits::GOLDEN_ANSWER_VALUES,
        text: limits::GOLDEN_ANSWER_TEXT_BYTES,
    };
    let mut counting = serde_json::Serializer::with_formatter(sink(), left);
    answer.serialize(&mut counting).map_err(|_| {
        Fault::Rule(format!(
            "an answer to a golden case of more than {} values or {} bytes of text",
            limits::GOLDEN_ANSWER_VALUES,
            limits::GOLDEN_ANSWER_TEXT_BYTES
        ))
    })?;
    Ok(serde_json::to_value(answer).expect("records and variants with text keys serialise"))
}

/// Writes nothing, and fails past its limits.
struct Left {
    values: usize,
    text: usize,
}

fn take(left: &mut usize, some: usize) -> Written<()> {
    *left = left
        .checked_sub(some)
        .ok_or_else(|| Error::other("too much"))?;
    Ok(())
}

impl Formatter for Left {
    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, _: bool) -> Written<()> {
        take(&mut self.values, 1)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, _: &mut W, _: bool) -> Written<()> {
        take(&mut self.values, 1)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, _: &mut W, text: &str) -> Written<()> {
        take(&mut self.text, text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_larger_than_any_expectation_is_not_converted() {
        let values = limits::GOLDEN_ANSWER_VALUES;
        let text = limits::GOLDEN_ANSWER_TEXT_BYTES;
        assert!(shown(vec![0_u8; values]).is_ok());
        assert!(shown(["x".repeat(text)]).is_ok());
        let refused = |fault: Fault| match fault {
            Fault::Rule(what) => what,
            other => panic!("{other:?}"),
        };
        for fault in [
            shown(vec![0_u8; values + 1]).expect_err("too many values"),
            shown(["x".repeat(text / 2), "x".repeat(text / 2 + 1)]).expect_err("too much text"),
        ] {
            let what = refused(fault);
            assert!(what.contains("1048576 values or 2097152 bytes"), "{what}");
        }
    }
}
