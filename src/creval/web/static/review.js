// Keyboard shortcuts, and saving without a page load. All pages also work without JavaScript, with links and forms.

import { markBroken } from "./broken.js";
import { follow, help, showHelp, typing } from "./keys.js";
import { zoom } from "./zoom.js";

const items = () => [...document.querySelectorAll(".item")];
const lines = () => [...document.querySelectorAll("a[data-line]")];

// ---- the current item

let current = "";

function mark(item, focus = true) {
  if (!item) return false;
  for (const other of document.querySelectorAll(".item[aria-current]")) {
    other.removeAttribute("aria-current");
  }
  item.setAttribute("aria-current", "true");
  if (item.id !== current && focus) history.replaceState(null, "", `#${item.id}`);
  current = item.id;
  if (focus) {
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }
  return true;
}

const currentItem = () => document.getElementById(current);

function move(by) {
  const all = items();
  if (all.length) {
    const place = all.findIndex((item) => item.id === current);
    return mark(all[Math.min(Math.max(place + by, 0), all.length - 1)]);
  }
  const links = lines();
  const place = links.indexOf(document.activeElement);
  links[Math.min(Math.max(place + by, 0), links.length - 1)]?.focus();
  return links.length > 0;
}

function arrive() {
  const named = location.hash && document.getElementById(location.hash.slice(1));
  const item = named && named.matches(".item") ? named : null;
  if (item) mark(item);
  else mark(document.querySelector(".item.open") ?? items()[0], false);
}

// ---- unsaved changes

const saved = new WeakSet(); // cards that are saved or replaced

function changed(item) {
  if (saved.has(item)) return false;
  return [...item.querySelectorAll("textarea, input[type=radio], option")].some((field) => {
    if (field.matches("textarea")) return field.value !== field.defaultValue;
    return field.matches("input")
      ? field.checked !== field.defaultChecked
      : field.selected !== field.defaultSelected;
  });
}

const unsaved = (item) => changed(item) || item.matches(".unsaved");

window.addEventListener("beforeunload", (event) => {
  if (items().some(unsaved)) event.preventDefault();
});

// ---- saving, one request at a time

let queue = Promise.resolve();
let waiting = 0;
let released = Promise.resolve(); // resolves on pointer up: a card is not replaced while its button is pressed

function later(work) {
  waiting += 1;
  queue = queue.then(work).finally(() => {
    waiting -= 1;
  });
  return true;
}

document.addEventListener("pointerdown", () => {
  released = new Promise((resolve) => {
    const up = () => setTimeout(resolve, 0);
    for (const name of ["pointerup", "pointercancel"]) {
      document.addEventListener(name, up, { once: true });
    }
  });
});

async function post(address, sent) {
  const body = JSON.stringify(sent);
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      keepalive: body.length < 20000, // sent even if the page is closed
    });
    const kind = answer.headers.get("Content-Type") ?? "";
    if (kind.startsWith("application/json")) return await answer.json();
    return { ok: false, said: `Not saved: ${await answer.text()}` };
  } catch {
    return { ok: false, said: "Not saved: creval does not respond. Is it still running? Your text is still here." };
  }
}

const asks = (item) => item.querySelector(".theirs") !== null;

// In a conflict, only a choice between both versions (`sure`) is sent.
function act(item, name, sure = false) {
  if (!item) return false;
  return later(async () => {
    const card = document.getElementById(item.id);
    if (asks(card) && !sure) {
      say("Choose first: t keeps the saved version, m saves yours.");
      return;
    }
    const form = card.querySelector("form");
    const sent = { ...Object.fromEntries(new FormData(form)), act: name };
    card.setAttribute("aria-busy", "true");
    const found = await post(form.action, sent);
    if (found.ok) saved.add(card);
    await released;
    card.removeAttribute("aria-busy");
    if (!found.cards) complain(card, found.said);
    take(found, card.id, sent);
  });
}

function acceptAll() {
  const form = document.querySelector("form.all");
  if (!form) return false;
  return later(async () => {
    const left = items().find(unsaved);
    if (left) {
      mark(left);
      say("Nothing was accepted: this item is not saved yet.");
      return;
    }
    const found = await post(form.action, Object.fromEntries(new FormData(form)));
    take(found);
    if (found.ok && found.onward) location.assign(found.onward);
  });
}

// ---- results

function say(words) {
  document.getElementById("said").textContent = words;
}

function complain(card, words) {
  card.querySelector(".wrong")?.remove();
  const wrong = document.createElement("p");
  wrong.className = "wrong";
  wrong.setAttribute("role", "alert");
  wrong.textContent = words;
  card.querySelector("header").after(wrong);
}

function take(found, anchor = "", sent = {}) {
  const cards = Object.entries(found.cards ?? {}).map(([name, html]) => [name, made(html)]);
  if (cards.some(([name, card]) => about(document.getElementById(name)) !== about(card))) {
    // The order of items has changed, so the cards cannot be replaced one by one.
    history.replaceState({ said: found.said }, "", `#${cards[0][0]}`);
    location.reload();
    return;
  }
  for (const [name, card] of cards) put(name, card, name === anchor ? sent : {});
  const heading = anchor && document.querySelector(`#${anchor} h2`);
  const name = heading && (heading.querySelector("small") ?? heading).textContent;
  say(name ? `${name}: ${found.said}` : found.said);
  if (!found.token) return;
  for (const field of document.querySelectorAll("input[name=token]")) field.value = found.token;
  document.querySelector("form.all input[name=version]").value = found.version;
  document.getElementById("decided").textContent = found.decided;
  document.getElementById("total").textContent = found.total;
  const asked = document.getElementById("asked-for");
  if (asked) asked.textContent = found.instruction;
}

const about = (item) => item?.querySelector("form").getAttribute("action");

function made(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // the server escapes all texts
  return template.content.querySelector(".item");
}

function put(anchor, fresh, sent) {
  const old = document.getElementById(anchor);
  for (const field of old.querySelectorAll("textarea")) {
    // Keep text that was typed since the request, or that was not part of it.
    if (field.value !== (sent[field.name] ?? field.defaultValue)) {
      fresh.querySelector(`[name=${field.name}]`).value = field.value;
    }
  }
  const details = fresh.querySelector("details");
  if (details) details.open = old.querySelector("details")?.open ?? false;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  saved.add(old); // losing the focus on removal must not save it again
  old.replaceWith(fresh);
  watch(fresh);
  if (anchor === current) mark(fresh, false);
  if (focused) refocus(fresh, focused);
}

function refocus(fresh, before) {
  const same = [...fresh.querySelectorAll("textarea, select, input, button, summary")].find(
    (field) =>
      field.localName === before.localName && field.name === before.name &&
      (field.localName === "textarea" || field.value === before.value) &&
      !field.matches(".unseen"),
  );
  (same ?? fresh).focus({ preventScroll: true });
  if (same?.localName === "textarea") {
    same.setSelectionRange(before.selectionStart, before.selectionEnd);
  }
}

function watch(item) {
  const look = () => item.classList.toggle("changed", unsaved(item));
  item.addEventListener("input", look);
  look();
}

// ---- leaving a field, buttons, links

function leave(event) {
  const item = event.target.closest?.(".item");
  if (!item || event.target === item) return false;
  mark(item);
  if (changed(item)) act(item, "save");
  return true;
}

document.addEventListener("focusin", (event) => {
  const item = event.target.closest(".item");
  if (item && item.id !== current) mark(item, false);
});

document.addEventListener("focusout", (event) => {
  const item = event.target.closest(".item");
  if (item && !item.contains(event.relatedTarget) && changed(item)) act(item, "save");
});

document.addEventListener("change", (event) => {
  const item = event.target.closest(".item");
  if (item && event.target.matches("select, input[type=radio]")) act(item, "save");
});

document.addEventListener("submit", (event) => {
  const item = event.target.closest(".item");
  if (!item && !event.target.matches("form.all")) return;
  event.preventDefault();
  if (item) act(item, event.submitter?.value ?? "save", event.submitter?.matches(".acts *, .which *"));
  else acceptAll();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || !waiting || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  later(() => location.assign(link.href));
});

// ---- keys

function choose(which) {
  const button = currentItem()?.querySelector(`[data-which="${which}"]`);
  return button != null && act(currentItem(), button.value, true);
}

const lens = zoom();
const go = (name) => later(() => follow(name));

const moves = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const keys = {
  a: () => act(currentItem(), "accept"),
  d: () => act(currentItem(), "drop"),
  o: () => act(currentItem(), "reopen"),
  e: () => {
    mark(currentItem());
    const field = currentItem()?.querySelector("textarea, select, input[type=radio]:checked");
    field?.focus();
    if (field?.localName === "textarea") field.setSelectionRange(field.value.length, field.value.length);
    return field != null;
  },
  "+": () => {
    const adding = document.querySelector("details.add");
    if (!adding) return false;
    adding.open = true;
    adding.querySelector("textarea").focus();
    return true;
  },
  "/": () => {
    const box = document.getElementById("q");
    box?.focus();
    return box != null;
  },
  t: () => choose("theirs"),
  m: () => choose("mine"),
  A: acceptAll,
  n: () => go("next"),
  p: () => go("previous"),
  u: () => go("onward"),
  l: () => go("list"),
  z: () => lens?.open(0),
  "?": showHelp,
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || help.open) return;
  if (lens?.dialog.open) {
    if (lens.press(event.key)) event.preventDefault();
    return;
  }
  if (event.altKey) return;
  if (event.ctrlKey || event.metaKey) {
    const item = event.key === "Enter" ? event.target.closest(".item") ?? currentItem() : null;
    if (!item) return;
    event.preventDefault();
    act(item, "accept");
    mark(item);
    return;
  }
  if (event.key === "Escape" && leave(event)) event.preventDefault();
  if (typing(event)) return;
  if (event.target.matches("input[type=radio]") && event.key.startsWith("Arrow")) return;
  if (event.key in moves) {
    if (move(moves[event.key])) event.preventDefault();
  } else if (!event.repeat && Object.hasOwn(keys, event.key) && keys[event.key]()) {
    event.preventDefault();
  }
});

document.documentElement.classList.add("live");
items().forEach(watch);
if (history.state?.said) say(history.state.said);
arrive();
window.addEventListener("hashchange", arrive);
// A page from the back-forward cache may be outdated.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && !items().some(unsaved)) location.reload();
});
markBroken();
