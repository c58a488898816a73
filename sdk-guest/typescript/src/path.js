// Reads a tree by paths: `contact.phones[0]`, `leads[*]`, `"cpf/cnpj"`, `phones[?type=home].value`.

import { isAbsent, isObject, textOf } from "./json.js";

/** Returns the first value that the path leads to. */
export function at(value, path) {
  return found(value, path)[0];
}

/** Returns the first text there, of a list that of its elements. */
export function text(value, path) {
  return first(list(value, path), textOf);
}

/** Returns the first number there, or text that is a number as people write it: `12,5` or `1.234,56`. */
export function number(value, path) {
  return first(list(value, path), numberOf);
}

/** Returns the values there: of one list its elements, and of one other value a list of it. */
export function list(value, path) {
  const values = found(value, path);
  return values.length === 1 && Array.isArray(values[0]) ? values[0] : values;
}

/** Returns all texts there. */
export function texts(value, path) {
  const all = found(value, path).flat().map(textOf);
  return all.filter((one) => one !== undefined);
}

function first(values, read) {
  for (const value of values) {
    const one = read(value);
    if (one !== undefined) {
      return one;
    }
  }
  return undefined;
}

/** Groups of three digits, of which `500.000` has five hundred thousand, and decimals after the other sign. */
const GROUPED = /^([+-]?[1-9][0-9]{0,2}(?:([.,])[0-9]{3})(?:\2[0-9]{3})*)(?:(?!\2)[.,]([0-9]+))?$/;

function numberOf(value) {
  const text = typeof value === "boolean" ? undefined : textOf(value);
  const isText = typeof value === "string" || isObject(value);
  const [, groups, , decimals = "0"] = (isText && GROUPED.exec(text)) || [];
  const written = groups === undefined ? text?.replace(",", ".") : `${groups.replace(/[.,]/g, "")}.${decimals}`;
  const isNumber = written !== undefined && /^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(written);
  return isNumber && Number.isFinite(Number(written)) ? Number(written) : undefined;
}

/** Returns all values that a path leads to, without absent ones; without a path, the value itself. */
function found(value, path) {
  const steps = path === undefined ? [] : stepsOf(path);
  return follow(value, steps).filter((one) => !isAbsent(one));
}

function follow(value, [step, ...rest]) {
  if (step === undefined) {
    return [value];
  }
  if (step === each && isObject(value)) {
    // What is there once is its own element, unless only its members lead further.
    const members = Object.values(value);
    const own = rest.length > 0 || !members.every(isObject) ? follow(value, rest) : [];
    return own.some((one) => !isAbsent(one)) ? own : members.flatMap((one) => follow(one, rest));
  }
  return step(value).flatMap((one) => follow(one, rest));
}

// A step gives the next values of one value. What occurs once in XML or in a form is no list, but
// stands for a list of one.

function key(name) {
  const alike = (fields, name) => {
    const folded = lowerAscii(name);
    return Object.keys(fields).find((other) => other.length === name.length && lowerAscii(other) === folded);
  };
  // Elements of XML are read without prefixes.
  const local = name.slice(name.lastIndexOf(":") + 1);
  return function step(value) {
    if (Array.isArray(value)) {
      const isIndex = /^[0-9]+$/.test(name) && Number(name) < value.length;
      return isIndex ? [value[Number(name)]] : value.slice(0, 1).flatMap(step);
    }
    if (!isObject(value)) {
      return [];
    }
    const own = Object.hasOwn(value, name) ? name : (alike(value, name) ?? alike(value, local));
    return own === undefined ? [] : [value[own]];
  };
}

function index(number) {
  return (value) => {
    const values = Array.isArray(value) ? value : [value];
    return values.slice(number, number + 1);
  };
}

function all(value) {
  return isObject(value) ? Object.values(value) : [value].flat();
}

function each(value) {
  return [value].flat();
}

function where(path, wanted) {
  const steps = stepsOf(path);
  const holds = (value) => follow(value, steps).some((one) => textOf(one) === wanted);
  return (value) => [value].flat().filter(holds);
}

function lowerAscii(name) {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const QUOTED = String.raw`"((?:\\.|[^"\\])*)"`;
const DOT = String.raw`(?!^)\.`;
const KEY = `(?:^|${DOT})(?:${QUOTED}|([^."[][^.[]*))`;
const FILTER = String.raw`\?([^=[]*)=(?:${QUOTED}|((?!")[^\]]*))`;
const BRACKET = String.raw`(?:${DOT})?\[(?:${QUOTED}|${FILTER}|\s*(\*|[0-9]+)\s*)\]`;
const STEP = new RegExp(`${KEY}|${BRACKET}`, "sy");

const MAX_KEPT = 1000;
/** The steps by their paths, each of which is followed for every lead. */
const kept = new Map();

/** Returns the steps of a path. A malformed one is a mistake of the plugin. */
function stepsOf(path) {
  let steps = kept.get(path);
  if (steps === undefined) {
    steps = stepsIn(String(path).trim());
    if (kept.size < MAX_KEPT) {
      kept.set(path, steps);
    }
  }
  return steps;
}

function stepsIn(path) {
  const steps = [];
  let end = 0;
  do {
    STEP.lastIndex = end;
    const step = STEP.exec(path);
    if (step === null) {
      throw new TypeError(`path \`${path}\`: ${mistake(path.slice(end))}`);
    }
    end = STEP.lastIndex;
    steps.push(stepOf(...step.slice(1)));
  } while (end < path.length);
  return steps;
}

function stepOf(quotedKey, plainKey, bracketKey, filter, quotedText, plainText, place) {
  const quoted = quotedKey ?? bracketKey;
  if (quoted !== undefined) {
    return key(unescaped(quoted));
  }
  if (filter !== undefined) {
    return where(filter, quotedText === undefined ? plainText.trim() : unescaped(quotedText));
  }
  const name = plainKey ?? place;
  if (name === "*") {
    return plainKey === undefined ? each : all;
  }
  return plainKey === undefined ? index(Number(name)) : key(name);
}

function unescaped(quoted) {
  return quoted.replace(/\\(.)/gs, "$1");
}

/** Says what is wrong with the rest of a path. */
function mistake(rest) {
  if (rest === "") {
    return "it is empty";
  }
  if (/^\.?\[/.test(rest)) {
    return rest.includes("]") ? "a bracket holds an index, *, a quoted key or ?key=value" : "a bracket is not closed";
  }
  if (/^\.?"/.test(rest)) {
    return "a quote is not closed";
  }
  return rest.startsWith(".") ? "a key is missing beside a dot" : "a dot is missing after a bracket or a quote";
}
