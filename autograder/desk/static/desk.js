// What the pages do beyond their HTML: a file may be dropped on them, and an attempt's exercises appear as they are
// graded. Without it, everything works by forms and links.
"use strict";

const token = document.querySelector('meta[name="desk-token"]')?.content ?? "";

// text with `code` between backticks, as nodes
function spans(text) {
  return text.split(/`([^`]+)`/).map((piece, number) => {
    if (number % 2 === 0) return document.createTextNode(piece);
    const code = document.createElement("code");
    code.textContent = piece;
    return code;
  });
}

for (const form of document.querySelectorAll("form.drop")) {
  const file = form.querySelector('input[type="file"]');
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  document.addEventListener("dragleave", () => form.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (event.dataTransfer.files.length !== 1 && !file.multiple) return;
    file.files = event.dataTransfer.files;
    form.requestSubmit();
  });
  form.addEventListener("submit", () => {
    form.querySelector("button").disabled = true;
  });
  window.addEventListener("pageshow", () => {
    form.querySelector("button").disabled = false;
  });
}

for (const part of document.querySelectorAll("[data-events]")) {
  const list = part.querySelector(".told");
  const shown = new Set();
  list.replaceChildren();
  const events = new EventSource(part.dataset.events + (token ? `?token=${encodeURIComponent(token)}` : ""));
  events.addEventListener("exercise", (event) => {
    const told = JSON.parse(event.data);
    if (shown.has(told.exercise)) return;
    shown.add(told.exercise);
    const item = document.createElement("li");
    item.append(...spans(told.sentence));
    list.append(item);
  });
  events.addEventListener("done", () => {
    events.close();
    location.reload();
  });
}
