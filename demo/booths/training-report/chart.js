const make = (svg, name, attrs, text) => {
  const el = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attrs)) el.setAttribute(k, v);
  if (text) el.textContent = text;
  svg.append(el);
};
const x = (f, step) => f.left + (step / f.steps) * f.width;
const y = (f, loss) => f.top + (1 - loss / f.most) * f.height;

export function axis(svg, f) {
  for (let loss = 0; loss <= f.most; loss++) {
    make(svg, "line", { x1: f.left, x2: f.left + f.width, y1: y(f, loss), y2: y(f, loss), stroke: "var(--soft)", "stroke-width": 0.5 });
    make(svg, "text", { x: f.left - 10, y: y(f, loss) + 4, "text-anchor": "end", fill: "var(--soft)", "font-size": 12 }, String(loss));
  }
  for (let step = 0; step <= f.steps; step += 300) {
    make(svg, "text", { x: x(f, step), y: f.top + f.height + 20, "text-anchor": "middle", fill: "var(--soft)", "font-size": 12 }, String(step));
  }
}

export function line(svg, f, points, colour) {
  make(svg, "polyline", { points: points.map(([s, l]) => `${x(f, s)},${y(f, l)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2.5 });
}
