// What a converter needs beside the language. `index.d.ts` describes it for editors.

import "./console.js";

export { bodyText, contentType, header, parseForm, queryField } from "./body.js";
export { Fields } from "./fields.js";
export { conversion, defineConverter, formsIn, ignored, invalid, lead, usualSecrets } from "./items.js";
export { isAbsent, isObject, jsonText, parseJson, textAt, textOf } from "./json.js";
export { parseBody } from "./lead-body.js";
export { description, note, problem } from "./plugin.js";
