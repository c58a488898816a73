// Times as sources write them, without a configured format: epochs, ISO 8601, and day before
// month. The result is RFC 3339, or local time if the source names no zone: the host knows
// the connection's.

const CLOCK =
  "(?:(?:[Tt]|[ ,]+(?:às )?)([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(\\.[0-9]+)?)?\\s*" +
  "(Z|z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$";
const YEAR_FIRST = new RegExp(`^([0-9]{4})([-/])([0-9]{1,2})\\2([0-9]{1,2})${CLOCK}`);
const DAY_FIRST = new RegExp(`^([0-9]{1,2})([-/.])([0-9]{1,2})\\2([0-9]{4})${CLOCK}`);

/** Returns a time, or undefined for a text that is none. */
export function timeOf(given) {
  const text = given.trim();
  if (/^[0-9]{9,16}(\.[0-9]*)?$/.test(text)) {
    return epoch(text.split(".")[0]);
  }
  let parts = YEAR_FIRST.exec(text);
  let [year, month, day] = [parts?.[1], parts?.[3], parts?.[4]].map(Number);
  if (parts === null) {
    parts = DAY_FIRST.exec(text);
    [day, month, year] = [parts?.[1], parts?.[3], parts?.[4]].map(Number);
    // The month comes first where the second number can only be a day.
    if (month > 12) {
      [month, day] = [day, month];
    }
  }
  if (parts === null) {
    return undefined;
  }
  const [hour, minute, second] = parts.slice(5, 8).map((part) => Number(part ?? 0));
  const isDay = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days(year, month);
  const zone = zoneOf(parts[9] ?? "");
  if (!isDay || hour > 23 || minute > 59 || second > 60 || zone === undefined) {
    return undefined;
  }
  const fraction = (parts[8] ?? "").slice(0, 10);
  const clock = [hour, minute, Math.min(second, 59)].map(two).join(":");
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}T${clock}${fraction}${zone}`;
}

/** Reads seconds, milliseconds or microseconds: nine digits or more are after 1973. */
function epoch(digits) {
  if (digits.length === 15) {
    return undefined;
  }
  const number = Number(digits.length === 16 ? digits.slice(0, 13) : digits);
  const time = new Date(number > 1e11 ? number : number * 1000);
  return time.toISOString().replace(".000Z", "Z");
}

function zoneOf(text) {
  if (!/^[+-]/.test(text)) {
    return text === "" ? "" : "Z";
  }
  const [hours, minutes] = [text.slice(1, 3), text.slice(3).replace(":", "") || "00"];
  return hours < "15" && minutes < "60" ? `${text[0]}${hours}:${minutes}` : undefined;
}

function two(number) {
  return String(number).padStart(2, "0");
}

function days(year, month) {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
