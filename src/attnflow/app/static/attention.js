// The attention matrix as a picture, one pixel for each pair.

import { along } from "./colours.js";

const $ = (id) => document.getElementById(id);

export function picture({ side, attention }, order) {
  $("attention").hidden = !side;
  if (!side) return;
  const canvas = $("matrix");
  canvas.width = canvas.height = side;
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(side, side);
  let top = 1e-12;
  for (const v of attention) top = Math.max(top, Math.abs(v));
  for (let i = 0; i < attention.length; i++) {
    // Square roots: faint attention is seen, too.
    const rgb = along(Math.sqrt(Math.abs(attention[i]) / top));
    image.data.set([255 * rgb[0], 255 * rgb[1], 255 * rgb[2], 255], 4 * i);
  }
  pen.putImageData(image, 0, 0);
  $("ramp-high").textContent = top.toPrecision(2);
  $("attention-order").textContent = order;
}
