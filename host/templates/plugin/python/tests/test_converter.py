"""The golden cases run in the built component: `leadhost plugin test`."""

import json
import unittest

from componentize_py_types import Err
from converter import Converter
from leadhost_sdk import conversion, lead, note
from wit_world.exports import converter as c
from wit_world.imports import core


class ConverterTest(unittest.TestCase):
    def test_a_value_under_a_usual_name_fills_its_field_and_the_rest_is_kept(self):
        contact = {"first_name": "Ana", "last_name": "Prado", "age": 41}
        contact |= {"ddd": "11", "celular": "90000-0001"}
        lead = self.only(
            {
                "lead_id": 17,
                "contact": contact,
                "E-mail": "ana@example.com",
                "anúncio": {"id": "P-9", "referência": "AP-9"},
                "mensagem": "Olá",
                "broker_phone": "11 90000-0009",
                "tags": [],
            }
        )
        self.assertEqual(lead.external_id, "17")
        self.assertEqual(lead.name, "Ana Prado")
        self.assertEqual(lead.phones, ["(11) 90000-0001"])
        self.assertEqual(lead.emails, ["ana@example.com"])
        self.assertEqual(lead.listings, [c.Listing("client", "AP-9"), c.Listing("portal", "P-9")])
        self.assertEqual(lead.message, "Olá")
        attributes = [("broker_phone", '"11 90000-0009"'), ("contact", '{"age":41}')]
        self.assertEqual(lead.attributes, attributes)

    def test_a_value_that_the_contract_does_not_have_is_refused_with_its_field(self):
        for fields, message in [
            ({"phones": [None]}, "`lead.phones[0]` must be str, not None"),
            ({"phones": "11"}, "`lead.phones` must be a list, not '11'"),
            ({"name": 7}, "`lead.name` must be str or None, not 7"),
            ({"is_test": None}, "`lead.is_test` must be bool, not None"),
            ({"listings": [c.Listing("client", None)]}, "`lead.listings[0].reference` must be str, not None"),
            ({"attributes": [("a", 1)]}, "`lead.attributes[0][1]` must be str, not 1"),
            ({"attributes": [("a",)]}, "`lead.attributes[0]` must be a tuple of 2, not ('a',)"),
        ]:
            with self.assertRaises(TypeError) as raised:
                lead(**fields)
            self.assertEqual(str(raised.exception), message)
        with self.assertRaises(TypeError) as raised:
            conversion([None])
        self.assertEqual(str(raised.exception), "`items[0]` must be Item, not None")

        class Forgets(Converter):
            def convert(self, delivery):
                pass

        with self.assertRaises(TypeError) as raised:
            Forgets().convert(None)
        self.assertEqual(str(raised.exception), "`the result of convert` must be Conversion, not None")

    def test_one_number_in_two_spellings_is_one_phone(self):
        lead = self.only({"ddd": "11", "phone": "900000001", "phoneNumber": "11900000001"})
        self.assertEqual(lead.phones, ["11900000001"])

    def test_the_area_code_beside_a_phone_belongs_to_it(self):
        for body in [
            {"ddd_celular": "11", "celular": "900000001"},
            {"dddTelefone": "11", "telefone": "900000001"},
            {"contactDDD": "11", "contactPhone": "900000001"},
            {"TelefoneDDD": "11", "TelefoneNumero": "900000001"},
            {"ddd2": "11", "telefone2": "900000001"},
        ]:
            lead = self.only(body)
            self.assertEqual((lead.phones, lead.attributes), (["(11) 900000001"], []))

    def test_questions_and_answers_are_read_like_the_fields_of_a_form(self):
        lead = self.only(
            {
                "name": "Contact form",
                "answers": [
                    {"label": "Qual o seu nome?", "value": "Ana Prado"},
                    {"label": "Contato", "type": "tel", "value": ["11 90000-0001"]},
                    {"label": "Prazo", "value": {"label": "3 meses"}},
                    {"label": "Prazo", "value": 2},
                    {"label": "Bairro", "value": ""},
                ],
            }
        )
        self.assertEqual((lead.name, lead.phones), ("Ana Prado", ["11 90000-0001"]))
        attributes = [("Prazo", '"3 meses"'), ("Prazo 2", "2"), ("name", '"Contact form"')]
        self.assertEqual(lead.attributes, attributes)

    def test_a_name_may_say_whose_it_is(self):
        for name in ["nomeDoComprador", "nome_do_comprador", "buyer_name"]:
            self.assertEqual(self.only({name: "Ana", "phone": "11900000001"}).name, "Ana")

    def test_numbers_keep_every_digit(self):
        lead = self.only('{"id": 9007199254740993, "phone": "11900000001", "price": 1.10}')
        self.assertEqual(lead.external_id, "9007199254740993")
        self.assertEqual(lead.attributes, [("price", "1.10")])

    def test_a_form_is_read_like_json(self):
        body = (
            "lead[nome]=Ana+Prado&lead[fones][]=%2811%29+90000-0001&lead[fones][]=1130000002"
            "&origem=rodap%C3%A9"
        )
        lead = self.only(body, "application/x-www-form-urlencoded; charset=utf-8")
        self.assertEqual(lead.name, "Ana Prado")
        self.assertEqual(lead.phones, ["(11) 90000-0001", "1130000002"])
        self.assertEqual(lead.source, "rodapé")
        self.assertEqual(lead.attributes, [])

    def test_a_lead_without_a_phone_and_an_email_has_a_name_or_answers_and_an_id(self):
        answers = [{"question": "Prazo", "answer": "3 meses"}]
        leads = convert(
            [
                {"id": "1", "name": "Ana"},
                {"name": "Ana", "message": "Olá"},
                {"id": "1", "answers": answers},
            ]
        )
        self.assertEqual({type(item.outcome) for item in leads}, {c.Outcome_Lead})
        others = convert(
            [
                {"event": "deal_created", "id": "1", "name": "Ana"},
                {"id": "1", "buyer_name": "Ana"},
                {"id": "1"},
            ]
        )
        self.assertEqual({type(item.outcome) for item in others}, {c.Outcome_Invalid})

    def test_a_field_or_a_value_says_that_a_lead_is_a_test(self):
        mark = {"nome": "<test lead: dummy data for nome>"}
        for field in [{"is_test": True}, {"Teste": "Sim"}, mark]:
            self.assertTrue(self.only({"email": "ana@example.com"} | field).is_test)
        self.assertFalse(self.only({"email": "ana@example.com", "test": 0}).is_test)

    def test_a_bad_item_does_not_affect_the_others(self):
        first, second, third = convert([{"name": "Ana"}, 1, {"email": "bia@example.com"}])
        self.assertEqual([first.outcome.value.path, second.outcome.value.path], ["0", "1"])
        self.assertIsInstance(third.outcome, c.Outcome_Lead)
        self.assertEqual(convert([]), [])

    def test_a_body_that_is_not_json_is_refused(self):
        for body in ["", "{", "[" * 1000, "[NaN]", '{"a": "\\ud80"}']:
            with self.assertRaises(Err) as raised:
                convert(body)
            self.assertEqual(raised.exception.value, core.Problem("the body is not valid JSON", ""))

    def test_a_call_begins_without_the_notes_of_a_refused_one(self):
        note("of an earlier call")
        self.assertEqual(Converter().convert(delivery_of("[]")).notes, [])

    def test_the_host_masks_the_usual_secrets(self):
        carried = Converter().sender_checks("{}").carried_secrets
        self.assertIn(core.Location("json", "google_key"), carried)

    def only(self, body, content_type="application/json"):
        [item] = convert(body, content_type)
        self.assertIsInstance(item.outcome, c.Outcome_Lead)
        return item.outcome.value


def convert(body, content_type="application/json"):
    return Converter().convert(delivery_of(body, content_type)).items


def delivery_of(body, content_type="application/json"):
    return core.Delivery(
        id="1",
        received_at="2026-01-01T12:00:00Z",
        method="POST",
        path="/",
        query=[],
        headers=[("content-type", content_type)],
        body=core.Content_Text(body if isinstance(body, str) else json.dumps(body)),
        config="{}",
        context=[],
    )
