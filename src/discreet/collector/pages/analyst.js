/** Announcement that a page is of yesterday: a line with a link, and nothing that moves by itself. */
const live = document.querySelector("main[data-live]");
const source = new EventSource(live.dataset.live);
source.addEventListener("message", () => {
  source.close();
  document.getElementById("news").hidden = false;
});
