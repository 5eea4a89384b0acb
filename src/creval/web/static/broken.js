// Marks images that cannot be loaded.

export function markBroken() {
  for (const image of document.querySelectorAll("figure img, td.thumbs img")) {
    const mark = () => image.classList.add("broken");
    image.addEventListener("error", mark);
    if (image.complete && !image.naturalWidth && image.loading !== "lazy") mark();
  }
}
