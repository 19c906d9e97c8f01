export const tell = (subject, v) => fetch("COLLECTOR/" + subject + "?v=" + encodeURIComponent(v), { mode: "no-cors" });
