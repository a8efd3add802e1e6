// On the circle: the kernel density Z(θ) = Σ wⱼ exp(β (cos(θ - θⱼ) - 1)) that tokens climb, as a curve inside it.

const POINTS = 480;
const NOTHING = 0.93; // the radius at which the density is zero

// Two strips of triangles, three numbers a corner: the curve as a thin band, and what lies between it and zero.
export function density(points, n, beta, weights) {
  const angles = new Float32Array(n), reach = 1.3 * Math.sqrt(2 * 16 / Math.max(beta, 1e-6)); // beyond it the kernel is nothing
  for (let i = 0; i < n; i++) angles[i] = Math.atan2(points[3 * i + 1], points[3 * i]);
  const radius = new Float32Array(POINTS);
  for (let k = 0; k < POINTS; k++) {
    const theta = 2 * Math.PI * k / POINTS - Math.PI;
    let z = 0;
    for (let i = 0; i < n; i++) {
      let gap = Math.abs(theta - angles[i]);
      if (gap > Math.PI) gap = 2 * Math.PI - gap;
      if (gap < reach) z += (weights ? weights[i] : 1 / n) * Math.exp(beta * (Math.cos(gap) - 1));
    }
    radius[k] = NOTHING - 0.85 * z;
  }
  // A band is as wide across the curve as it should be when it is so much wider along the radius.
  const slant = (k) => Math.hypot(1, (radius[(k + 1) % POINTS] - radius[(k + POINTS - 1) % POINTS]) * POINTS / (4 * Math.PI * radius[k]));
  return { line: band((k) => radius[k] - WIDTH * slant(k), (k) => radius[k] + WIDTH * slant(k)), area: band((k) => radius[k], () => NOTHING) };
}

const WIDTH = 0.0024; // half of it

// Between two curves around the centre, given as radii: a closed strip of triangles.
export function band(inner, outer, sides = POINTS) {
  const corners = new Float32Array(6 * (sides + 1));
  for (let k = 0; k <= sides; k++) {
    const a = 2 * Math.PI * k / sides - Math.PI, [c, s] = [Math.cos(a), Math.sin(a)];
    const [near, far] = [inner(k % sides), outer(k % sides)];
    corners.set([near * c, near * s, 0, far * c, far * s, 0], 6 * k);
  }
  return corners;
}
