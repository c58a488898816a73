"""A converter in Python that misbehaves as its configuration asks: `{"do": "loop"}`
computes for ever, `{"do": "fill"}` fills its memory, `{"do": "print"}` writes
for ever, and without a word it returns a lead. An interpreter has more code and
more memory than a guest in Rust, and calls the host more often.
"""

import json
from typing import List, Optional

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import converter as c
from wit_world.imports import core


class Converter(exports.Converter):
    def describe(self) -> core.Description:
        return core.Description(
            name="misbehave-python",
            version="1.0.0",
            summary="Does what its configuration says",
            config_schema='{"type": "object", "properties": {"do": {"type": "string"}}}',
            secrets=[],
            hosts=[],
        )

    def sender_checks(self, config: str) -> core.SenderPolicy:
        return core.SenderPolicy(checks=[], carried_secrets=[])

    def handshake(self, delivery: core.Delivery) -> Optional[core.HandshakeAnswer]:
        return None

    def convert(self, delivery: core.Delivery) -> c.Conversion:
        word = json.loads(delivery.config).get("do")
        kept = []
        while word == "loop":
            pass
        while word == "fill":
            kept.append(bytearray(4096))
        while word == "print":
            print("f" * 4096)
        lead = c.Lead(
            external_id=delivery.id,
            action="create",
            is_test=False,
            name=None,
            phones=["11987654321"],
            emails=[],
            region=None,
            listings=[],
            message=None,
            occurred_at=None,
            source=None,
            consents=[],
            campaign=[],
            attributes=[],
        )
        item = c.Item(route=[], outcome=c.Outcome_Lead(lead))
        return c.Conversion(items=[item], reply=None, notes=[])

    def complete(self, completion: c.Completion) -> List[c.Item]:
        raise Err(c.Failure(category="give-up", message="nothing was asked for", retry_after_seconds=None))
