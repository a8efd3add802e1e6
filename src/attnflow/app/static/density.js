// On the circle: the kernel density that tokens climb, as a curve inside it.

const ZERO = 0.93; // the radius at which the density is zero
const WIDTH = 0.0024; // half of the curve's

// Two strips of triangles, three numbers a corner: the curve as a thin band, and what lies between it and zero.
export function density(values) {
  const sides = values.length, radius = values.map((z) => ZERO - 0.85 * z);
  // A band is as wide across the curve as it should be when it is so much wider along the radius.
  const slant = (k) => Math.hypot(1, (radius[(k + 1) % sides] - radius[(k + sides - 1) % sides]) * sides / (4 * Math.PI * radius[k]));
  const line = band((k) => radius[k] - WIDTH * slant(k), (k) => radius[k] + WIDTH * slant(k), sides);
  return { line, area: band((k) => radius[k], () => ZERO, sides) };
}

// Between two curves around the centre, given as radii from the angle -π on: a closed strip of triangles.
export function band(inner, outer, sides) {
  const corners = new Float32Array(6 * (sides + 1));
  for (let k = 0; k <= sides; k++) {
    const a = 2 * Math.PI * k / sides - Math.PI, [c, s] = [Math.cos(a), Math.sin(a)];
    const [near, far] = [inner(k % sides), outer(k % sides)];
    corners.set([near * c, near * s, 0, far * c, far * s, 0], 6 * k);
  }
  return corners;
}
