// Zoom, pan, hover, click and search, by pointer and by keys.

const assert = require('node:assert/strict');
const {test} = require('node:test');

const {placeOf, settled, withPage} = require('./browser.js');

const small = '--stages 4 --mb 8 --comm 100us';
const paired = '--schedule dualpipe --stages 4 --mb 8';
const linked =
    '--stages 4 --mb 8 --transfer link --latency 100us --bandwidth 10GB/s --boundary-bytes 2MiB --activation-bytes 5GiB ' +
    '--parameter-bytes 5GiB --memory-limit 24GiB';

const viewOf = (page) => page.evaluate(() => ({...window.ppsim.view, selected: null, hovered: null}));
const selectedIn = (page) => page.evaluate(() => {
  const {selected} = window.ppsim.view;
  return selected && {kind: selected.kind, id: selected.id, stage: selected.stage};
});
const detailsIn = async (page) => (await page.locator('.details').innerText()).replace(/\n+/g, '\n');
const timeAt = (page, x) => page.evaluate((at) => window.ppsim.chart.timeAt(at), x);
/** The number of pixels of the chart with the theme colour of that name, or with that colour. */
const pixelsOf = (page, name) => page.evaluate((wanted) => {
  const {chart, canvas} = window.ppsim;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  const pixel = chart.pixels[wanted] || chart[wanted];
  return new Uint32Array(data.buffer).reduce((count, at) => count + (at === pixel ? 1 : 0), 0);
}, name);
async function near(page, x) {
  const {left, top} = await page.evaluate(() => window.ppsim.canvas.getBoundingClientRect());
  await page.mouse.move(left + x, top + 100);
}
async function press(page, key) {
  await page.locator('.viewport canvas').focus();
  await page.keyboard.press(key);
  await settled(page);
}

test(
    'navigation: the wheel zooms and keeps the time under the pointer',
    () => withPage(small, async (page) => {
      for (const x of [100, 400, 700])
        for (const turn of [-120, 60]) {
          await near(page, x);
          const before = await timeAt(page, x), seen = await viewOf(page);
          await page.mouse.wheel(0, turn);
          await page.waitForFunction((start) => window.ppsim.view.start !== start, seen.start);
          const after = await viewOf(page);
          assert.ok(Math.abs(await timeAt(page, x) - before) < 2, `at ${x}`);
          assert.equal(after.end - after.start < seen.end - seen.start, turn < 0);
        }
    }));

test(
    'navigation: no zoom goes below nanoseconds or far beyond the step',
    () => withPage(small, async (page) => {
      const span = await page.evaluate(() => window.ppsim.span);
      for (let i = 0; i < 40; ++i) await page.evaluate(() => window.ppsim.zoom(0.25));
      await settled(page);
      let {start, end} = await viewOf(page);
      assert.ok(end - start >= 9.99 && start >= 0 && end <= span);
      for (let i = 0; i < 40; ++i) await page.evaluate(() => window.ppsim.zoom(4));
      await settled(page);
      ({start, end} = await viewOf(page));
      assert.ok(start <= 0 && end >= span && end - start < 1.03 * span);
    }));

test(
    'navigation: a drag moves the view with the pointer',
    () => withPage(small, async (page) => {
      await page.evaluate(() => window.ppsim.setSpan(10e6, 20e6));
      await near(page, 500);
      const held = await timeAt(page, 500);
      await page.mouse.down();
      const {left, top} = await page.evaluate(() => window.ppsim.canvas.getBoundingClientRect());
      await page.mouse.move(left + 300, top + 100, {steps: 4});
      await page.mouse.up();
      assert.ok(Math.abs(await timeAt(page, 300) - held) < 2);
      assert.equal(await selectedIn(page), null);
    }));

test(
    'navigation: keys zoom, move, and show the whole step',
    () => withPage(small, async (page) => {
      const whole = await viewOf(page);
      for (const [key, zoomed] of [['+', 0.5], ['w', 0.25], ['-', 0.5], ['s', 1]]) {
        await press(page, key);
        const {start, end} = await viewOf(page);
        assert.ok(Math.abs((end - start) / (whole.end - whole.start) - zoomed) < 0.03, key);
      }
      await page.evaluate(() => window.ppsim.setSpan(10e6, 14e6));
      await press(page, 'd');
      assert.equal((await viewOf(page)).start, 11e6);
      await press(page, 'a');
      assert.equal((await viewOf(page)).start, 10e6);
      await press(page, 'Home');
      assert.equal((await viewOf(page)).start, 0);
      await press(page, 'End');
      assert.equal((await viewOf(page)).end, whole.end);
      await press(page, '0');
      const after = await viewOf(page);
      assert.deepEqual([after.start, after.end], [whole.start, whole.end]);
    }));

test('navigation: the wheel over the names scrolls the stages', () => withPage('--stages 128 --mb 16', async (page) => {
                                                                  const place =
                                                                      await page.locator('.viewport').boundingBox();
                                                                  await page.mouse.move(place.x + 20, place.y + 200);
                                                                  await page.mouse.wheel(0, 200);
                                                                  await page.waitForFunction(
                                                                      () => window.ppsim.chart.scroll > 100);
                                                                  assert.equal((await viewOf(page)).start, 0);
                                                                }));

for (const [name, options] of [
         ['tasks', small], ['both halves of pairs', paired], ['tasks among memory and links', linked]])
  test(`looking: pointing finds ${name}, each at its middle`, () => withPage(options, async (page) => {
                                                                if (options === linked)
                                                                  for (const key of ['m', 'l']) await press(page, key);
                                                                const missed = await page.evaluate(() => {
                                                                  const {chart, runs: [run]} = window.ppsim;
                                                                  const wrong = [];
                                                                  for (let id = 0; id < run.size; ++id) {
                                                                    const box = chart.boxOf(
                                                                        run, id, chart.laneOf(run, run.stage[id]));
                                                                    const hit = chart.hit(
                                                                        box.x + box.width / 2, box.y + box.height / 2);
                                                                    if (!hit || hit.kind !== 'task' || hit.id !== id)
                                                                      wrong.push(run.taskName(id));
                                                                  }
                                                                  return wrong;
                                                                });
                                                                assert.deepEqual(missed, []);
                                                              }));

test(
    'navigation: hovering names a task until the pointer leaves',
    () => withPage(small, async (page) => {
      const place = await placeOf(page, {kind: 'task', id: 17});
      await page.mouse.move(place.x, place.y);
      const tip = page.locator('.tip');
      assert.match(await tip.innerText(), /^1F1 on stage 1\n2\.1 ms to 3\.1 ms \(1 ms\)$/);
      await page.mouse.move(5, 5);
      assert.ok(await tip.isHidden());
    }));

test(
    'navigation: a click shows a task, and goes to its release',
    () => withPage(small, async (page) => {
      const place = await placeOf(page, {kind: 'task', id: 16});
      await page.mouse.click(place.x, place.y);
      const words = await detailsIn(page);
      assert.match(words, /^1F0\n/);
      assert.match(words, /forward of microbatch 0, chunk 1, on stage 1/);
      assert.match(words, /Runs\n1\.1 ms to 2\.1 ms \(1 ms\)/);
      assert.match(words, /Released by\nthe activation from 0F0 on stage 0/);
      assert.match(await page.locator('.said').innerText(), /^1F0 on stage 1, 1\.1 ms/);
      await page.locator('.details dd', {hasText: 'the activation from'}).locator('button').click();
      assert.deepEqual(await selectedIn(page), {kind: 'task', id: 0, stage: 0});
      assert.match(await detailsIn(page), /it could start at time 0/);
    }));

test(
    'navigation: both halves of a pair show the other one',
    () => withPage(paired, async (page) => {
      const id = await page.evaluate(() => window.ppsim.runs[0].pairing.indexOf(1));
      const names = await page.evaluate((at) => [0, 1].map((i) => window.ppsim.runs[0].taskName(at + i)), id);
      for (const half of [0, 1]) {
        const place = await placeOf(page, {kind: 'task', id: id + half});
        await page.mouse.click(place.x, place.y);
        const words = await detailsIn(page);
        assert.ok(words.startsWith(names[half]), words);
        assert.ok(words.includes(`Overlaps\n${names[1 - half]} on stage`), words);
      }
    }));

test(
    'navigation: a gap shows its cause, duration, awaited task, and chain',
    () => withPage(small, async (page) => {
      const place = await placeOf(page, {kind: 'idle', id: 0});
      await page.mouse.move(place.x, place.y);
      assert.match(await page.locator('.tip').innerText(), /^stage 0 idle: downstream\n4 ms to 10\.5 ms \(6\.5 ms\)$/);
      await page.mouse.click(place.x, place.y);
      const words = await detailsIn(page);
      assert.match(words, /^Stage 0 is idle\na backward waits for the chunk after\n/);
      assert.match(words, /Share of the step\n18\.79 %/);
      assert.match(words, /Then runs\n0B0 on stage 0/);
      assert.match(words, /Waits for\nthe gradient from 1B0 on stage 1/);
      const chain = await page.locator('.details ol button').allInnerTexts();
      assert.deepEqual(chain, ['1B0 on stage 1', '2B0 on stage 2', '3B0 on stage 3', '3F0 on stage 3']);
      await press(page, 'Enter');
      assert.match(await detailsIn(page), /^1B0\n/);
    }));

test(
    'navigation: arrows go from task to task, Enter to its release, Escape clears',
    () => withPage(small, async (page) => {
      const steps = [
        ['ArrowRight', 0], ['ArrowRight', 1], ['ArrowDown', 16], ['ArrowRight', 17], ['Enter', 16], ['Enter', 0],
        ['ArrowRight', 1], ['ArrowDown', 16], ['ArrowUp', 1], ['ArrowLeft', 0], ['ArrowLeft', 0]
      ];
      for (const [key, id] of steps) {
        await press(page, key);
        const at = await selectedIn(page);
        assert.deepEqual([key, at.kind, at.id], [key, 'task', id]);
        const name = await page.evaluate((of) => window.ppsim.runs[0].taskName(of), id);
        assert.ok((await page.locator('.said').innerText()).startsWith(`${name} on stage`));
      }
      await press(page, 'Escape');
      assert.equal(await selectedIn(page), null);
      assert.match(await detailsIn(page), /Point at a task/);
    }));

test(
    'navigation: going to a task brings it into view',
    () => withPage('--stages 128 --mb 16', async (page) => {
      await page.evaluate(() => window.ppsim.setSpan(0, 1e6));
      await page.evaluate(() => {
        const [run] = window.ppsim.runs;
        window.ppsim.select({kind: 'task', run, stage: 127, id: run.size - 1});
      });
      await settled(page);
      const {box} = await placeOf(page, {kind: 'task', id: 128 * 32 - 1});
      const {width, height} = await page.locator('.viewport').boundingBox();
      assert.ok(box.x > 84 && box.x + box.width < width && box.width > 5, JSON.stringify(box));
      assert.ok(box.y > 0 && box.y + box.height <= height, JSON.stringify(box));
    }));

test(
    'navigation: a search finds tasks, microbatches and stages, and explains a failure',
    () => withPage(small, async (page) => {
      const search = async (words) => {
        await page.keyboard.press('/');
        await page.locator('input[type=search]').fill(words);
        await page.keyboard.press('Enter');
        await settled(page);
        return page.locator('.said').innerText();
      };
      await page.locator('.viewport canvas').focus();
      assert.match(await search('3F7'), /^3F7 on stage 3/);
      assert.match(await detailsIn(page), /^3F7\n/);
      assert.match(await search(' 2b5 '), /^2B5 on stage 2/);
      assert.match(await search('stage 1'), /on stage 1/);
      assert.equal(await search('mb 3'), 'microbatch 3 is highlighted');
      assert.equal((await viewOf(page)).microbatch, 3);
      assert.equal(await search(''), 'no microbatch is highlighted');
      assert.match(
          await search('3F17'), /has no task 3F17: it has chunks 0 to 3, microbatches 0 to 7 and the passes F, B/);
      assert.match(await search('4W1'), /has no task 4W1/);
      assert.match(
          await search('nonsense'), /^Nothing is called “nonsense”.*4 stages, 4 chunks and 8 microbatches/);
      assert.match(await search('stage 4'), /^Nothing is called “stage 4”/);
      assert.match(await search('mb 8'), /^Nothing is called “mb 8”/);
    }));

test(
    'navigation: the critical path is drawn on request',
    () => withPage(small, async (page) => {
      const button = page.getByRole('button', {name: 'critical path'});
      assert.equal(await button.getAttribute('aria-pressed'), 'false');
      assert.equal(await pixelsOf(page, 'path'), 0);
      await button.click();
      await settled(page);
      assert.equal(await button.getAttribute('aria-pressed'), 'true');
      assert.ok(await pixelsOf(page, 'path') > 1000);
      await press(page, 'c');
      assert.equal(await pixelsOf(page, 'path'), 0);
    }));

test(
    'navigation: memory lanes show memory, the limit, and the excess',
    () => withPage(linked, async (page) => {
      assert.equal(await page.getByRole('button', {name: 'memory', exact: true}).getAttribute('aria-pressed'), 'true');
      const colours = ['memory', 'fixed', 'mark'];
      for (const colour of colours) assert.ok(await pixelsOf(page, colour) > 300, colour);
      const above = await page.evaluate(() => {
        const {chart, runs: [run]} = window.ppsim;
        const lane = chart.lanes.find(({kind}) => kind === 'memory');
        const limit = Math.round(lane.y + lane.height - run.memory_limit / chart.mostMemory * lane.height);
        const pixels = chart.raster.pixels.subarray(Math.ceil(lane.y) * chart.raster.width, limit * chart.raster.width);
        return pixels.reduce((count, pixel) => count + (pixel === chart.mark ? 1 : 0), 0);
      });
      assert.ok(above > 100, `${above} marked above the limit`);
      const {x, y} = await page.evaluate(() => {
        const {chart, canvas, runs: [run]} = window.ppsim;
        const lane = chart.lanes.find(({kind}) => kind === 'memory');
        const {left, top} = canvas.getBoundingClientRect();
        return {x: left + chart.x(run.start[4] - 1e5), y: top + 26 + lane.y + lane.height / 2};
      });
      await page.mouse.click(x, y);
      const words = await detailsIn(page);
      assert.match(words, /^Memory of stage 0\n/);
      assert.match(words, /Holds\n25 GiB, 4 live activations/);
      assert.match(words, /Headroom\nnone: 1 GiB too much/);
      await press(page, 'm');
      for (const colour of colours) assert.equal(await pixelsOf(page, colour), 0, colour);
    }));

test(
    'navigation: links show transfers with their waits',
    () => withPage(linked, async (page) => {
      await press(page, 'l');
      const missed = await page.evaluate(() => {
        const {chart, runs: [run]} = window.ppsim;
        const wrong = [];
        for (const lane of chart.lanes.filter(({kind}) => kind === 'link'))
          for (const id of lane.link.senders) {
            const box = chart.boxOfTarget({kind: 'transfer', run, link: lane.link, id});
            const hit = chart.hit(box.x + box.width / 2, box.y + box.height / 2);
            if (!hit || hit.kind !== 'transfer' || hit.id !== id) wrong.push(run.taskName(id));
          }
        return wrong;
      });
      assert.deepEqual(missed, []);
      await page.evaluate(() => {
        const {chart, runs: [run]} = window.ppsim;
        const {link} = chart.lanes.find(({kind}) => kind === 'link');
        window.ppsim.select({kind: 'transfer', run, stage: 0, link, id: 0});
      });
      const words = await detailsIn(page);
      assert.match(words, /^Transfer of 0F0\nactivation from stage 0 to stage 1\n/);
      assert.match(words, /Receiver\n1F0 on stage 1/);
    }));
