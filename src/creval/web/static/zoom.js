// Dialog that shows one image, fitted to the window or in full size.

export function zoom() {
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
    fill(); // the scroll position is kept, so that images can be compared
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
    // Center the clicked point.
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

  // In full size, the arrow keys scroll the image; j and k switch to another one.
  function press(key) {
    const moving = field.classList.contains("full") && key.startsWith("Arrow");
    const turns = { ArrowLeft: -1, k: -1, ArrowRight: 1, j: 1 };
    if (moving) return false;
    if (key === "z") return size();
    return key in turns && turn(turns[key]);
  }
  return { dialog, open, press };
}
