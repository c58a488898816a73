"""A minimal converter for a made-up site form that sends one lead, a list of leads,
or only a reference to a lead that must be fetched. The examples in the other
languages pass the same golden cases.

The class below implements the interface `converter` of the contract. The module
`wit_world` and its types are generated from the contract when the component is
built. An error is raised as `Err` around its record.
"""

from typing import List, Optional
from urllib.parse import quote

from componentize_py_types import Err
from reading import attribute_text, is_absent, parse_body, text_of
from wit_world import exports
from wit_world.exports import converter as c
from wit_world.imports import core

KNOWN = {"id", "ref", "nome", "telefone", "email", "imovel", "mensagem", "teste"}


class Converter(exports.Converter):
    def describe(self) -> core.Description:
        return core.Description(
            name="example-form",
            version="1.0.0",
            summary="Leads of a site form",
            config_schema="",
            secrets=[
                secret("form-key", "The key with which the form signs its requests"),
                secret("verify-token", "The token that the form sends when it verifies the address"),
                secret("api-token", "The token for leads that are fetched"),
            ],
            hosts=["forms.example.com"],
        )

    def sender_checks(self, config: str) -> core.SenderPolicy:
        check = core.SenderCheck(
            secret="form-key",
            scheme="hmac-sha256",
            proof=core.Location(place="header", name="x-form-signature"),
            encoding="hex",
            prefix="",
            timestamp_header="",
            tolerance_seconds=0,
            signed=[],
        )
        return core.SenderPolicy(checks=[check], carried_secrets=[])

    def handshake(self, delivery: core.Delivery) -> Optional[core.HandshakeAnswer]:
        for name, value in delivery.query:
            if name == "challenge":
                return core.HandshakeAnswer(
                    require=[core.Requirement(secret="verify-token", query_field="token")],
                    reply=core.Reply(
                        status=200,
                        content_type="text/plain",
                        body=[core.Segment_Literal(value)],
                    ),
                )
        return None

    def convert(self, delivery: core.Delivery) -> c.Conversion:
        try:
            body = parse_body(delivery.body)
        except ValueError:
            raise Err(core.Problem(message="the body is not valid JSON", path="")) from None
        if isinstance(body, list):
            items = [item(form, str(index)) for index, form in enumerate(body)]
        else:
            items = [item(body, "")]
        return c.Conversion(items=items, reply=None, notes=[])

    def complete(self, completion: c.Completion) -> List[c.Item]:
        response = completion.response
        if response.status == 200:
            try:
                return [item(parse_body(response.body), "")]
            except ValueError:
                raise failure("retry", "the form's answer is not valid JSON") from None
        if response.status == 404:
            raise failure("give-up", "the form no longer has this lead")
        if response.status == 429:
            raise failure("retry", "the form asks for a later retry", retry_after(response))
        if response.status in (401, 403):
            raise failure("stop", "the form refuses the token")
        raise failure("retry", f"the form answered {response.status}")


def item(form: object, path: str) -> c.Item:
    if not isinstance(form, dict):
        return outcome(c.Outcome_Invalid(core.Problem("a lead must be an object", path)))
    reference = text_of(form.get("ref"))
    if reference is not None:
        return outcome(c.Outcome_Fetch(fetch(reference)))
    phone = text_of(form.get("telefone"))
    email = text_of(form.get("email"))
    if phone is None and email is None:
        problem = core.Problem("the lead has neither `telefone` nor `email`", path)
        return outcome(c.Outcome_Invalid(problem))
    listing = text_of(form.get("imovel"))
    lead = c.Lead(
        external_id=text_of(form.get("id")),
        action="create",
        is_test=form.get("teste") is True,
        name=text_of(form.get("nome")),
        phones=[] if phone is None else [phone],
        emails=[] if email is None else [email],
        region=None,
        listings=[] if listing is None else [c.Listing(kind="client", reference=listing)],
        message=text_of(form.get("mensagem")),
        occurred_at=None,
        source=None,
        consents=[],
        campaign=[],
        attributes=[
            (name, attribute_text(form[name]))
            for name in sorted(form)
            if name not in KNOWN and not is_absent(form[name])
        ],
    )
    return outcome(c.Outcome_Lead(lead))


def fetch(reference: str) -> c.Fetch:
    # The host fills in the token; the converter never sees it.
    token = core.Slot(function="secret", args=[core.SlotArgument_Secret("api-token")])
    return c.Fetch(
        external_id=reference,
        request=core.HttpRequest(
            method="GET",
            scheme="https",
            authority="forms.example.com",
            path=[core.Segment_Literal("/leads/" + quote(reference, safe=""))],
            query=[],
            headers=[
                ("authorization", [core.Segment_Literal("Bearer "), core.Segment_Slot(token)])
            ],
            body=[],
        ),
        state=reference.encode(),
    )


def secret(name: str, summary: str) -> core.SecretDeclaration:
    return core.SecretDeclaration(name=name, kind="static", summary=summary, required=False)


def outcome(what: c.Outcome) -> c.Item:
    return c.Item(route=[], outcome=what)


def failure(category: str, message: str, seconds: Optional[int] = None) -> Err:
    return Err(c.Failure(category=category, message=message, retry_after_seconds=seconds))


def retry_after(response: core.HttpResponse) -> Optional[int]:
    for name, value in response.headers:
        if name == "retry-after":
            value = value.strip()
            return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
    return None
