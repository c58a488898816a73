// The outcome of a message: first the configured outcomes decide, then the list of
// templates; otherwise the message is delivered.

import { listed } from "./templates.js";
import { Malformed, requested } from "./requested.js";

export function answer(config, message) {
  let template;
  try {
    template = requested(message.template);
  } catch (error) {
    if (error instanceof Malformed) {
      return no("request", "", error.message);
    }
    throw error;
  }
  const configured = (config.outcomes ?? []).find(
    (outcome) =>
      (outcome.recipient === undefined || sameRecipient(outcome.recipient, message.recipient)) &&
      (outcome.template === undefined || outcome.template === template.name),
  );
  if (configured !== undefined) {
    return configuredOutcome(configured);
  }
  const misfit = config.templates === undefined ? undefined : misfitOf(config.templates, template);
  return (
    misfit ?? {
      tag: "accepted",
      val: {
        externalIds: [externalId(message.messageId)],
        recipientId: message.recipient,
        status: config.status ?? "delivered",
        attributes: [],
      },
    }
  );
}

/** Returns the sandbox's id of a message. */
export function externalId(messageId) {
  return `sandbox:${messageId}`;
}

export function refused(category, code, text, retryAfterSeconds) {
  return { category, code, title: "", text, details: "", retryAfterSeconds };
}

function no(category, code, text, retryAfterSeconds) {
  return { tag: "refused", val: refused(category, code, text, retryAfterSeconds) };
}

function sameRecipient(configured, recipient) {
  const digits = (text) => text.replace(/[^0-9]/g, "");
  return configured === recipient || (digits(configured) !== "" && digits(configured) === digits(recipient));
}

function configuredOutcome({ category, code = "sandbox", text, retryAfterSeconds }) {
  text ??= `the sandbox is configured to answer \`${category}\``;
  return category === "unknown" ? { tag: "unknown", val: text } : no(category, code, text, retryAfterSeconds);
}

/** Returns the reason why the list of templates does not allow the message. */
function misfitOf(templates, { name, language, components }) {
  const template = templates.find((known) => known.name === name && known.language === language);
  if (template === undefined) {
    return no("unknown-template", "template-unknown", `there is no template \`${name}\` in \`${language}\``);
  }
  const { status, placeholders } = listed(template);
  if (status !== "approved") {
    return no("template", "template-not-approved", `the template \`${name}\` in \`${language}\` is ${status}`);
  }
  const buttons = (template.buttons ?? []).map((_, index) => ["button", index]);
  for (const [component, index] of [["header", 0], ["body", 0], ...buttons]) {
    const here = (part) => part.component === component && part.index === index;
    const wanted = placeholders.filter(here).map(({ kind }) => kind);
    // A quick-reply button takes no parameters, and its payload is ignored.
    const came = (components.find(here)?.kinds ?? []).filter((kind) => kind !== "payload");
    if (wanted.join() !== came.join()) {
      const part = component === "button" ? `button ${index}` : component;
      const text = `the template \`${name}\` needs ${list(wanted)} in its ${part}, but got ${list(came)}`;
      return no("request", "parameters", text);
    }
  }
  return undefined;
}

function list(kinds) {
  return kinds.length === 0 ? "nothing" : kinds.join(", ");
}
