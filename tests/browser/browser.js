// One browser for all tests, with pages in it.

const assert = require('node:assert/strict');
const {pathToFileURL} = require('node:url');

const {chromium} = require('playwright-core');

const {makePage} = require('./program.js');

let browser = null;
async function start() {
  browser = await chromium.launch({
    executablePath: process.env.PPSIM_CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb']
  });
}
async function stop() {
  await browser.close();
}

const made = new Map();
/** The page for those options, written once. */
function pageOf(options) {
  const key = JSON.stringify(options);
  if (!made.has(key)) made.set(key, makePage(options));
  return made.get(key);
}

/**
 * Opens the page of those options, does `work` with it and closes it; fails where the page has said anything on its
 * console, a violation of its policy included. `settings`: hash; what it may say; a script to begin with; and what a
 * context of Playwright takes.
 */
function withPage(options, work, settings = {}) {
  return withFile(pageOf(options), work, settings);
}
async function withFile(file, work, {hash = '', expected = null, init = '', ...settings} = {}) {
  const context = await browser.newContext({viewport: {width: 1200, height: 800}, ...settings});
  try {
    const page = await context.newPage();
    const complaints = [];
    page.on('console', (message) => expected && expected.test(message.text()) || complaints.push(message.text()));
    page.on('dialog', (dialog) => complaints.push(dialog.message()));
    if (init) await page.addInitScript(init);
    page.on('pageerror', (error) => complaints.push(error.stack));
    page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || complaints.push(request.url()));
    await page.goto(pathToFileURL(file).href + hash);
    await settled(page);
    await work(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** Waits until pending changes are drawn. */
async function settled(page) {
  await page.waitForFunction(() => window.ppsim);  // in a playground: compiled
  await page.evaluate(async () => {
    await window.ppsim.ready;
    for (let i = 0; i < 3; ++i) await new Promise(requestAnimationFrame);
  });
}

/** The position of a target on the screen: its centre, and its box in the canvas. */
function placeOf(page, target) {
  return page.evaluate(({kind, id, run}) => {
    const {chart, runs, canvas} = window.ppsim;
    const box = chart.boxOfTarget({kind, id, run: runs[run], stage: stageOf(runs[run])});
    const {left, top} = canvas.getBoundingClientRect();
    return {x: left + box.x + box.width / 2, y: top + box.y + box.height / 2, box};

    function stageOf(of) {
      if (kind === 'task') return of.stage[id];
      let stage = 0;
      while (id >= of.idleOffsets[stage + 1]) ++stage;
      return stage;
    }
  }, {run: 0, ...target});
}

/** Serious violations of accessibility that axe finds. */
async function violations(page) {
  await page.addScriptTag({path: require.resolve('axe-core/axe.min.js')});
  const {violations: found} = await page.evaluate(() => window.axe.run());
  return found.filter(({impact}) => impact === 'serious' || impact === 'critical')
      .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 100))}`);
}

/** Role and name of each focusable element, as for a screen reader. */
async function namesOfControls(page) {
  const session = await page.context().newCDPSession(page);
  const {nodes} = await session.send('Accessibility.getFullAXTree');
  const focusable = ({properties}) => (properties || []).some(({name, value}) => name === 'focusable' && value.value);
  return nodes.filter((node) => !node.ignored && node.role.value !== 'RootWebArea' && focusable(node))
      .map(({role, name}) => ({role: role.value, name: name.value}));
}

/** ms from the navigation to the drawn page, or slightly more. */
function openingTime(page) {
  return page.evaluate(async () => {
    if (document.readyState === 'loading')
      await new Promise((resolve) => addEventListener('DOMContentLoaded', resolve));
    await window.ppsim.ready;
    return performance.now();
  });
}

/** Mean colours of the fields of a PNG, row by row, as rrggbb. */
async function coloursOf(png, columns = 32, rows = 16) {
  const page = await browser.newPage();
  const means = await page.evaluate(async ([url, across, down]) => {
    const bitmap = await createImageBitmap(await (await fetch(url)).blob());
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const mean = (x, y) => {
      const left = Math.round(x * bitmap.width / across), right = Math.round((x + 1) * bitmap.width / across);
      const top = Math.round(y * bitmap.height / down), bottom = Math.round((y + 1) * bitmap.height / down);
      const {data} = context.getImageData(left, top, right - left, bottom - top);
      const sums = [0, 0, 0];
      data.forEach((value, i) => i % 4 < 3 && (sums[i % 4] += value));
      return sums.map((sum) => Math.round(4 * sum / data.length).toString(16).padStart(2, '0')).join('');
    };
    return Array.from({length: down}, (_, y) => Array.from({length: across}, (__, x) => mean(x, y)));
  }, [`data:image/png;base64,${png.toString('base64')}`, columns, rows]);
  await page.close();
  return means;
}

module.exports = {
  coloursOf,
  namesOfControls,
  openingTime,
  pageOf,
  placeOf,
  settled,
  start,
  stop,
  violations,
  withFile,
  withPage
};
