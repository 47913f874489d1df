// The playground: the simulator in the page gives the program's results, and controls, address and errors work. Skipped
// if tools/playground has not built it.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');

const {withFile} = require('./browser.js');
const {ppsim} = require('./program.js');

const file = path.join(__dirname, '../../build/playground/playground.html');
const skip = !fs.existsSync(file) && 'tools/playground has not built the page';

/** Runs `work` in the playground with those arguments, after they are simulated. */
function withWords(words, work) {
  return withFile(file, work, {hash: `#args=${encodeURIComponent(words)}`});
}
/** Name and makespan of each run on the page. */
function runsIn(page) {
  return page.evaluate(() => window.ppsim.runs.map((run) => [run.name, run.makespan_ns]));
}
function makespanOf(words) {
  return JSON.parse(ppsim(`${words} --json -`)).makespan_ns;
}

test('playground: two schedules side by side, with the nanoseconds of the program', {skip}, () => {
  const words = '--stages 6 --mb 13 --forward 1.5ms --backward 3ms --comm 0.35ms';
  return withWords(`${words} --schedule 1f1b,zb-v`, async (page) => {
    const expected = ['1f1b', 'zb-v'].map((name) => [name, makespanOf(`${words} --schedule ${name}`)]);
    assert.deepEqual(await runsIn(page), expected);
    assert.match(await page.locator('.command').innerText(), /^ppsim --stages 6 --mb 13 .*--schedule 1f1b/);
  });
});

test('playground: a slider changes the run, the command and the address', {skip}, () => {
  return withWords('--stages 4 --mb 8 --schedule 1f1b', async (page) => {
    const slider = page.getByLabel('stages p');
    await slider.focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => window.ppsim.runs[0].stages === 5);
    assert.match(await page.locator('.command').innerText(), /--stages 5 /);
    await page.waitForFunction(() => location.hash.includes('--stages%205'));
    await page.reload();
    await page.waitForFunction(() => window.ppsim && window.ppsim.runs[0].stages === 5);
  });
});

test('playground: any option of the program, and its errors', {skip}, () => {
  return withWords('--stages 4 --mb 8 --schedule gpipe --transfer link --comm 200us', async (page) => {
    const words = '--stages 4 --mb 8 --schedule gpipe --transfer link --comm 200us';
    assert.deepEqual(await runsIn(page), [['gpipe', makespanOf(words)]]);
    const more = page.getByLabel('more options');
    await more.fill('--transfer lnk');
    await more.press('Enter');
    await page.waitForFunction(() => document.querySelector('.errors p'));
    assert.match(await page.locator('.errors').innerText(), /gpipe --transfer: .*lnk/);
  });
});

test('playground: a schedule that refuses the settings leaves the others', {skip}, () => {
  return withWords('--stages 3 --mb 7 --schedule chimera,1f1b', async (page) => {
    assert.deepEqual((await runsIn(page)).map(([name]) => name), ['1f1b']);
    assert.match(await page.locator('.errors').innerText(), /^chimera /);
  });
});

test('playground: 16 stages and 64 microbatches answer at once', {skip}, () => {
  return withWords('--stages 16 --mb 64 --schedule 1f1b', async (page) => {
    const median = await page.evaluate(() => {
      const times = [];
      for (let i = 1; i <= 21; ++i) {
        window.playground.settings.forward = i;
        window.playground.run();
        times.push(window.playground.simulated);
      }
      return times.sort((a, b) => a - b)[10];
    });
    console.log(`16 x 64 simulated in ${median.toFixed(1)} ms (median of 21)`);
    assert.ok(median < 200, `${median} ms; 50 on a machine that does nothing else`);
  });
});
