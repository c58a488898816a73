// Comfort for the console; every page works without it. Pages with [data-live] are read again every
// few seconds, and keep what the operator has opened or typed.
"use strict";
(() => {
  const SECONDS = 3;

  const live = () => document.querySelector("main[data-live]");

  async function refresh() {
    const old = live();
    const busy = old && (old.contains(document.activeElement) && document.activeElement.matches("input, select, textarea"));
    if (!old || document.hidden || busy || document.querySelector("details[open]")) return;
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("main[data-live]");
    if (!fresh || fresh.textContent === old.textContent) return;
    const focus = document.activeElement && document.activeElement.getAttribute("href");
    old.replaceWith(document.adoptNode(fresh));
    const link = focus && [...live().querySelectorAll("a")].find((one) => one.getAttribute("href") === focus);
    if (link) link.focus();
  }

  if (live()) setInterval(() => refresh().catch(() => {}), SECONDS * 1000);

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
