/** Returns a delivery with a body: a text, or bytes that are not UTF-8. */
export function delivery(body, headers = [["content-type", "application/json"]], query = []) {
  return {
    id: "1",
    receivedAt: "2026-01-01T12:00:00Z",
    method: "POST",
    path: "/",
    query,
    headers,
    body: { tag: typeof body === "string" ? "text" : "bytes", val: body },
    config: "{}",
    context: [],
  };
}
