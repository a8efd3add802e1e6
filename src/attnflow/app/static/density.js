// On the circle: the kernel density Z(θ) = Σ wⱼ exp(β (cos(θ - θⱼ) - 1)) that tokens climb, as a curve inside it.

const POINTS = 480;

export function density(points, n, beta, weights) {
  const angles = new Float32Array(n), reach = Math.sqrt(2 * 16 / Math.max(beta, 1e-6)); // beyond it the kernel is nothing
  for (let i = 0; i < n; i++) angles[i] = Math.atan2(points[3 * i + 1], points[3 * i]);
  const curve = new Float32Array(3 * (POINTS + 1));
  for (let k = 0; k <= POINTS; k++) {
    const theta = 2 * Math.PI * k / POINTS - Math.PI;
    let z = 0;
    for (let i = 0; i < n; i++) {
      let gap = Math.abs(theta - angles[i]);
      if (gap > Math.PI) gap = 2 * Math.PI - gap;
      if (gap < reach * 1.3) z += (weights ? weights[i] : 1 / n) * Math.exp(beta * (Math.cos(gap) - 1));
    }
    const r = 0.93 - 0.85 * z;
    curve[3 * k] = r * Math.cos(theta);
    curve[3 * k + 1] = r * Math.sin(theta);
  }
  return curve;
}
