// The browser, once for all tests, and pages in it.

const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const {pathToFileURL} = require('node:url');

const {chromium} = require('playwright-core');

const {makePage} = require('./program.js');

const names = [process.env.PPSIM_CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'].filter(Boolean);
const executablePath =
    names.map((name) => spawnSync('sh', ['-c', 'command -v "$0"', name], {encoding: 'utf8'}).stdout.trim())
        .find((found) => found !== '');

let browser = null;
async function start() {
  browser =
      await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb']});
}
async function stop() {
  await browser.close();
}

const made = new Map();
/** The page of those options, written once. */
function pageOf(options) {
  const key = JSON.stringify(options);
  if (!made.has(key)) made.set(key, makePage(options));
  return made.get(key);
}

/**
 * Opens the page of those options, does `work` with it and closes it; fails where the page has said anything on its
 * console, a violation of its policy included. `settings`: hash, and what a context of Playwright takes.
 */
async function withPage(options, work, {hash = '', ...settings} = {}) {
  const context = await browser.newContext({viewport: {width: 1200, height: 800}, ...settings});
  try {
    const page = await context.newPage();
    const complaints = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.stack));
    page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || complaints.push(request.url()));
    await page.goto(pathToFileURL(pageOf(options)).href + hash);
    await settled(page);
    await work(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** When what was done is drawn. */
async function settled(page) {
  await page.evaluate(async () => {
    await window.ppsim.ready;
    for (let i = 0; i < 3; ++i) await new Promise(requestAnimationFrame);
  });
}

/** Where a target is on the screen: its middle, and its box in the canvas. */
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

module.exports = {
  pageOf,
  placeOf,
  settled,
  start,
  stop,
  withPage
};
