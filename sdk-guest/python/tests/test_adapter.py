import json
import unittest

import leadhost_sdk.adapter as sdk

from . import Err, core
from . import adapter as a
from .test_cases import delivery


class Adapter(sdk.Adapter):
    def describe(self):
        return sdk.description("test", "1.0.0", "Messages")

    def send(self, message):
        template = sdk.requested(message)
        token = [sdk.literal("Bearer "), sdk.secret("token")]
        url = "https://api.example/v1/messages?name=a+b%26"
        return sdk.post_json(url, [("authorization", token)], template.values)


class AdapterTest(unittest.TestCase):
    def test_a_request_takes_a_whole_url(self):
        components = [{"type": "BODY", "parameters": [{"text": "Ana"}, {"text": 7}]}]
        request = send({"name": "x", "language": {"code": "pt_BR"}, "components": components}).value
        self.assertEqual((request.scheme, request.authority), ("https", "api.example"))
        self.assertEqual(request.path, [sdk.literal("/v1/messages")])
        self.assertEqual(request.query, [("name", [sdk.literal("a b&")])])
        self.assertEqual(request.headers[1], ("content-type", [sdk.literal("application/json")]))
        self.assertEqual(request.body, [sdk.literal('["Ana",7]'.replace("7", '"7"'))])
        local = sdk.request("GET", "http://127.0.0.1:8000")
        self.assertEqual((local.scheme, local.authority), ("http", "127.0.0.1:8000"))
        self.assertEqual((local.path, local.body), ([sdk.literal("/")], []))
        for url in [
            "api.example/v1",
            "ftp://api.example",
            "https://",
            "https://u@api.example",
            "https://a b",
        ]:
            with self.assertRaisesRegex(ValueError, "a request needs a whole URL, `https://…`"):
                sdk.request("GET", url)

    def test_a_template_that_has_no_meaning_is_refused(self):
        for template in ({}, {"name": "x"}, None):
            answer = send(template).value
            self.assertIsInstance(answer, a.SendAnswer_Refused)
            self.assertEqual(answer.value.category, "request")

    def test_an_answer_may_be_no_json(self):
        response = core.HttpResponse(502, [("retry-after", " 30 ")], core.Content_Text("<html>"))
        self.assertEqual(sdk.answer_body(response), {})
        self.assertEqual(sdk.retry_after(response), 30)

    def test_a_webhook_needs_its_list_of_events(self):
        self.assertEqual(sdk.events_in(delivery('{"events": [1]}'), "events"), ["1"])
        for body, message in [("{}", "the body has no list `events`"), ("a=1", "the body is not valid JSON")]:
            with self.assertRaises(Err) as refused:
                sdk.events_in(delivery(body), "events")
            self.assertEqual(refused.exception.value.message, message)
        status = sdk.status("m-1", "read", occurred_at=sdk.time("1767268800"))
        webhook = sdk.webhook([sdk.event(status, [("number", "1")])])
        self.assertEqual(webhook.events[0].body.value.occurred_at, "2026-01-01T12:00:00Z")


def send(template):
    return Adapter().send(a.TemplateSend("m-1", "+5511900000001", json.dumps(template), "{}", []))
