// An orthographic camera around the origin: yaw and pitch, and a zoom. Flat views keep it still.

export class Camera {
  constructor() { this.yaw = 0.6; this.pitch = 0.35; this.zoom = 1; this.flat = false; }

  // Rows of the rotation: right, up, towards the eye.
  rows() {
    if (this.flat) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
    const [cy, sy, cp, sp] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
    // The third coordinate of the data points up on the screen.
    return [-sy, cy, 0, -sp * cy, -sp * sy, cp, cp * cy, cp * sy, sp];
  }

  turn(dx, dy) {
    if (this.flat) return;
    this.yaw -= dx;
    this.pitch = Math.max(-1.57, Math.min(1.57, this.pitch + dy));
  }

  scale(factor) { this.zoom = Math.max(0.2, Math.min(20, this.zoom * factor)); }
}

// Drags turn, wheels and pinches zoom, arrow keys do both; `changed` is called after each.
export function steer(element, camera, changed) {
  const fingers = new Map();
  let apart = 0;
  const spread = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  element.addEventListener("pointerdown", (e) => {
    element.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
    if (fingers.size === 2) apart = spread();
  });
  element.addEventListener("pointermove", (e) => {
    const last = fingers.get(e.pointerId);
    if (!last) return;
    fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
    if (fingers.size === 2) { const now = spread(); camera.scale(now / apart); apart = now; }
    else camera.turn((e.clientX - last.x) * 0.006, (e.clientY - last.y) * 0.006);
    changed();
  });
  for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, (e) => fingers.delete(e.pointerId));
  element.addEventListener("wheel", (e) => {
    e.preventDefault();
    camera.scale(Math.exp(-e.deltaY * 0.0012));
    changed();
  }, { passive: false });
  element.addEventListener("keydown", (e) => {
    const turns = { ArrowLeft: [-0.08, 0], ArrowRight: [0.08, 0], ArrowUp: [0, -0.08], ArrowDown: [0, 0.08] }[e.key];
    if (turns) camera.turn(...turns);
    else if (e.key === "+" || e.key === "=") camera.scale(1.12);
    else if (e.key === "-") camera.scale(1 / 1.12);
    else return;
    e.preventDefault();
    e.stopPropagation();
    changed();
  });
}
