// Keys, the slider and the zoom. Every page works without it, by links and forms.
"use strict";

const typing = (event) =>
  event.target.closest("input:not([type=range]), select, textarea, [contenteditable]") !== null;

function follow(name) {
  const link = document.querySelector(`a[data-key="${name}"]`);
  if (link) link.click();
  return link !== null;
}

// ---- failures and explanations

function show(row) {
  const whys = row.nextElementSibling?.querySelector("details");
  if (whys) whys.open = true;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "center" });
}

function nextFailure() {
  const failed = [...document.querySelectorAll("tr[data-failed]")];
  const here = document.activeElement?.closest("tr.question, tr.whys");
  const behind = failed.find(
    (row) => !here || here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  if (!behind) return follow("failure");
  history.replaceState(null, "", `#${behind.id}`);
  show(behind);
  return true;
}

function toggleExplanations() {
  const all = [...document.querySelectorAll("tr.whys details")];
  const open = all.some((one) => !one.open);
  for (const one of all) one.open = open;
  return all.length > 0;
}

function arrive() {
  const row = location.hash && document.getElementById(location.hash.slice(1));
  if (row && row.matches("tr.question")) show(row);
}

// ---- the slider between two pictures

function slider() {
  const found = document.getElementById("slider");
  if (!found) return null;
  const stage = found.querySelector(".stage");
  const range = found.querySelector("input");
  const form = document.querySelector("form.compare");
  const sides = { left: stage.querySelector(".over"), right: stage.querySelector(".under") };
  const move = () => stage.style.setProperty("--at", `${range.value}%`);
  range.addEventListener("input", move);
  move();
  stage.classList.add("live");
  form.querySelector("button").hidden = true;

  function put(side) {
    const chosen = form.elements[side].selectedOptions[0];
    sides[side].src = chosen.dataset.full;
    sides[side].alt = `${side}: ${chosen.textContent}`;
    stage.querySelector(`.tag.${side}`).textContent = chosen.textContent;
    const address = new URL(location.href);
    address.searchParams.set(side, form.elements[side].value);
    history.replaceState(null, "", address);
    // The same two are compared in the next sample.
    for (const link of document.querySelectorAll(".steps a")) {
      const there = new URL(link.href);
      there.searchParams.set(side, form.elements[side].value);
      link.href = there;
    }
  }
  for (const side of ["left", "right"]) {
    form.elements[side].addEventListener("change", () => put(side));
  }
  return {
    choose(number) {
      const select = form.elements.right;
      const option = [...select.options].filter((one) => one.value !== "source")[number - 1];
      if (!option) return false;
      select.value = option.value;
      put("right");
      return true;
    },
    focus() {
      found.scrollIntoView({ block: "center" });
      range.focus({ preventScroll: true });
      return true;
    },
  };
}

// ---- one picture, as large as it is

function zoom() {
  const dialog = document.getElementById("zoom");
  const links = [...document.querySelectorAll("a.zoom")];
  if (!dialog || !links.length) return null;
  const field = dialog.querySelector(".field");
  const image = field.querySelector("img");
  const button = dialog.querySelector('[data-zoom="size"]');
  let at = 0;
  let held = null;

  function fill() {
    image.src = links[at].href;
    image.alt = links[at].querySelector("img").alt;
    dialog.querySelector("h2").textContent = links[at].dataset.title;
  }
  function size() {
    const full = field.classList.toggle("full");
    button.textContent = full ? "fit" : "full size";
    return true;
  }
  function turn(by) {
    at = (at + by + links.length) % links.length;
    fill(); // what the field shows of it stays where it is, so that pictures can be held together
    return true;
  }
  function open(number) {
    at = number;
    fill();
    dialog.showModal();
    field.focus();
    return true;
  }

  links.forEach((link, number) =>
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open(number);
    }),
  );
  image.addEventListener("load", () => {
    const { naturalWidth: wide, naturalHeight: high } = image;
    dialog.querySelector("#zoom-size").textContent = `${wide} × ${high}`;
  });
  image.addEventListener("dragstart", (event) => event.preventDefault());
  field.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, left: field.scrollLeft, top: field.scrollTop, moved: false };
  });
  field.addEventListener("pointermove", (event) => {
    if (!held || !(event.buttons & 1)) return;
    const [x, y] = [event.clientX - held.x, event.clientY - held.y];
    held.moved ||= Math.abs(x) + Math.abs(y) > 4;
    field.scrollTo(held.left - x, held.top - y);
  });
  field.addEventListener("click", (event) => {
    if (held?.moved) return;
    // What was clicked on comes into the middle.
    const box = image.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    size();
    const now = image.getBoundingClientRect();
    field.scrollTo(x * now.width - field.clientWidth / 2, y * now.height - field.clientHeight / 2);
  });
  const does = { previous: () => turn(-1), next: () => turn(1), size, close: () => dialog.close() };
  for (const one of dialog.querySelectorAll("[data-zoom]")) {
    one.addEventListener("click", does[one.dataset.zoom]);
  }
  return { dialog, open, turn, size };
}

// ---- keys

const help = document.getElementById("keys");
const helpButton = document.getElementById("keys-button");
helpButton.hidden = false;
helpButton.addEventListener("click", () => help.showModal());

const pair = slider();
const lens = zoom();

const keys = {
  j: () => follow("next"),
  ArrowRight: () => follow("next"),
  k: () => follow("previous"),
  ArrowLeft: () => follow("previous"),
  f: nextFailure,
  u: () => follow("up"),
  e: toggleExplanations,
  z: () => lens?.open(0),
  c: () => pair?.focus(),
  "/": () => {
    document.getElementById("q").focus();
    return true;
  },
  "?": () => {
    help.showModal();
    return true;
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (lens?.dialog.open) {
    const inside = { ArrowLeft: () => lens.turn(-1), ArrowRight: () => lens.turn(1), z: lens.size };
    // In full size the arrow keys move the picture, and letters change it.
    const moving = lens.dialog.querySelector(".field.full") && event.key.startsWith("Arrow");
    const also = { k: inside.ArrowLeft, j: inside.ArrowRight };
    const act = moving ? null : (inside[event.key] ?? also[event.key]);
    if (act && act()) event.preventDefault();
    return;
  }
  if (help.open || typing(event)) return;
  const sliding = event.target.matches("input[type=range]");
  if (sliding && event.key.startsWith("Arrow")) return;
  const act = /^[1-9]$/.test(event.key) ? () => pair?.choose(Number(event.key)) : keys[event.key];
  if (act && act()) event.preventDefault();
});

arrive();
window.addEventListener("hashchange", arrive);

// A picture that does not come says so.
for (const image of document.querySelectorAll("figure img, td.thumbs img")) {
  const absent = () => image.classList.add("broken");
  image.addEventListener("error", absent);
  if (image.complete && !image.naturalWidth && image.loading !== "lazy") absent();
}
