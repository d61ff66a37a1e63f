"use strict";
// The page is asked for again every few seconds; the server answers 304 until a release has changed it.
let tag = null;
const said = () => document.getElementById("live");
async function refresh() {
  try {
    const answer = await fetch("/", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const open = [...document.querySelectorAll("details")].map((d) => d.open);
      if (tag !== null || fresh.querySelector("main").dataset.mark !== document.querySelector("main").dataset.mark) {
        document.querySelector("main").replaceWith(fresh.querySelector("main"));
        document.title = fresh.title;
        document.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
      }
      tag = answer.headers.get("etag");
    }
    said().textContent = answer.ok || answer.status === 304 ? "updates by itself" : "the server answers with an error";
  } catch {
    said().textContent = "the server cannot be reached";
  }
}
setInterval(refresh, 5000);
