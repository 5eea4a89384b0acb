"use strict";
/* Clicking a column header sorts the table: numbers largest first, texts alphabetically. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, at) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending" || (at === 0 && !head.hasAttribute("aria-sort"));
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => {
        const cell = row.cells[at];
        const words = (cell.querySelector("span") || cell).textContent.trim();
        return { row, words, number: parseFloat(words.replace(/,/g, "")) };
      });
      rows.sort((a, b) => {
        const missing = Number.isNaN(a.number) - Number.isNaN(b.number);
        if (at > 0 && missing) return missing;
        const order = at > 0 && !Number.isNaN(a.number) ? a.number - b.number : a.words.localeCompare(b.words);
        return down ? order : -order;
      });
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      for (const { row } of rows) {
        row.classList.remove("break");
        body.append(row);
      }
    });
  });
}
/* Clicking a thumbnail opens it enlarged. Arrow keys show its neighbours, Escape closes it. */
const large = document.getElementById("large");
if (large) {
  const image = large.appendChild(new Image());
  let row = [];
  let at = 0;
  const show = (step) => {
    if (!step) return large.close();
    at = (at + step + row.length) % row.length;
    image.src = row[at].src;
    image.alt = row[at].alt;
    document.getElementById("large-caption").textContent = row[at].alt;
  };
  for (const button of document.querySelectorAll("button.large")) {
    button.addEventListener("click", () => {
      row = [...button.closest(".images, .tries").querySelectorAll("button.large img")];
      at = row.indexOf(button.querySelector("img")) - 1;
      show(1);
      large.showModal();
    });
  }
  for (const button of large.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => show(Number(button.dataset.step)));
  }
  large.addEventListener("click", (event) => event.target === large && large.close());
  large.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) show(step);
  });
}
