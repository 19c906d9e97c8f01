// Liveness, and nothing else: every page works without this file.
"use strict";
(() => {
  const { live, here, topic } = document.body.dataset;
  const region = () => document.querySelector("[data-region]");
  if (!live || !region() || !window.EventSource) return;

  // What somebody has begun to type or choose stays until it is sent or taken back,
  // also where the browser itself put it there again.
  const typed = () => [...region().querySelectorAll("textarea, input:not([type=hidden])")].some((e) =>
    e.value !== e.defaultValue || e.checked !== e.defaultChecked) || [...region().querySelectorAll("select")].some((e) =>
    e.selectedIndex !== Math.max(0, [...e.options].findIndex((o) => o.defaultSelected)));
  const note = (kind, words) => {
    if (document.querySelector(`.${kind}`)) return;
    const note = document.createElement("p");
    note.className = `notice stale ${kind}`;
    note.setAttribute("role", "status");
    note.textContent = words;
    region().before(note);
  };
  const changed = () => note("changed", "Something here has changed. What you have begun is still here; sending it shows what is new.");
  const unread = () => note("unread", "This cannot be read now: what is below was read before, and may be old. Loading the page again says why.");

  // Only what differs is put in place, and whoever stood on something in it stands
  // there still, with what was unfolded unfolded. Such a fetch is no view. It goes to
  // where the server says the page is: the address of the window can be one at which
  // a booth has something to show.
  //
  // What has an id is the thing with that id. What is within a question is the same thing when it has the same place there;
  // what is not, when it leads to the same address.
  const alike = (e, fresh) => {
    if (e.id) return fresh.querySelector(`#${CSS.escape(e.id)}`);
    const within = e.closest(".pick[id]");
    if (!within) {
      const leads = (e) => e.getAttribute("href") || e.closest("form")?.getAttribute("action");
      return [...fresh.querySelectorAll(e.tagName)].find((other) => leads(other) === leads(e));
    }
    const there = fresh.querySelector(`#${CSS.escape(within.id)}`);
    return there?.querySelectorAll(e.tagName)[[...within.querySelectorAll(e.tagName)].indexOf(e)];
  };
  //
  // What grows at its end is followed there, or stays where somebody has scrolled to; while
  // some of it is selected it waits.
  const grows = () => region().querySelector("[data-grows]");
  const held = () => !getSelection().isCollapsed && grows()?.contains(getSelection().anchorNode);
  const load = async () => {
    const answer = await fetch(here, { headers: { "Holdfast-Live": "1", "If-None-Match": `"${region().dataset.version}"` }, redirect: "error" });
    if (answer.status === 503) return unread();
    if (!answer.ok && answer.status !== 304) return;
    document.querySelector(".unread")?.remove();
    if (answer.status === 304 || held()) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const old = region(), fresh = page.querySelector("[data-region]");
    if (!fresh || fresh.dataset.version === old.dataset.version) return;
    if (typed()) return changed();
    const same = old.contains(document.activeElement) && alike(document.activeElement, fresh);
    old.querySelectorAll("details[open]").forEach((d) => {
      const other = alike(d, fresh);
      if (other) other.open = true;
    });
    const from = grows(), left = from?.scrollTop, high = from?.scrollHeight;
    old.replaceWith(fresh);
    if (left && grows()) grows().scrollTop = left - (grows().scrollHeight - high); // counted from the end
    document.querySelector(".changed")?.remove();
    if (same) same.focus({ preventScroll: true });
  };

  // A change is a hint to fetch the page again; one at a time, or an older answer
  // could overtake a newer one.
  let busy = false, again = false;
  const refresh = async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      try { await load(); } catch { /* away; the stream comes back by itself */ }
    }
    busy = false;
  };

  // A browser has few connections for one server, so a page that nobody sees
  // holds none. The address of the stream says what the page has shown; what it
  // has missed comes as "resync".
  let stream;
  const follow = () => {
    if (document.hidden) {
      stream?.close();
      stream = undefined;
    } else if (!stream) {
      stream = new EventSource(live);
      stream.addEventListener("resync", refresh);
      stream.addEventListener("change", (e) => { if (!topic || e.data === topic) refresh(); });
    }
  };
  document.addEventListener("visibilitychange", follow);
  // What nobody says that it changed is looked at every so often, by whoever looks at it.
  let last = Date.now();
  setInterval(() => {
    const every = 1000 * region().dataset.every;
    if (!every || document.hidden || Date.now() - last < every) return;
    last = Date.now();
    refresh();
  }, 1000);
  // After the page has loaded: an open stream would keep it loading for ever.
  addEventListener("load", () => setTimeout(follow));
})();
