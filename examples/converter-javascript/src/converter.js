// A minimal converter for a made-up site form that sends one lead, a list of leads,
// or only a reference to a lead that must be fetched. The examples in the other
// languages pass the same golden cases.
//
// The export is the interface `converter` of the contract: names in camel case, a
// record as an object, a variant as `{ tag, val }`, an absent value as `undefined`.
// An error is thrown as its plain record.

import { attributeText, isAbsent, isObject, parseBody, textOf } from "./reading.js";

const KNOWN = ["id", "ref", "nome", "telefone", "email", "imovel", "mensagem", "teste"];

export const converter = {
  describe() {
    return {
      name: "example-form",
      version: "1.0.0",
      summary: "Leads of a site form",
      configSchema: "",
      secrets: [
        secret("form-key", "The key with which the form signs its requests"),
        secret("verify-token", "The token that the form sends when it verifies the address"),
        secret("api-token", "The token for leads that are fetched"),
      ],
      hosts: ["forms.example.com"],
    };
  },

  senderChecks(_config) {
    return {
      checks: [
        {
          secret: "form-key",
          scheme: "hmac-sha256",
          proof: { place: "header", name: "x-form-signature" },
          encoding: "hex",
          prefix: "",
          timestampHeader: "",
          toleranceSeconds: 0,
          signed: [],
        },
      ],
      carriedSecrets: [],
    };
  },

  handshake(delivery) {
    const field = delivery.query.find(([name]) => name === "challenge");
    if (field === undefined) {
      return undefined;
    }
    return {
      require: [{ secret: "verify-token", queryField: "token" }],
      reply: {
        status: 200,
        contentType: "text/plain",
        body: [{ tag: "literal", val: field[1] }],
      },
    };
  },

  convert(delivery) {
    const body = parseBody(delivery.body);
    if (body === undefined) {
      throw { message: "the body is not valid JSON", path: "" };
    }
    const items = Array.isArray(body)
      ? body.map((form, index) => item(form, String(index)))
      : [item(body, "")];
    return { items, reply: undefined, notes: [] };
  },

  complete(completion) {
    const { status, headers, body } = completion.response;
    switch (status) {
      case 200: {
        const form = parseBody(body);
        if (form === undefined) {
          throw failure("retry", "the form's answer is not valid JSON");
        }
        return [item(form, "")];
      }
      case 404:
        throw failure("give-up", "the form no longer has this lead");
      case 429:
        throw failure("retry", "the form asks for a later retry", retryAfter(headers));
      case 401:
      case 403:
        throw failure("stop", "the form refuses the token");
      default:
        throw failure("retry", `the form answered ${status}`);
    }
  },
};

function item(form, path) {
  if (!isObject(form)) {
    return outcome("invalid", { message: "a lead must be an object", path });
  }
  const reference = textOf(form.ref);
  if (reference !== undefined) {
    return outcome("fetch", fetch(reference));
  }
  const phone = textOf(form.telefone);
  const email = textOf(form.email);
  if (phone === undefined && email === undefined) {
    return outcome("invalid", { message: "the lead has neither `telefone` nor `email`", path });
  }
  const listing = textOf(form.imovel);
  return outcome("lead", {
    externalId: textOf(form.id),
    action: "create",
    isTest: form.teste === true,
    name: textOf(form.nome),
    phones: phone === undefined ? [] : [phone],
    emails: email === undefined ? [] : [email],
    region: undefined,
    listings: listing === undefined ? [] : [{ kind: "client", reference: listing }],
    message: textOf(form.mensagem),
    occurredAt: undefined,
    source: undefined,
    consents: [],
    campaign: [],
    attributes: Object.keys(form)
      .filter((name) => !KNOWN.includes(name) && !isAbsent(form[name]))
      .sort()
      .map((name) => [name, attributeText(form[name])]),
  });
}

function fetch(reference) {
  return {
    externalId: reference,
    request: {
      method: "GET",
      scheme: "https",
      authority: "forms.example.com",
      path: [{ tag: "literal", val: `/leads/${encodeURIComponent(reference)}` }],
      query: [],
      headers: [
        [
          "authorization",
          [
            { tag: "literal", val: "Bearer " },
            // The host fills in the token; the converter never sees it.
            { tag: "slot", val: { function: "secret", args: [{ tag: "secret", val: "api-token" }] } },
          ],
        ],
      ],
      body: [],
    },
    state: utf8(reference),
  };
}

function secret(name, summary) {
  return { name, kind: "static", summary, required: false };
}

function outcome(tag, val) {
  return { route: [], outcome: { tag, val } };
}

function failure(category, message, retryAfterSeconds) {
  return { category, message, retryAfterSeconds };
}

function retryAfter(headers) {
  const value = headers.find(([name]) => name === "retry-after")?.[1].trim();
  return value !== undefined && /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
}

/** Returns the bytes of a text; the engine has no `TextEncoder`. */
function utf8(text) {
  const escaped = encodeURIComponent(text);
  const bytes = [];
  for (let at = 0; at < escaped.length; at += 1) {
    if (escaped[at] === "%") {
      bytes.push(parseInt(escaped.slice(at + 1, at + 3), 16));
      at += 2;
    } else {
      bytes.push(escaped.charCodeAt(at));
    }
  }
  return Uint8Array.from(bytes);
}
