import { line, axis } from "./chart.js";

const data = await (await fetch("loss.json")).json();
const svg = document.getElementById("chart");
const frame = { left: 44, top: 12, width: 584, height: 236, steps: data.at(-1).step, most: 3 };
axis(svg, frame);
line(svg, frame, data.map((d) => [d.step, d.train]), "var(--train)");
line(svg, frame, data.map((d) => [d.step, d.held]), "var(--held)");
document.getElementById("rows").replaceChildren(...data.filter((d) => d.step % 300 === 0).map((d) => {
  const row = document.createElement("tr");
  for (const v of [d.step, d.train.toFixed(3), d.held.toFixed(3)]) row.insertCell().textContent = v;
  return row;
}));
