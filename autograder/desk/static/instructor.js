// Fetches the instructor's page again every few seconds, and replaces the parts of it that may have changed. A part in
// which somebody reads on by keyboard, or has opened something, stays until they have left it.
"use strict";

const EVERY = 5000; // milliseconds
const SHARE = 20; // a page that takes long to make, of a large class, is asked for less often: one part in so many
const key = document.querySelector('meta[name="desk-token"]')?.content ?? "";

async function refresh() {
  const begun = performance.now();
  if (!document.hidden) await fetchAgain();
  setTimeout(refresh, Math.max(EVERY, SHARE * (performance.now() - begun)));
}

async function fetchAgain() {
  try {
    const answer = await fetch(location.pathname + location.search, { headers: key ? { "X-Desk-Token": key } : {} });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      const isInUse = part.contains(document.activeElement) || part.querySelector("details[open]");
      if (fresh && !isInUse && fresh.innerHTML !== part.innerHTML) part.replaceChildren(...fresh.childNodes);
    }
  } catch {
    // the desk is being started again: the next time may work
  }
}

setTimeout(refresh, EVERY);
