// What converters and adapters share, and converters need. `index.d.ts` describes it.

export { bodyText, header, parse, queryField } from "./src/body.js";
export { parseForm } from "./src/form.js";
export { attribute, conversion, defineConverter, ignored, invalid, lead, listing, readEach, usualSecrets } from "./src/items.js";
export { jsonText, parseJson } from "./src/json.js";
export { at, list, number, text, texts } from "./src/path.js";
export { description, note, problem } from "./src/plugin.js";
export { email, join, phone, time, yes } from "./src/values.js";
