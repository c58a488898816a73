// Comfort for the console; every page works without it. Pages with [data-live] are read again when the
// service tells them that something is new, and keep what the operator has opened or typed.
"use strict";
(() => {
  const live = () => document.querySelector("main[data-live]");

  async function refresh() {
    const old = live();
    const busy = old && (old.contains(document.activeElement) && document.activeElement.matches("input, select, textarea"));
    if (!old || document.hidden || busy || document.querySelector("details[open]")) return;
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // What has ended is no longer live: its page is shown for the last time, and no longer followed.
    const fresh = page.querySelector("main");
    if (!fresh || (fresh.matches("[data-live]") && fresh.textContent === old.textContent)) return;
    const focus = document.activeElement && document.activeElement.getAttribute("href");
    old.replaceWith(document.adoptNode(fresh));
    const link = focus && [...fresh.querySelectorAll("a")].find((one) => one.getAttribute("href") === focus);
    if (link) link.focus();
    follow();
  }

  // A hidden page holds no stream. When the page becomes visible again, it reloads at once.
  let stream = null;
  function follow() {
    if (document.hidden || !live()) {
      if (stream) stream.close();
      stream = null;
    } else if (!stream) {
      stream = new EventSource("/console/live");
      stream.addEventListener("changed", () => refresh().catch(() => {}));
    }
  }
  follow();
  document.addEventListener("visibilitychange", () => {
    follow();
    refresh().catch(() => {});
  });
  addEventListener("pagehide", () => stream && stream.close());

  // A second thought before what cannot be undone.
  document.addEventListener("submit", (event) => {
    const question = event.submitter && event.submitter.dataset.ask;
    if (question && !confirm(question)) event.preventDefault();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = !navigator.clipboard;
})();
