"""The golden cases run in the built component: `leadhost plugin test`."""

import json
import unittest

from adapter import Adapter
from componentize_py_types import Err
from wit_world.exports import adapter as a
from wit_world.imports import core

CONFIG = '{"number": "+551130000001"}'


class AdapterTest(unittest.TestCase):
    def test_the_values_of_the_templates_body_are_sent_in_order(self):
        parameters = [{"type": "text", "text": text} for text in ("Ana", 7)]
        body = {"type": "BODY", "parameters": parameters}
        template = {"name": "welcome", "language": {"code": "pt_BR"}, "components": [body]}
        step = send(template)
        self.assertEqual(
            json.loads(step.value.body[0].value),
            {
                "from": "+551130000001",
                "language": "pt_BR",
                "reference": "m-1",
                "template": "welcome",
                "to": "+5511900000001",
                "values": ["Ana", "7"],
            },
        )

    def test_a_template_without_a_meaning_is_refused(self):
        for template in ({}, {"name": "x"}, None):
            answer = send(template).value
            self.assertIsInstance(answer, a.SendAnswer_Refused)
            self.assertEqual(answer.value.category, "request")

    def test_the_providers_answer_decides_what_the_host_does(self):
        for status, body, kind, category in (
            (200, '{"id": "p-1"}', a.SendAnswer_Accepted, None),
            (200, "{}", a.SendAnswer_Unknown, None),
            (400, "{}", a.SendAnswer_Refused, "request"),
            (401, "", a.SendAnswer_Refused, "connection"),
            (404, '{"error": {"code": "no-such-template"}}', a.SendAnswer_Refused, "unknown-template"),
            (429, "{}", a.SendAnswer_Refused, "throttled-number"),
            (502, "<html>", a.SendAnswer_Unknown, None),
        ):
            response = core.HttpResponse(status, [], core.Content_Text(body))
            answer = Adapter().read_answer(message("{}"), response)
            self.assertIsInstance(answer, kind, status)
            self.assertEqual(getattr(answer.value, "category", None), category)

    def test_a_bad_event_does_not_affect_the_others(self):
        found = webhook('{"events": [1, {"id": "m-1", "state": "read", "at": 1767268800}]}')
        bad, good = (event.body for event in found.events)
        self.assertIsInstance(bad, a.EventBody_Invalid)
        self.assertEqual(good.value.occurred_at, "2026-01-01T12:00:00Z")
        with self.assertRaises(Err) as refused:
            webhook("{}")
        self.assertEqual(refused.exception.value.message, "the body has no list `events`")


def send(template):
    return Adapter().send(message(json.dumps(template)))


def message(template):
    return a.TemplateSend("m-1", "+5511900000001", template, CONFIG, [])


def webhook(text):
    body = core.Content_Text(text)
    return Adapter().read_webhook(core.Delivery("1", "", "POST", "/", [], [], body, CONFIG, []))
