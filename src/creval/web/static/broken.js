// Marks images that cannot be loaded.

export function markBroken() {
  for (const image of document.querySelectorAll("figure img, td.thumbs img")) {
    const absent = () => image.classList.add("broken");
    image.addEventListener("error", absent);
    if (image.complete && !image.naturalWidth && image.loading !== "lazy") absent();
  }
}
