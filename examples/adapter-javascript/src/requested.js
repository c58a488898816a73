// The template of a send: reads the JSON text of the REST interface and tolerates
// known variants. Copy this file into your own adapter.

import { isObject, parseBody, textOf } from "../../converter-javascript/src/reading.js";

/** A template without a meaning; the message says where. */
export class Malformed extends Error {}

/**
 * Returns name, language and components: each with its `component`, the `index` of a
 * button (otherwise 0), and the kinds of its parameters.
 */
export function requested(text) {
  const template = parseBody({ tag: "text", val: text });
  if (template === undefined) {
    throw new Malformed("the template is not valid JSON");
  }
  const name = textOf(template?.name);
  if (name === undefined) {
    throw new Malformed("the template has no `name`");
  }
  const language = textOf(template.language?.code) ?? textOf(template.language);
  if (language === undefined) {
    throw new Malformed("the template has no `language.code`");
  }
  let buttons = 0;
  const components = list(template.components, "components").map((value, number) => {
    const path = `components.${number}`;
    const component = word(value?.type);
    if (!["header", "body", "button"].includes(component)) {
      throw wrong(`${path}.type`, "is not header, body or button");
    }
    const place = component === "button" ? buttons++ : 0;
    const index = component === "button" ? buttonIndex(value.index ?? place, `${path}.index`) : 0;
    const parameters = list(value.parameters, `${path}.parameters`);
    const kinds = parameters.map((parameter, at) => kind(parameter, `${path}.parameters.${at}`));
    return { component, index, kinds };
  });
  return { name, language, components };
}

function buttonIndex(value, path) {
  const text = typeof value === "number" ? String(value) : textOf(value);
  if (text === undefined || !/^[0-9]{1,9}$/.test(text)) {
    throw wrong(path, "is no number");
  }
  return Number(text);
}

/** Returns the kind of a parameter after checking its value. */
function kind(parameter, path) {
  const kind = word(parameter?.type);
  if (kind === "") {
    throw wrong(`${path}.type`, "is missing");
  }
  if (kind === "text" && typeof parameter.text !== "string" && textOf(parameter.text) === undefined) {
    throw wrong(`${path}.text`, "is no text");
  }
  if (["document", "image", "video"].includes(kind)) {
    const file = isObject(parameter[kind]) ? parameter[kind] : {};
    if (textOf(file.link) === undefined && textOf(file.id) === undefined) {
      throw wrong(`${path}.${kind}`, "has neither `link` nor `id`");
    }
  }
  return kind;
}

function list(value, path) {
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    throw new Malformed(`\`${path}\` of the template is no list`);
  }
  return value;
}

function word(value) {
  return (textOf(value) ?? "").toLowerCase();
}

function wrong(path, what) {
  return new Malformed(`\`${path}\` of the template ${what}`);
}
