import contextlib
import io
import unittest

import leadhost_sdk as sdk

from . import Err, converter, core
from .test_cases import delivery


class Converter(sdk.Converter):
    def describe(self):
        return sdk.description("test", "1.0.0", "Leads", config_schema={"type": "object"})

    def convert(self, delivery):
        return self.answer()


class ConverterTest(unittest.TestCase):
    def test_a_lead_leaves_out_what_is_absent(self):
        given = sdk.lead(
            external_id=" ",
            name="Ana",
            phones=[None, "1", ["2", None, "1"], " "],
            emails=(text for text in ["a@b", "a@b"]),
            listings=[sdk.listing("client", None), [sdk.listing("client", "AP-9")]],
            campaign=[("utm-source", None), ("utm-medium", "cpc")],
            attributes=[None, sdk.attribute("budget", sdk.Number("1.10")), [("a", "1")]],
            route=[("page-id", "7")],
        )
        lead = given.outcome.value
        self.assertEqual((lead.external_id, lead.name, lead.action), (None, "Ana", "create"))
        self.assertEqual((lead.phones, lead.emails), (["1", "2"], ["a@b"]))
        self.assertEqual(lead.listings, [converter.Listing("client", "AP-9")])
        self.assertEqual(lead.campaign, [("utm-medium", "cpc")])
        self.assertEqual(lead.attributes, [("budget", "1.10"), ("a", "1")])
        self.assertEqual(given.route, [("page-id", "7")])

    def test_a_wrong_type_is_named_with_its_field(self):
        listing = sdk.Listing("client", None)
        for fields, message in [
            ({"phones": ["1", {"a": 1}]}, '`phones[1]` must be a text, not {"a":1}'),
            ({"phones": ["1", ["2", 3]]}, "`phones[1][1]` must be a text, not 3"),
            ({"phones": "11"}, '`phones` must be a list, not "11"'),
            ({"emails": None}, "`emails` must be a list, not None"),
            ({"name": 7}, "`name` must be a text, not 7"),
            ({"is_test": None}, "`is_test` must be True or False, not None"),
            ({"listings": [listing]}, "`listings[0].reference` must be a text, not None"),
            ({"listings": ["AP-9"]}, '`listings[0]` must be a Listing, not "AP-9"'),
            ({"attributes": [("a", 1)]}, "`attributes[0][1]` must be a text, not 1"),
            ({"attributes": [("a",)]}, '`attributes[0]` must be a name and a value, not ["a"]'),
            ({"campaign": [(None, "1")]}, "`campaign[0][0]` must be a text, not None"),
        ]:
            with self.assertRaises(TypeError) as raised:
                sdk.lead(**fields)
            self.assertEqual(str(raised.exception), message)
        with self.assertRaisesRegex(TypeError, "`the attribute a` must be a value of JSON, not "):
            sdk.attribute("a", object())

    def test_a_lead_of_which_nothing_is_known_is_invalid(self):
        nothing = sdk.lead(attributes=[("a", "1")], source="site")
        message = "the lead has no id, name, phone, e-mail address, message or listing"
        self.assertEqual(nothing.outcome.value, core.Problem(message, ""))

    def test_an_invalid_item_gets_its_index_if_there_are_others(self):
        items = [sdk.invalid("a"), sdk.invalid("b", "x"), sdk.ignored("c"), sdk.invalid("d")]
        paths = [getattr(item.outcome.value, "path", None) for item in sdk.conversion(items).items]
        self.assertEqual(paths, ["0", "x", None, "3"])
        [only] = sdk.conversion([sdk.invalid("a")]).items
        self.assertEqual(only.outcome.value.path, "")

    def test_an_item_that_raises_is_invalid_with_its_reason_and_the_others_are_given(self):
        def read(text):
            if not text:
                raise sdk.problem("no text", "a.b")
            return sdk.lead(name=text[0:])

        with contextlib.redirect_stderr(io.StringIO()) as log:
            made = sdk.conversion(sdk.read_each(["Ana", 7, ""], read)).items
        self.assertEqual(made[0].outcome.value.name, "Ana")
        self.assertRegex(made[1].outcome.value.message, "^TypeError: ")
        self.assertEqual(made[1].outcome.value.path, "1")
        self.assertEqual(made[2].outcome.value, core.Problem("no text", "a.b"))
        self.assertIn("in read", log.getvalue())
        self.assertEqual(sdk.read_each([], read), [])
        with self.assertRaises(TypeError):
            sdk.read_each([7], read)

    def test_what_convert_returns_is_checked(self):
        plugin = Converter()
        plugin.answer = lambda: None
        with self.assertRaisesRegex(TypeError, "`the result of convert` must be a conversion, not None"):
            plugin.convert(delivery("{}"))
        plugin.answer = lambda: sdk.conversion([None])
        with self.assertRaisesRegex(TypeError, r"`items\[0\]` must be an item, not None"):
            plugin.convert(delivery("{}"))

    def test_a_call_begins_without_the_notes_of_a_refused_one(self):
        plugin = Converter()
        sdk.note("of an earlier call")
        plugin.answer = lambda: (sdk.note("own"), sdk.conversion([]))[1]
        self.assertEqual(plugin.convert(delivery("{}")).notes, ["own"])

    def test_what_a_converter_leaves_out_has_defaults(self):
        plugin = Converter()
        carried = plugin.sender_checks("{}").carried_secrets
        self.assertIn(core.Location("json", "google_key"), carried)
        self.assertIsNone(plugin.handshake(delivery("{}")))
        with self.assertRaises(Err) as raised:
            plugin.complete(None)
        self.assertEqual(raised.exception.value.category, "give-up")
        self.assertEqual(plugin.describe().config_schema, '{"type": "object"}')
