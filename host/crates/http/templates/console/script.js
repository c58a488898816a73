// Comfort for the console; every page works without it. Pages with [data-live] are read again when the
// service tells them that something is new, and keep what the operator has opened or typed. If they cannot be
// read, they say since when they are old, and why.
"use strict";
(() => {
  const live = () => document.querySelector("main[data-live]");

  // The time of what the page shows.
  let seen = new Date();
  const stale = document.getElementById("stale");
  function showStale(why, words, address) {
    const text = document.createElement("p");
    text.className = "notice warn";
    text.append(`Not updated since ${seen.toISOString().slice(11, 19)} UTC: ${why}. `);
    if (address) {
      const link = document.createElement("a");
      link.href = address;
      link.textContent = words;
      text.append(link);
    }
    // The same words are not announced twice.
    if (stale.textContent !== text.textContent) stale.replaceChildren(text);
  }

  // Returns the page as it is now. Without it, says why.
  async function read() {
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.redirected) showStale("you are signed out", "Sign in", answer.url);
      else if (!answer.ok) showStale(`the service answers ${answer.status}`, "Load the page again", location.href);
      else return await answer.text();
    } catch {
      showStale("the service cannot be reached");
    }
    return null;
  }

  // Shows the page as it is now. Returns whether it could be read.
  async function refresh() {
    if (document.hidden || !live()) return true;
    const text = await read();
    if (text === null) return false;
    stale.replaceChildren();
    const old = live();
    const busy = old && (old.contains(document.activeElement) && document.activeElement.matches("input, select, textarea"));
    if (!old || busy || document.querySelector("details[open]")) return true;
    seen = new Date();
    const page = new DOMParser().parseFromString(text, "text/html");
    // A rollout or a repair that has ended is no longer live: its page is shown for the last time, and no longer followed.
    const fresh = page.querySelector("main");
    if (!fresh || (fresh.matches("[data-live]") && fresh.textContent === old.textContent)) return true;
    const focus = document.activeElement && document.activeElement.getAttribute("href");
    old.replaceWith(document.adoptNode(fresh));
    const link = focus && [...fresh.querySelectorAll("a")].find((one) => one.getAttribute("href") === focus);
    if (link) link.focus();
    follow();
    return true;
  }

  // A browser opens few connections to one host, so its pages share one stream: the visible page that
  // holds the lock has it, and tells the others. Where there are no locks, each page has its own.
  const others = new BroadcastChannel("leadhost-live");
  others.addEventListener("message", (event) => hear(event.data));
  let following = null;
  function follow() {
    if (document.hidden || !live()) {
      leave();
    } else if (!following) {
      following = new AbortController();
      const { signal } = following;
      if (!navigator.locks) return void open(signal);
      navigator.locks.request("leadhost-live", { signal }, () => open(signal)).catch(() => {});
    }
  }

  function leave() {
    if (following) following.abort();
    following = null;
  }

  // Holds the stream until this page leaves it.
  function open(signal) {
    const stream = new EventSource("/console/live");
    for (const what of ["changed", "open"]) stream.addEventListener(what, () => tell(what));
    stream.addEventListener("error", () => (stream.readyState === EventSource.CLOSED ? refused() : tell("broken")));
    return new Promise((end) => {
      signal.addEventListener("abort", () => {
        stream.close();
        end();
      });
    });
  }

  function tell(what) {
    others.postMessage(what);
    hear(what);
  }

  function hear(what) {
    if (what !== "open" || stale.hasChildNodes()) refresh();
  }

  // The browser connects a broken stream again by itself, but not one that the service or a proxy refused.
  // The next page tries for itself.
  async function refused() {
    const isRead = await refresh();
    leave();
    if (isRead) showStale("the service sends this page no updates", "Load the page again", location.href);
    else setTimeout(follow, 15000);
  }
  follow();
  document.addEventListener("visibilitychange", () => {
    follow();
    refresh();
  });
  addEventListener("pagehide", () => {
    leave();
    // The browser may show this page again, and then nothing is under way.
    for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
  });
  addEventListener("pageshow", (event) => event.persisted && follow());

  // Asks again before a change that cannot be undone. A form that takes seconds is sent once, and says that it works.
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button) return;
    const isSent = event.target.querySelector("button[aria-busy]");
    if (isSent || (button.dataset.ask && !confirm(button.dataset.ask))) {
      event.preventDefault();
    } else if ("busy" in button.dataset) {
      button.setAttribute("aria-busy", "true");
    }
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = !navigator.clipboard;
})();
