// Checks what goes to the host against the contract: the engine would name neither the field nor the line.

import { isObject } from "./json.js";
import { shown } from "./log.js";

export const TEXT = "a text";
export const BOOLEAN = "true or false";
export const NUMBER = "a number";
export const optional = (shape) => ({ optional: shape });
export const listOf = (shape) => ({ listOf: shape });

const TYPES = { [TEXT]: "string", [BOOLEAN]: "boolean", [NUMBER]: "number" };

/** Throws a mistake of the plugin. */
export function fail(field, expected, value) {
  throw new TypeError(`\`${field}\` must be ${expected}, not ${shown(value, true).slice(0, 80)}`);
}

/** Returns a value, or throws if it is not of a shape: a type, `optional`, `listOf`, a pair, or an object of shapes. */
export function check(field, value, shape) {
  if (TYPES[shape] !== undefined) {
    if (typeof value !== TYPES[shape]) {
      fail(field, shape, value);
    }
  } else if (shape.optional !== undefined) {
    if (value !== undefined && value !== null) {
      check(field, value, shape.optional);
    }
  } else if (shape.listOf !== undefined || Array.isArray(shape)) {
    if (!Array.isArray(value) || (Array.isArray(shape) && value.length !== shape.length)) {
      fail(field, Array.isArray(shape) ? "a name and a value" : "a list", value);
    }
    value.forEach((one, index) => check(`${field}[${index}]`, one, shape.listOf ?? shape[index]));
  } else {
    if (!isObject(value)) {
      fail(field, "an object", value);
    }
    Object.entries(shape).forEach(([name, inner]) => check(`${field}.${name}`, value[name], inner));
  }
  return value;
}
