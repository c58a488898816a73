// Ids and time, as the service has them.

import { randomFillSync } from "node:crypto";

/** Microseconds since the epoch. */
export function now() {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}

/** A UUIDv7, its chance drawn for many at once. */
export function uuid() {
  uuid.pool ??= Buffer.alloc(4096);
  uuid.at ??= uuid.pool.length;
  if (uuid.at + 10 > uuid.pool.length) {
    randomFillSync(uuid.pool);
    uuid.at = 0;
  }
  const time = Date.now().toString(16).padStart(12, "0");
  const chance = uuid.pool.toString("hex", uuid.at, uuid.at + 10);
  uuid.at += 10;
  const variant = "89ab"[parseInt(chance[3], 16) & 3];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${chance.slice(0, 3)}-${variant}${chance.slice(4, 7)}-${chance.slice(7, 19)}`;
}
