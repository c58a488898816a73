"""The cases that the SDKs of all languages share, in `sdk-guest/cases`."""

import base64
import json
import pathlib
import unittest

import leadhost_sdk as sdk

from . import Err, core

CASES = pathlib.Path(__file__).parents[2] / "cases"


class SharedCases(unittest.TestCase):
    def test_bodies_become_trees(self):
        for case in cases("bodies"):
            body = base64.b64decode(case["base64"]) if "base64" in case else case["body"]
            query = [tuple(field) for field in case.get("query", [])]
            given = delivery(body, case["contentType"], query)
            if "tree" in case:
                self.assertEqual(sdk.json_text(sdk.parse(given)), case["tree"], case)
                continue
            with self.assertRaises(Err, msg=case) as raised:
                sdk.parse(given)
            self.assertTrue(raised.exception.value.message.startswith(case["problem"]), case)

    def test_paths_lead_to_values(self):
        file = cases("paths")
        tree = sdk.parse_json(file["tree"])
        for case in file["cases"]:
            path = case["path"]
            self.assertEqual(sdk.text(tree, path), case.get("text"), case)
            self.assertEqual(sdk.number(tree, path), case.get("number"), case)
            if "at" in case:
                self.assertEqual(sdk.json_text(sdk.at(tree, path)), case["at"], case)
            if "texts" in case:
                self.assertEqual(sdk.texts(tree, path), case["texts"], case)
            if "list" in case:
                self.assertEqual(sdk.json_text(sdk.list_(tree, path)), case["list"], case)
            if not case.keys() - {"path", "about"}:
                self.assertEqual((sdk.at(tree, path), sdk.list_(tree, path)), (None, []), case)

    def test_values_are_read_as_sources_write_them(self):
        file = cases("values")
        for case in file["phone"]:
            phone = sdk.phone(case["text"], case.get("area"), case.get("country"))
            self.assertEqual(phone, case.get("phone"), case)
        for read in (sdk.email, sdk.time, sdk.yes):
            for case in file[read.__name__]:
                self.assertEqual(read(case["text"]), case.get(read.__name__), case)
        for case in file["number"]:
            self.assertEqual(sdk.number(case["text"]), case.get("number"), case)
        for case in file["join"]:
            self.assertEqual(sdk.join(*case["texts"]), case.get("join"), case)
        for case in file["attribute"]:
            pair = ("name", case["json"]) if "json" in case else None
            self.assertEqual(sdk.attribute("name", sdk.parse_json(case["value"])), pair, case)


def cases(name):
    return json.loads((CASES / f"{name}.json").read_text())


def delivery(body, content_type="application/json", query=()):
    """Returns a delivery, whose body is bytes if it is not UTF-8."""
    headers = [("content-type", content_type)] if content_type else []
    content = core.Content_Text(body) if isinstance(body, str) else core.Content_Bytes(body)
    time = "2026-01-01T12:00:00Z"
    return core.Delivery("1", time, "POST", "/", list(query), headers, content, "{}", [])
