// Recognises the names of fields, and the shapes of their values.

import * as names from "./names.js";

/** The names that were folded; a longer body has few others. */
const FOLDED = new Map();
const MAX_FOLDED = 10_000;

/** Returns letters and digits in lower case, without accents and the number of `q3_name`. */
export function fold(name) {
  let out = FOLDED.get(name);
  if (out === undefined) {
    out = folded(name);
    if (FOLDED.size < MAX_FOLDED) {
      FOLDED.set(name, out);
    }
  }
  return out;
}

function folded(name) {
  const own = (name.startsWith("q") ? name.replace(/^q[0-9]+_(?=.)/, "") : name).toLowerCase();
  return /^[a-z0-9]*$/.test(own) ? own : own.normalize("NFD").replace(/[^\p{L}\p{N}]/gu, "");
}

export function digits(text) {
  return text.replace(/[^0-9]/g, "");
}

/** A switch such as `whatsapp: 1` is no phone. */
export function isPhoneNumber(text) {
  return digits(text).length >= 4;
}

export function looksLikePhone(text) {
  const { length } = digits(text);
  const isDate = /^[0-9]{4}-[0-9]{2}-[0-9]{2}|^[0-9]{2}\/[0-9]{2}\/[0-9]{4}/.test(text);
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return length >= 8 && length <= 20 && text.length <= 40 && letters <= 5 && !text.includes("//") && !isDate;
}

export function looksLikeEmail(text) {
  return text.length <= 254 && /^[^\s@]+@[^\s@]*\.[^\s@]*$/.test(text);
}

export function looksLikeName(text) {
  return /\p{L}/u.test(text) && !looksLikeEmail(text);
}

export function isPhoneName(name) {
  return names.PHONE_PARTS.some((part) => name.includes(part)) && !name.endsWith("id") && !isOthers(name);
}

export function isEmailName(name) {
  return names.EMAIL_PARTS.some((part) => name.includes(part)) && !isOthers(name);
}

/** Whether a question asks for the whole name: `Qual o seu nome completo?`. */
export function isNameQuestion(name) {
  return names.NAME_PARTS.some((part) => name.includes(part)) && !isOthers(name);
}

export function isFullPhone(text) {
  const { length } = digits(text);
  return /^[+][0-9()+. -]*$/.test(text) && length >= 10 && length <= 15;
}

/** Whether a name is another person's; `client` is the advertiser, `cliente` the lead. */
export function isOthers(name) {
  const isClient = name.includes("client") && (!name.includes("cliente") || name.includes("clientemail"));
  return isClient || names.OTHERS.some((part) => name.includes(part));
}

/**
 * Whether an object of this name is no private person's: it is the advertiser's, one of its
 * staff's, or a thing's, or the contact of one of these.
 */
export function isBusiness(name, inBusiness) {
  const isPublic = isOthers(name) && !names.PRIVATE.some((part) => name.includes(part));
  const isThing = names.LISTING_OBJECTS.includes(name) || names.THINGS.includes(name);
  return isPublic || isThing || (inBusiness && names.CONTACT_OBJECTS.includes(name));
}
