// The body of a delivery as a tree, whatever its format and its label.

import { decoded, escaped, latin1 } from "./encoding.js";
import { parseForm, tree, urlTree } from "./form.js";
import { isObject, parseJson } from "./json.js";
import { multipartFields } from "./multipart.js";
import { problem } from "./plugin.js";
import { fold } from "./values.js";
import { parseXml } from "./xml.js";

/** The names under which form builders send their whole answer as JSON in a text, where no path leads. */
const JSON_TEXTS = "rawrequest datajson message payload data json lead body".split(" ");

/** Returns the body as a tree: JSON, XML, or a form, urlencoded or in parts. Throws a problem. */
export function parse(delivery) {
  const body = bodyTree(delivery);
  for (const [name, value] of isObject(body) ? Object.entries(body) : []) {
    if (isJsonText(value) && JSON_TEXTS.includes(fold(name))) {
      body[name] = parseJson(value) ?? value;
    }
  }
  return body;
}

function bodyTree(delivery) {
  const { tag, val } = delivery.body;
  const bytes = tag === "text" ? val : latin1(val);
  const decode = tag === "text" ? (piece) => piece : decoded;
  const type = contentType(delivery);
  if (type === "multipart/form-data" && bytes !== "") {
    return tree(multipartFields(header(delivery, "content-type"), bytes, decode));
  }
  const text = decode(bytes).trim();
  if (text === "") {
    return delivery.query.length > 0 ? urlTree(delivery.query) : fail("the body is empty");
  }
  if (/^[{[]/.test(text)) {
    return parseJson(text) ?? fail("the body is not valid JSON");
  }
  if (text.startsWith("<")) {
    return parseXml(text);
  }
  const quoted = text.startsWith('"') ? parseJson(text) : undefined;
  if (quoted !== undefined) {
    // Some senders serialise their JSON twice.
    return (isJsonText(quoted) ? parseJson(quoted) : undefined) ?? quoted;
  }
  if (type === "application/x-www-form-urlencoded" || text.includes("=")) {
    return parseForm(tag === "text" ? text : escaped(bytes));
  }
  return fail(`the body is neither JSON nor XML nor a form (content type \`${type}\`)`);
}

function fail(message) {
  throw problem(message);
}

function isJsonText(value) {
  return typeof value === "string" && /^\s*[{[]/.test(value);
}

/** Returns the text of a body; `decoded` reads bytes, which are not UTF-8. */
export function bodyText(body) {
  return body.tag === "text" ? body.val : decoded(latin1(body.val));
}

/** Returns the media type, in lower case and without parameters; empty if there is none. */
function contentType(delivery) {
  return (header(delivery, "content-type") ?? "").split(";")[0].trim().toLowerCase();
}

/** Returns the first header of this name. */
export function header(delivery, name) {
  return delivery.headers.find(([known]) => known === name.toLowerCase())?.[1];
}

/** Returns the first field of this name in the query. */
export function queryField(delivery, name) {
  return delivery.query.find(([known]) => known === name)?.[1];
}
