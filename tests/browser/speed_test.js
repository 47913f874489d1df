// Times of pages with many tasks. The bounds are four times those of an idle machine, because test machines are not
// idle.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const {test} = require('node:test');

const {openingTime, pageOf, withPage} = require('./browser.js');

const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const inMib = (file) => `${(fs.statSync(file).size / 2 ** 20).toFixed(2)} MiB`;

test('speed: a page of 100,000 tasks opens within a second', (context) => {
  const options = '--stages 64 --mb 782';
  return withPage(options, async (page) => {
    const took = [];
    for (let i = 0; i < 3; ++i) {
      await page.reload({waitUntil: 'commit'});
      took.push(await openingTime(page));
    }
    assert.ok(await page.evaluate(() => window.ppsim.runs[0].size) >= 100000);
    context.diagnostic(`100,000 tasks: ${inMib(pageOf(options))}, opened in ${Math.round(middle(took))} ms`);
    assert.ok(middle(took) < 4000);
  });
});

test('speed: a million tasks zoom and move within 10 ms a frame', (context) => {
  const options = '--stages 64 --mb 7813 --comm 100us';
  return withPage(options, async (page) => {
    const opened = await openingTime(page);
    const series = await page.evaluate(async () => {
      const {ppsim} = window;
      const frames = async (change) => {
        ppsim.frames.length = 0;
        for (let i = 0; i < 30; ++i) {
          change();
          await new Promise(requestAnimationFrame);
        }
        return [...ppsim.frames];
      };
      const first = [...ppsim.frames];
      const far = await frames(() => ppsim.zoom(0.98, 400));
      const zoom = await frames(() => ppsim.zoom(0.8, 400));
      ppsim.setSpan(ppsim.span * 0.3, ppsim.span * 0.4);
      const pan = await frames(() => ppsim.pan(0.05));
      ppsim.fit();
      for (const name of ['path', 'memory', 'links']) ppsim.toggle(name);
      return {first, far, zoom, pan, 'with path, memory and links': await frames(() => ppsim.zoom(0.95, 300))};
    });
    const said = Object.entries(series).map(
        ([name, frames]) => `${name} ${middle(frames).toFixed(1)} (most ${Math.max(...frames).toFixed(1)})`);
    context.diagnostic(`1,000,000 tasks: ${inMib(pageOf(options))}, opened in ${Math.round(opened)} ms; ms a frame: ${
        said.join(', ')}`);
    delete series.first;
    for (const frames of Object.values(series)) {
      assert.ok(frames.length >= 28);
      assert.ok(middle(frames) < 40);
    }
  });
});
