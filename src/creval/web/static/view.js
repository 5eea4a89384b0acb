// Keyboard shortcuts, slider and zoom. All pages also work without JavaScript, with links and forms.
import { follow, help, showHelp, typing } from "./keys.js";
import { markBroken } from "./broken.js";
import { zoom } from "./zoom.js";

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

// ---- the slider between two images

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
    // Compare the same two images on the next and previous sample.
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

// ---- keys

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
  "?": showHelp,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (lens?.dialog.open) {
    if (lens.press(event.key)) event.preventDefault();
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

markBroken();
