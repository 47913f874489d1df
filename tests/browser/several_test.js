// Pages of several runs: compared schedules, a prediction compared with a run.

const assert = require('node:assert/strict');
const path = require('node:path');
const {test} = require('node:test');

const {pageOf, settled, withPage} = require('./browser.js');
const {dataOf} = require('./program.js');

const samples = path.join(__dirname, '../../traces/samples/threads/p2-transformer-medium');
const compared = 'compare --stages 4 --mb 8 --vpp 2 --comm 50us --activation-bytes 4GiB --memory-limit 40GiB';
const validated =
    ['validate', '--scenario', path.join(samples, 'v1.toml'), '--timeline', path.join(samples, '1f1b-m8.json.gz')];

const shownIn = (page) => page.evaluate(() => window.ppsim.view.shown);
const runsTable = (page) => page.locator('.tables table').first();

test(
    'several: two runs share one time axis, and a tick adds a third',
    () => withPage(compared, async (page) => {
      const before = await shownIn(page);
      assert.equal(before.length, 2);
      const lanes = () => page.evaluate(() => window.ppsim.chart.lanes.map(({run}) => window.ppsim.runs.indexOf(run)));
      assert.deepEqual([...new Set(await lanes())], before);
      const {runs} = dataOf(pageOf(compared));
      const third = runs.findIndex((_, i) => !before.includes(i));
      await page.getByRole('checkbox', {name: `show ${runs[third].name}`, exact: true}).check();
      await settled(page);
      assert.deepEqual(await shownIn(page), [...before, third].sort((a, b) => a - b));
      assert.equal((await lanes()).filter((run) => run === third).length, 4);
      const ends = await page.evaluate(() => {
        const {chart, runs: all, view} = window.ppsim;
        return view.shown.map((i) => (chart.x(all[i].makespan_ns) - chart.x(0)) / all[i].makespan_ns);
      });
      assert.ok(ends.every((scale) => Math.abs(scale / ends[0] - 1) < 1e-9), 'one scale');
      await page.getByRole('checkbox', {name: `show ${runs[before[0]].name}`, exact: true}).uncheck();
      assert.deepEqual(await shownIn(page), [before[1], third].sort((a, b) => a - b));
    }));

test(
    'several: the tables show the run whose name is clicked',
    () => withPage(compared, async (page) => {
      const {runs} = dataOf(pageOf(compared));
      const recommended = runs.findIndex((run) => run.recommended);
      assert.equal(await page.locator('.tables caption').last().innerText(), `Stages of ${runs[recommended].name}`);
      const last = runs.length - 1;
      await runsTable(page).getByRole('button', {name: runs[last].name, exact: true}).click();
      assert.equal(await page.locator('.tables caption').last().innerText(), `Stages of ${runs[last].name}`);
      assert.ok((await shownIn(page)).includes(last));
      const makespan = await page.locator('.metrics div', {hasText: 'makespan'}).locator('dd').textContent();
      assert.equal(makespan, `${Number((runs[last].makespan_ns / 1e6).toPrecision(4))} ms`);
      assert.equal(await page.locator('.headline').innerText(), runs[last].headline.join(' · '));
    }));

test(
    'several: the table of runs is sorted by each column, up and down',
    () => withPage(compared, async (page) => {
      const {runs} = dataOf(pageOf(compared));
      const steps = new Map(runs.map(({name, step_time_ns}) => [name, step_time_ns]));
      const heads = runsTable(page).locator('thead th');
      const order = () =>
          runsTable(page).locator('tbody th').allInnerTexts().then((names) => names.map((name) => name.trim()));
      const count = await heads.count();
      assert.ok(count >= 6);
      const first = {};
      for (let column = 0; column < count; ++column)
        for (let turn = 0; turn < 2; ++turn) {
          await heads.nth(column).locator('button').click();
          const sorted = await heads.nth(column).getAttribute('aria-sort');
          assert.ok(['ascending', 'descending'].includes(sorted));
          first[`${column} ${sorted}`] = (await order())[0];
          if (column !== 1) continue;
          const times = (await order()).map((name) => steps.get(name) * (sorted === 'ascending' ? 1 : -1));
          assert.deepEqual(times, [...times].sort((a, b) => a - b));
        }
      assert.equal(Object.keys(first).length, 2 * count);
      assert.notEqual(first['4 ascending'], first['4 descending']);
    }));

test(
    'several: a run that does not fit says so',
    () => withPage(`${compared} --parameter-bytes 25GiB`, async (page) => {
      const {runs} = dataOf(pageOf(`${compared} --parameter-bytes 25GiB`));
      const over = runs.filter((run) => run.overflow !== null).map(({name}) => name);
      assert.ok(over.length > 0 && over.length < runs.length);
      const marked = runsTable(page).locator('tbody tr', {hasText: 'does not fit'}).locator('th');
      assert.deepEqual((await marked.allInnerTexts()).map((name) => name.trim()).sort(), over.sort());
    }));

test(
    'several: predicted is above measured, task by task',
    () => withPage(validated, async (page) => {
      const lanes = await page.evaluate(
          () => window.ppsim.chart.lanes.filter(({kind}) => kind === 'tasks')
                    .map(({stage, second, run}) => [stage, second, run.name]));
      assert.deepEqual(
          lanes, [[0, false, 'predicted'], [0, true, 'measured'], [1, false, 'predicted'], [1, true, 'measured']]);
      const {share, id, missed} = await page.evaluate(() => {
        const {chart, runs: [predicted, measured]} = window.ppsim;
        const lengths = Array.from(predicted.start, (_, at) => [at, deviation(predicted, measured, at)]);
        const [at, most] = lengths.reduce((one, other) => Math.abs(other[1]) > Math.abs(one[1]) ? other : one);
        const places = [predicted, measured].flatMap((run) => Array.from(run.start, (_, task) => [run, task]));
        const wrong = places.filter(([run, task]) => {
          const box = chart.boxOf(run, task, chart.laneOf(run, run.stage[task]));
          const hit = chart.hit(box.x + box.width / 2, box.y + box.height / 2);
          return !hit || hit.run !== run || hit.id !== task;
        });
        return {share: most, id: at, missed: wrong.length};
      });
      assert.equal(missed, 0);
      assert.ok(Math.abs(share) > 0.02, 'one of them deviates');
      const colour = await page.evaluate((at) => {
        const {chart, canvas, runs: [, measured]} = window.ppsim;
        const box = chart.boxOf(measured, at, chart.laneOf(measured, measured.stage[at]));
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
        copy.drawImage(canvas, 0, 0);
        return Array.from(copy.getImageData(box.x + box.width / 2, box.y + box.height - 1, 1, 1).data.subarray(0, 3));
      }, id);
      assert.deepEqual(colour, share > 0 ? [0xd5, 0x5e, 0] : [0, 0x72, 0xb2]);
      await page.evaluate((at) => {
        const [, run] = window.ppsim.runs;
        window.ppsim.select({kind: 'task', run, stage: run.stage[at], id: at});
      }, id);
      const words = await page.locator('.details').innerText();
      assert.match(words, /Predicted\n/);
      assert.ok(words.includes(share > 0 ? '% longer than predicted' : '% shorter than predicted'));
    }));

for (const command of ['explain', 'plan', 'replay', 'synthesize'])
  test(`several: ${command} has a page`, () => {
    const options = {
      explain: ['explain', path.join(samples, '1f1b-m8.json.gz')],
      plan: 'plan --model gpt2-xl --device a100 --gpus 4 --global-batch 8 --top 3',
      replay: 'replay --stages 2 --mb 2 --forward 1ms --backward 2ms',
      synthesize: 'synthesize --stages 2 --mb 2'
    };
    return withPage(options[command], async (page) => {
      assert.match(await page.title(), new RegExp(`ppsim ${command}$`));
      assert.ok(await page.evaluate(() => window.ppsim.runs.every((run) => run.size > 0 && run.makespan_ns > 0)));
    });
  });
