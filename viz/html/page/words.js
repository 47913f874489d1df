// Figures and sentences.

const passNames = ['forward', 'backward', 'input gradient', 'weight gradient'];
const passLetters = 'FBIW';

/** Four significant digits with a suitable unit, as in the report. */
function timeWords(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  const [scale, unit] = size < 1e6 ? [1e3, 'µs'] : size < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return `${digits(ns / scale)} ${unit}`;
}
function digits(value) {
  return String(Number(value.toPrecision(4)));
}
function bytesWords(bytes) {
  const size = Math.abs(bytes);
  if (size < 1024) return `${bytes} B`;
  const power = Math.min(4, Math.floor(Math.log2(size) / 10));
  return `${digits(bytes / 1024 ** power)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}
function percentWords(share) {
  return `${digits(100 * share)} %`;
}
/** "+2.4 %" of `value` against `reference`. */
function changeWords(value, reference) {
  const change = 100 * (value / reference - 1);
  if (Math.abs(change) < 0.05) return 'the same';
  return `${change > 0 ? '+' : '−'}${Math.abs(change).toFixed(1)} %`;
}

/** Why a task did not start earlier: words before and after the name of the task that released it. */
const releaseWords = {
  order: ['', ', the task before it on its stage'],
  pair: ['', ', the other half of its pair'],
  activation: ['the activation from ', ''],
  gradient: ['the gradient from ', ''],
  own_forward: ['', ', its forward'],
  own_input_grad: ['', ', its input gradient'],
  send_activation: ['the end of its stage’s send of the activation of ', ''],
  send_gradient: ['the end of its stage’s send of the gradient of ', '']
};

/** An element with attributes and children; text is never parsed as HTML. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on'))
      made.addEventListener(name.slice(2), value);
    else if (value === true)
      made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
