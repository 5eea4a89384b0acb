// Keyboard helpers for all pages.

export const help = document.getElementById("keys");

const button = document.getElementById("keys-button");
button.hidden = false;
button.addEventListener("click", showHelp);

export function showHelp() {
  help.showModal();
  return true;
}

export const typing = (event) =>
  event.target.closest(
    "input:not([type=range], [type=radio]), select, textarea, [contenteditable]",
  ) !== null;

export function follow(name) {
  const link = document.querySelector(`a[data-key="${name}"]`);
  if (link) link.click();
  return link !== null;
}
