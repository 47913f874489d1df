// Cells, hatches and numbers are written as pixels into one buffer; 100,000 canvas calls would take longer than a
// frame.

/** "#rrggbb" as a pixel. */
function pixelOf(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (0xff000000 | (value & 0xff) << 16 | (value & 0xff00) | value >> 16) >>> 0;
}
/** A pixel between two others: `share` of the second. */
function blend(one, other, share) {
  let out = 0xff000000;
  for (let shift = 0; shift < 24; shift += 8) {
    const from = one >> shift & 0xff, to = other >> shift & 0xff;
    out |= Math.round(from + (to - from) * share) << shift;
  }
  return out >>> 0;
}
/** The same hue for a dark ground: lighter than the ground by 1.5 times its distance from white. */
function inverted(pixel, ground) {
  const parts = [0, 8, 16].map((shift) => pixel >> shift & 0xff);
  const shift = 255 - Math.max(...parts) - Math.min(...parts);
  const lit = parts.map((part, i) => Math.min(255, (ground >> 8 * i & 0xff) + Math.round(1.5 * (part + shift))));
  return (0xff000000 | lit[2] << 16 | lit[1] << 8 | lit[0]) >>> 0;
}

class Raster {
  constructor() {
    this.width = this.height = 0;
  }
  resize(width, height) {
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    this.image = new ImageData(Math.max(1, width), Math.max(1, height));
    this.pixels = new Uint32Array(this.image.data.buffer);
  }
  clear(pixel) {
    this.pixels.fill(pixel);
  }
  rect(x0, y0, x1, y1, pixel) {
    const left = Math.max(0, x0), right = Math.min(this.width, x1);
    const bottom = Math.min(this.height, y1);
    for (let y = Math.max(0, y0); y < bottom; ++y) {
      const line = y * this.width;
      if (right - left > 24)
        this.pixels.fill(pixel, line + left, line + right);
      else
        for (let x = left; x < right; ++x) this.pixels[line + x] = pixel;
    }
  }
  /** Repeats a tile aligned to the buffer's corner, so neighbours join. */
  hatch(x0, y0, x1, y1, tile) {
    const left = Math.max(0, x0), right = Math.min(this.width, x1);
    const bottom = Math.min(this.height, y1);
    for (let y = Math.max(0, y0); y < bottom; ++y) {
      const line = y * this.width, row = (y % tile.size) * tile.size;
      for (let x = left, column = left % tile.size; x < right; ++x) {
        this.pixels[line + x] = tile.pixels[row + column];
        if (++column === tile.size) column = 0;
      }
    }
  }
  /** A number in the middle of the box, if it fits. */
  number(x0, y0, x1, y1, value, digits, pixel) {
    const text = String(value);
    const width = text.length * digits.advance;
    if (width + 2 > x1 - x0 || digits.height > y1 - y0) return;
    let x = (x0 + x1 - width) >> 1;
    const y = (y0 + y1 - digits.height) >> 1;
    for (let i = 0; i < text.length; ++i, x += digits.advance) this.glyph(x, y, digits, text.charCodeAt(i) - 48, pixel);
  }
  glyph(left, top, digits, digit, pixel) {
    for (let y = 0; y < digits.height; ++y)
      for (let x = 0; x < digits.advance; ++x) {
        const alpha = digits.alpha[(y * 10 + digit) * digits.advance + x];
        const at = left + x;
        if (alpha === 0 || at < 0 || at >= this.width || top + y < 0 || top + y >= this.height) continue;
        const place = (top + y) * this.width + at;
        this.pixels[place] = blend(this.pixels[place], pixel, alpha / 255);
      }
  }
  put(context, x, y) {
    if (this.width > 0 && this.height > 0) context.putImageData(this.image, x, y);
  }
}

/** Alpha of the ten digits at that size, side by side. */
function makeDigits(size, font) {
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', {willReadFrequently: true});
  context.font = `${size}px ${font}`;
  const advance = Math.ceil(Math.max(...Array.from('0123456789', (digit) => context.measureText(digit).width)));
  const height = Math.ceil(size * 0.78);
  canvas.width = 10 * advance;
  canvas.height = height;
  context.font = `${size}px ${font}`;  // a new size forgets it
  context.textBaseline = 'alphabetic';
  context.textAlign = 'center';
  for (let digit = 0; digit < 10; ++digit) context.fillText(String(digit), (digit + 0.5) * advance, height - 1);
  const data = context.getImageData(0, 0, canvas.width, height).data;
  const alpha = new Uint8Array(10 * advance * height);
  for (let i = 0; i < alpha.length; ++i) alpha[i] = data[4 * i + 3];
  return {advance, height, alpha};
}

const tilesMade = new Map();
/** Pixels of a hatch, from its tile as SVG text; `darkGround`: ground colour in the dark theme. */
async function makeTile(svg, scale, darkGround) {
  const key = `${scale} ${darkGround} ${svg}`;
  if (!tilesMade.has(key)) tilesMade.set(key, await drawTile(svg, scale, darkGround));
  return tilesMade.get(key);
}
async function drawTile(svg, scale, darkGround) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const size = Math.max(1, Math.round(image.width * scale));
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  context.drawImage(image, 0, 0, size, size);
  const pixels = new Uint32Array(context.getImageData(0, 0, size, size).data.buffer.slice(0));
  return {size, pixels: darkGround === null ? pixels : pixels.map((pixel) => inverted(pixel, darkGround))};
}
