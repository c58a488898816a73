// The configured templates as a provider lists them.

export function listed({ name, language, text, header, buttons = [], status = "approved" }) {
  const components = [];
  const placeholders = [];
  if (["document", "image", "video"].includes(header)) {
    components.push({ type: "header", format: header });
    placeholders.push({ component: "header", index: 0, kind: header, name: "" });
  } else if (header !== undefined) {
    components.push({ type: "header", format: "text", text: header });
    placeholders.push(...inText("header", 0, header));
  }
  components.push({ type: "body", text });
  placeholders.push(...inText("body", 0, text));
  buttons.forEach((button, index) => {
    components.push({ type: "button", index, text: button });
    placeholders.push(...inText("button", index, button));
  });
  return {
    name,
    language,
    status,
    category: "",
    reason: "",
    text,
    placeholders,
    components: JSON.stringify(components),
  };
}

/**
 * Returns the contents of `{{1}}` or `{{name}}`: each once, first numbers in ascending
 * order, then names in their order in the text.
 */
function inText(component, index, text) {
  const names = [...new Set(Array.from(text.matchAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g), (found) => found[1]))];
  const isNumber = (name) => /^[0-9]+$/.test(name);
  const size = (name) => (isNumber(name) ? Number(name) : Infinity);
  return names
    .sort((a, b) => (size(a) === size(b) ? 0 : size(a) - size(b)))
    .map((name) => ({ component, index, kind: "text", name: isNumber(name) ? "" : name }));
}
