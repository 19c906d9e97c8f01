// Liveness, and nothing else: every page works without this file.
"use strict";
(() => {
  const live = document.body.dataset.live;
  if (!live || !window.EventSource) return;
  let stale = false;

  // A change is a hint: the page is fetched again, and only what differs is
  // put in place. Such a fetch is no view.
  const refresh = async () => {
    const old = document.querySelector("[data-region]");
    if (!old) return;
    if (document.hidden) { stale = true; return; }
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("[data-region]");
      if (fresh && fresh.dataset.version !== old.dataset.version) old.replaceWith(fresh);
    } catch { /* away; the stream comes back by itself */ }
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && stale) { stale = false; refresh(); }
  });
  // After the page has loaded: an open stream would keep it loading for ever.
  addEventListener("load", () => setTimeout(() => {
    const stream = new EventSource(live);
    stream.addEventListener("change", refresh);
    stream.addEventListener("resync", refresh);
  }));
})();
