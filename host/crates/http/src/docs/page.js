// Shows openapi.json: its operations, what they take, what they answer, and a
// form to call each. Everything is put into the page as text, never as markup.
// An operation is called only when the reader presses its button, which waits for a key.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const JSON_TYPE = "application/json";
// Deeper than any schema of the document: without a bound, a recursive one would never end.
const DEPTH = 8;

// The address below which the API lies, also if this page was opened with a slash at the end.
const root = location.pathname.endsWith("/") ? ".." : ".";
let api = {};
const keys = {};

/** An element with attributes and children; texts become text. */
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/** What a value is, where it may be named by a reference. */
function real(value) {
  if (!value || typeof value.$ref !== "string") return value || {};
  const found = value.$ref.slice(2).split("/").reduce((at, name) => at && at[name], api);
  return Object.assign({ named: value.$ref.split("/").pop() }, real(found));
}

/** A text of the document, its `code` marked. */
function prose(text) {
  return (text || "").split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

function kind(schema) {
  const forms = schema.oneOf || schema.anyOf;
  if (forms) return forms.map((form) => kind(real(form))).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(", ");
  if (schema.type === "array") return "list of " + kind(real(schema.items));
  const type = [].concat(schema.type || "anything").join(" or ");
  return schema.named && schema.type === "object" ? schema.named : type;
}

function bounds(schema) {
  const parts = [];
  if (schema.format) parts.push(schema.format);
  if (schema.minLength) parts.push("at least " + schema.minLength + " characters");
  if (schema.maxLength) parts.push("at most " + schema.maxLength + " characters");
  if (schema.minimum !== undefined) parts.push("from " + schema.minimum);
  if (schema.maximum !== undefined) parts.push("to " + schema.maximum);
  if (schema.maxItems) parts.push("at most " + schema.maxItems);
  if (schema.default !== undefined) parts.push("default " + JSON.stringify(schema.default));
  return parts.join(", ");
}

/** The fields of a schema, and theirs. */
function fields(given, depth) {
  const schema = real(given);
  if (depth > DEPTH) return null;
  const forms = schema.oneOf || schema.anyOf;
  if (forms) {
    const shown = forms.map((form, at) => {
      const inner = fields(form, depth + 1);
      if (!inner) return null;
      const name = real(form).named || real(form).title || "form " + (at + 1);
      return make("li", {}, make("span", { class: "type" }, name), inner);
    });
    return shown.some(Boolean) ? make("ul", { class: "fields" }, shown) : null;
  }
  if (schema.type === "array") return fields(schema.items, depth + 1);
  if (!schema.properties) return null;
  const required = schema.required || [];
  return make("ul", { class: "fields" }, Object.entries(schema.properties).map(([name, member]) => {
    const own = real(member);
    return make("li", {},
      make("code", {}, name), " ",
      make("span", { class: "type" }, [kind(own), bounds(own), required.includes(name) ? "required" : ""].filter(Boolean).join(", ")),
      " ", prose(own.description),
      fields(member, depth + 1));
  }));
}

function example(media) {
  if (media.example !== undefined) return media.example;
  const named = Object.values(media.examples || {});
  return named.length ? named[0].value : undefined;
}

function written(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function parameters(list) {
  if (!list.length) return null;
  return make("table", {}, make("tbody", {}, list.map((one) => {
    const schema = real(one.schema);
    return make("tr", {},
      make("th", {}, make("code", {}, one.name), make("div", { class: "type" }, one.in + (one.required ? ", required" : ""))),
      make("td", {}, prose(one.description), make("div", { class: "type" }, [kind(schema), bounds(schema)].filter(Boolean).join(", "))));
  })));
}

function contents(content) {
  return Object.entries(content || {}).map(([type, media]) => {
    const shown = example(media);
    return make("div", {},
      make("p", { class: "type" }, type),
      fields(media.schema, 0),
      shown === undefined ? null : make("pre", {}, written(shown)));
  });
}

function answers(responses) {
  return make("details", {}, make("summary", {}, "Answers"), Object.entries(responses).map(([status, given]) => {
    const response = real(given);
    const headers = Object.keys(response.headers || {});
    return make("section", {},
      make("p", {}, make("strong", {}, status), " ", prose(response.description)),
      headers.length ? make("p", { class: "type" }, "Headers: " + headers.join(", ")) : null,
      contents(response.content));
  }));
}

/** The key that an operation asks for; null when it asks for none. */
function scheme(operation) {
  const ways = operation.security || [];
  return ways.length ? Object.keys(ways[0])[0] : null;
}

function headersOf(operation) {
  const name = scheme(operation);
  if (!name) return {};
  const own = api.components.securitySchemes[name];
  return own.type === "apiKey" ? { [own.name]: keys[name] } : { authorization: "Bearer " + keys[name] };
}

/** The inputs for a body: its type, and a text or a file. Null when the operation takes none. */
function bodyOf(operation) {
  const content = (operation.requestBody && real(operation.requestBody).content) || {};
  const types = Object.keys(content);
  if (!types.length) return null;
  const sample = (name) => {
    const shown = example(content[name]);
    if (shown === undefined) return name === JSON_TYPE ? "{}" : "";
    return written(shown);
  };
  const type = make("select", { "aria-label": "type of the body" }, types.map((name) => make("option", {}, name)));
  const text = make("textarea", { "aria-label": "body", spellcheck: "false" });
  const file = make("input", { type: "file", "aria-label": "body from a file" });
  const fit = () => {
    text.value = sample(type.value);
    text.hidden = real(content[type.value].schema).format === "binary";
    file.hidden = type.value === JSON_TYPE;
  };
  type.hidden = types.length === 1;
  type.addEventListener("change", fit);
  fit();
  return {
    inputs: [type, text, file],
    type: () => type.value,
    content: () => (!file.hidden && file.files.length ? file.files[0] : text.hidden ? "" : text.value),
  };
}

async function call(path, method, operation, list, inputs, body, shown) {
  const query = new URLSearchParams();
  const headers = headersOf(operation);
  let target = path;
  for (const one of list) {
    const value = inputs[one.name].value;
    if (one.in === "path") target = target.replace("{" + one.name + "}", encodeURIComponent(value));
    else if (value && one.in === "query") query.set(one.name, value);
    else if (value && one.in === "header") headers[one.name] = value;
  }
  const options = { method: method.toUpperCase(), headers, credentials: "omit" };
  if (body) {
    headers["content-type"] = body.type();
    options.body = body.content();
  }
  const search = query.toString();
  try {
    const answer = await fetch(root + target + (search ? "?" + search : ""), options);
    const text = await answer.text();
    let printed = text;
    try { printed = written(JSON.parse(text)); } catch { /* It is no JSON, and shown as it is. */ }
    shown.textContent = answer.status + " " + answer.statusText + "\n\n" + printed;
  } catch (error) {
    shown.textContent = "No answer: " + error.message;
  }
}

function form(path, method, operation, list) {
  const name = scheme(operation);
  const inputs = {};
  const labels = list.map((one) => {
    inputs[one.name] = make("input", { "aria-label": one.name, value: one.example });
    return make("label", {}, one.name, " ", inputs[one.name]);
  });
  const body = bodyOf(operation);
  const button = make("button", { type: "button", "data-key": name || "", disabled: name ? "" : undefined }, "Call");
  const shown = make("pre", { hidden: "" });
  button.addEventListener("click", () => {
    shown.hidden = false;
    call(path, method, operation, list, inputs, body, shown);
  });
  const waits = name ? make("p", { class: "note" }, "Waits for the key " + name + ", above.") : null;
  return make("details", {}, make("summary", {}, "Try"), waits, labels, body ? body.inputs : null, button, shown);
}

function operationOf(path, method, item) {
  const operation = item[method];
  const list = (item.parameters || []).concat(operation.parameters || []).map(real);
  const name = scheme(operation);
  const body = operation.requestBody && real(operation.requestBody);
  return make("article", { id: operation.operationId },
    make("h3", {}, make("span", { class: "method" }, method), path),
    make("p", { class: "summary" }, operation.summary),
    operation.description ? make("p", {}, prose(operation.description)) : null,
    make("p", { class: "note" }, name ? "Key: " + name : "Without a key"),
    parameters(list),
    body ? make("details", {}, make("summary", {}, "Body"), contents(body.content)) : null,
    answers(operation.responses),
    form(path, method, operation, list));
}

function showKeys() {
  const place = document.getElementById("keys");
  place.addEventListener("submit", (event) => event.preventDefault());
  for (const [name, own] of Object.entries(api.components.securitySchemes || {})) {
    const input = make("input", { type: "password", autocomplete: "off" });
    input.addEventListener("input", () => {
      keys[name] = input.value.trim();
      for (const button of document.querySelectorAll("button[data-key]")) {
        const wanted = button.getAttribute("data-key");
        button.disabled = wanted !== "" && !keys[wanted];
      }
    });
    place.append(make("label", {}, name, " ", make("span", { class: "note" }, prose(own.description)), input));
  }
}

function show() {
  const nav = document.getElementById("contents");
  const main = document.getElementById("operations");
  main.replaceChildren(make("section", {}, (api.info.description || "").split("\n\n").map((part) => make("p", {}, prose(part)))));
  showKeys();
  for (const tag of api.tags || []) {
    const links = [];
    const shown = [];
    for (const [path, item] of Object.entries(api.paths)) {
      for (const method of METHODS) {
        if (!item[method] || !item[method].tags.includes(tag.name)) continue;
        links.push(make("a", { href: "#" + item[method].operationId }, item[method].summary));
        shown.push(operationOf(path, method, item));
      }
    }
    nav.append(make("h2", {}, tag.name), ...links);
    main.append(make("h2", {}, tag.name), make("p", {}, prose(tag.description)), ...shown);
  }
  document.body.setAttribute("data-shown", String(main.querySelectorAll("article").length));
}

function complain(error) {
  const place = document.getElementById("problem");
  place.hidden = false;
  place.textContent = "This page cannot be shown: " + (error && error.message ? error.message : error);
}

window.addEventListener("error", (event) => complain(event.error || event.message));
window.addEventListener("unhandledrejection", (event) => complain(event.reason));

fetch(root + "/openapi.json", { credentials: "omit" })
  .then((answer) => {
    if (!answer.ok) throw new Error("openapi.json: " + answer.status);
    return answer.json();
  })
  .then((found) => {
    api = found;
    show();
  })
  .catch(complain);
