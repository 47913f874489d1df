// A page opens, keeps its text, stores the view in its address, prints, and is accessible.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');

const {namesOfControls, pageOf, placeOf, settled, violations, withPage} = require('./browser.js');
const {dataOf, folder, newFile, ppsim, readJson} = require('./program.js');

const small = '--stages 4 --mb 8 --comm 100us';
const full =
    '--schedule zb-v --vpp 2 --stages 4 --mb 8 --transfer link --latency 50us --bandwidth 10GB/s --boundary-bytes 2MiB ' +
    '--activation-bytes 5GiB --parameter-bytes 5GiB --memory-limit 24GiB';
const uneven = `${full} --slow 2=1.2`;

test(
    'page: has the title, the figures of the report and the report itself',
    () => withPage(small, async (page) => {
      const json = newFile('json');
      ppsim(`${small} --json=${json}`);
      const {makespan_ns, bubble_ratio} = readJson(json);
      assert.equal(await page.title(), '1f1b | ppsim simulate');
      assert.equal(await page.locator('h1').innerText(), '1f1b');
      const figure = async (name) =>
          (await page.locator('.metrics div', {hasText: name}).first().locator('dd').textContent());
      assert.equal(await figure('makespan'), `${makespan_ns / 1e6} ms`);
      assert.equal(await figure('bubble ratio'), `${Number((100 * bubble_ratio).toPrecision(4))} %`);
      await page.locator('.report summary').click();
      assert.ok((await page.locator('.report pre').innerText()).includes(ppsim(small).trim().split('\n')[0]));
    }));

test(
    'page: answers which stage waits most and for whom, when memory peaks, what twice the microbatches change',
    () => withPage(uneven, async (page) => {
      const words = await page.locator('.sentences').innerText();
      const {runs: [run]} = dataOf(pageOf(uneven));
      const idle = run.per_stage.map(({idle_ns}) => idle_ns), peaks = run.per_stage.map(({peak_bytes}) => peak_bytes);
      const most = idle.filter((time) => time === Math.max(...idle)).length;
      assert.ok(most > 1 && most < run.stages);
      assert.match(words, new RegExp(`${most} of 4 stages wait longest, equally: .* for stage \\d`));
      const over = peaks.filter((bytes) => bytes > run.memory_limit).length;
      assert.match(words, new RegExp(`Does not fit: ${over} of 4 stages exceed the limit`));
      assert.match(
          words,
          new RegExp(`Memory peaks on stage ${peaks.indexOf(Math.max(...peaks))} at .* more than the limit of 24 GiB`));
      assert.match(words, /With --mb 16: a step of .* for twice the work/);
      await page.getByRole('button', {name: 'its longest gap'}).click();
      assert.match(await page.locator('.details').innerText(), /^Stage \d is idle/);
    }));

test(
    'page: makes no network request, and its policy blocks other scripts',
    () => withPage(small, async (page) => {
      const policy = await page.locator('meta[http-equiv]').getAttribute('content');
      assert.match(policy, /^default-src 'none'; script-src( 'sha256-[A-Za-z0-9+/]{43}=')+; style-src 'sha256-/);
      assert.ok(!/unsafe/.test(policy));
      await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.foreign = true';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.foreign = true">');
      });
      await settled(page);
      assert.equal(await page.evaluate(() => window.foreign), undefined);
    }, {expected: /Content Security Policy/}));

const hostile = [
  '<script>window.foreign = 1</script>', '</script><script>window.foreign = 1</script>',
  '"><img src=x onerror="window.foreign = 1">', '<!--<script>', '--> ]]> &amp; \' " \\u003c/script>',
  '</title><svg onload="window.foreign = 1">'
];
for (const title of hostile)
  test(`page: a name stays text: ${title}`, async () => {
    const file = path.join(folder, `${title.replaceAll('/', '')}.csv`);
    ppsim(['--stages', '2', '--mb', '2', '--csv', file]);
    await withPage(['--schedule-file', file, `--title=${title}`, `--source=${title}`], async (page) => {
      assert.equal(await page.locator('h1').innerText(), title);
      assert.ok((await page.locator('.source').innerText()).startsWith(title));
      assert.ok((await page.title()).startsWith(title));
      await page.keyboard.press('/');
      await page.keyboard.type(title);
      await page.keyboard.press('Enter');
      assert.ok((await page.locator('.said').innerText()).includes(title.trim()));
      assert.equal(await page.evaluate(() => window.foreign), undefined);
      assert.equal(await page.locator('main script, main img, main svg').count(), 0);
      const svg = await page.evaluate(() => viewAsSvg(window.ppsim.chart));
      assert.equal(await page.evaluate((text) => parsed(text).querySelector('title').textContent, svg), title);
    }, {init: `window.parsed = (text) => new DOMParser().parseFromString(text, 'image/svg+xml')`});
  });

test(
    'page: the address keeps the view',
    () => withPage(full, async (page) => {
      await page.evaluate(() => {
        const {ppsim} = window, [run] = ppsim.runs;
        ppsim.select({kind: 'task', run, stage: 1, id: run.offsets[1] + 3});
        ppsim.setSpan(2e6, 9e6);
        ppsim.toggle('path');
        ppsim.toggle('links');
        ppsim.toggle('memory');
        ppsim.setRow(0.5);
        ppsim.highlight(5, '');
        ppsim.switchTheme();
      });
      const state = () => page.evaluate(() => {
        const {view, chart, theme} = window.ppsim;
        const {selected, start, end, path, memory, links, microbatch} = view;
        const pressed = Array.from(document.querySelectorAll('.bar [aria-pressed]'), (button) => button.ariaPressed);
        return {
          selected: selected.id,
          start,
          end,
          path,
          memory,
          links,
          microbatch,
          row: Math.round(chart.row),
          theme,
          pressed
        };
      });
      await page.waitForFunction(() => location.hash.includes('theme='));
      const before = await state();
      assert.deepEqual(
          [before.start, before.end, before.path, before.links, before.memory], [2e6, 9e6, true, true, false]);
      await page.reload();
      await settled(page);
      assert.deepEqual(await state(), before);
    }));

for (const hash
         of ['#t=abc', '#t=5,5', '#t=-9e99,1e999', '#t=1', '#task=99.99999', '#task=0.-1', '#task=a.b', '#show=77',
             '#show=-1,0,0,x', '#row=1000000000', '#row=-4', '#mb=-5', '#theme=<script>', '#path=7&memory=&links',
             '#%00%ff=&&==', '#__proto__=1&constructor=2', '#t=99999999999999999999,999999999999999999999'])
  test(
      `page: an address that it did not write does no harm: ${hash}`,
      () => withPage(small, async (page) => {
        const seen = await page.evaluate(() => {
          const {view, span, chart, runs: [run]} = window.ppsim;
          const all = [0, run.size - 1].map((id) => chart.laneOf(run, run.stage[id])).every(Boolean);
          return {...view, selected: view.selected === null, all, span, row: chart.row};
        });
        assert.ok(seen.end - seen.start >= 9.99 && seen.start >= -0.011 * seen.span && seen.end <= 1.011 * seen.span);
        assert.deepEqual([seen.shown, seen.all, seen.selected], [[0], true, true]);
        assert.ok(seen.row >= 4 && seen.row <= 80);
        assert.ok(['light', 'dark'].includes(await page.evaluate(() => document.documentElement.dataset.theme)));
        const {x, y} = await placeOf(page, {kind: 'task', id: 0});
        assert.ok(x > 0 && y > 0);
      }, {hash}));

test(
    'page: follows light or dark mode of the system, and its button overrides it',
    () => withPage(small, async (page) => {
      const theme = () => page.evaluate(
          () => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
      assert.deepEqual(await theme(), ['dark', 'rgb(20, 23, 28)']);
      await page.emulateMedia({colorScheme: 'light'});
      await page.waitForFunction(() => document.documentElement.dataset.theme === 'light');
      assert.deepEqual(await theme(), ['light', 'rgb(255, 255, 255)']);
      await page.getByRole('button', {name: 'theme'}).click();
      await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
      await page.emulateMedia({colorScheme: 'dark'});
      assert.equal((await theme())[0], 'dark');
    }, {colorScheme: 'dark'}));

for (const [name, options] of [['a run', full], ['runs compared', 'compare --stages 4 --mb 8 --vpp 2']])
  for (const colorScheme of ['light', 'dark']) {
    const check = async (page) => {
      await page.evaluate(() => {
        const [run] = window.ppsim.runs;
        window.ppsim.select({kind: 'task', run, stage: 0, id: 5});
      });
      await page.locator('.report summary').click();
      assert.deepEqual(await violations(page), []);
    };
    test(
        `page: nothing in it that axe finds serious, ${name}, ${colorScheme}`,
        () => withPage(options, check, {colorScheme, bypassCSP: true}));
  }

test(
    'page: every control has a name, and can be reached by keys',
    () => withPage(full, async (page) => {
      const names = await namesOfControls(page);
      assert.ok(names.length > 20);
      assert.deepEqual(names.filter(({name}) => name === ''), []);
      const reached = new Set();
      await page.locator('body').click({position: {x: 2, y: 2}});
      for (let i = 0; i < 80; ++i) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(
            () => document.activeElement.textContent || document.activeElement.getAttribute('aria-label')));
      }
      for (const name of ['+', 'critical path', 'memory', 'links', 'SVG', 'theme', 'keys', 'Idle share'])
        assert.ok(reached.has(name), `${name} is not reached: ${[...reached]}`);
      assert.ok([...reached].some((name) => name.startsWith('Chart of tasks over time.')));
    }));

test('page: the keys are listed, and the list closes', () => withPage(small, async (page) => {
                                                         await page.locator('.viewport canvas').focus();
                                                         await page.keyboard.press('?');
                                                         assert.match(
                                                             await page.getByRole('dialog').innerText(),
                                                             /go to what released the selected task/);
                                                         await page.keyboard.press('Escape');
                                                         assert.equal(await page.getByRole('dialog').count(), 0);
                                                       }));

test(
    'page: the table of stages is sorted by each of its columns, up and down',
    () => withPage(full, async (page) => {
      const table = page.locator('.tables table').last();
      const {runs: [run]} = dataOf(pageOf(full));
      const heads = await table.locator('thead button').count();
      assert.ok(heads >= 8);
      for (let column = 0; column < heads; ++column) {
        const orders = {};
        for (let turn = 0; turn < 2; ++turn) {
          await table.locator('thead button').nth(column).click();
          const sorted = await table.locator('thead th').nth(column).getAttribute('aria-sort');
          orders[sorted] = await table.locator('tbody tr > :first-child').allInnerTexts();
          assert.equal(await table.locator('[aria-sort=ascending], [aria-sort=descending]').count(), 1);
        }
        assert.deepEqual(Object.keys(orders).sort(), ['ascending', 'descending']);
        const values = {
          0: (s) => s,
          1: (s) => run.per_stage[s].busy_ns,
          2: (s) => run.per_stage[s].idle_ns,
          7: (s) => run.per_stage[s].peak_bytes,
          8: (s) => run.per_stage[s].peak_at_ns
        }[column];
        if (!values) continue;
        for (const [sorted, order] of Object.entries(orders)) {
          const sequence = order.map((stage) => values(Number(stage)) * (sorted === 'ascending' ? 1 : -1));
          assert.deepEqual(sequence, [...sequence].sort((a, b) => a - b), `column ${column}, ${sorted}`);
        }
      }
    }));

test(
    'page: the view is saved as SVG, a cell for each task, and as PNG',
    () => withPage(small, async (page) => {
      const save = async (name) => {
        const [download] =
            await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name, exact: true}).click()]);
        return {file: fs.readFileSync(await download.path()), name: download.suggestedFilename()};
      };
      const count = (svg) => page.evaluate((text) => {
        const read = new DOMParser().parseFromString(text, 'image/svg+xml');
        if (read.querySelector('parsererror')) throw new Error(read.documentElement.textContent);
        return Array.from(read.querySelectorAll('g rect title'), (title) => title.textContent)
            .filter((words) => /^\d+[FBIW]\d+,/.test(words));
      }, svg);
      const whole = await save('SVG');
      assert.equal(whole.name, '1f1b.svg');
      const cells = await count(whole.file.toString());
      assert.equal(cells.length, 64);
      assert.ok(cells.includes('3F0, 3.3 ms to 4.3 ms (1 ms)'));
      await page.evaluate(() => window.ppsim.setSpan(0, 3.2e6));
      await settled(page);
      const part = await count((await save('SVG')).file.toString());
      assert.deepEqual(
          part.map((words) => words.split(',')[0]), ['0F0', '0F1', '0F2', '0F3', '1F0', '1F1', '1F2', '2F0', '2F1']);
      const png = await save('PNG');
      assert.equal(png.name, '1f1b.png');
      const {width} = await page.evaluate(() => ({width: window.ppsim.canvas.width}));
      assert.equal(png.file.toString('latin1', 1, 4), 'PNG');
      assert.equal(png.file.readUInt32BE(16), width);
    }));

test(
    'page: an SVG of memory lanes or of more cells than pixels holds a picture',
    () => withPage(full, async (page) => {
      const svg = await page.evaluate(() => viewAsSvg(window.ppsim.chart));
      assert.match(svg, /<image [^>]*href="data:image\/png;base64,iVBOR/);
      assert.equal(svg.match(/<rect/g).length, 1);
    }));

test(
    'page: prints the chart and the tables',
    () => withPage(full, async (page) => {
      const pdf = await page.pdf({printBackground: true});
      assert.equal(pdf.toString('latin1', 0, 4), '%PDF');
      assert.match(pdf.toString('latin1'), /\/Subtype \/Image/);
      await page.evaluate(() => window.ppsim.close());  // nothing is redrawn for a printer
      await page.emulateMedia({media: 'print'});
      await page.setViewportSize({width: 700, height: 900});
      assert.ok(await page.locator('.viewport canvas').isVisible());
      const [shown, drawn] = await page.evaluate(() => {
        const {canvas} = window.ppsim, {width, height} = canvas.getBoundingClientRect();
        return [width / height, canvas.width / canvas.height];
      });
      assert.ok(Math.abs(shown / drawn - 1) < 0.02, `${shown}, not ${drawn}: stretched`);
      assert.ok(await page.locator('.tables table').isVisible());
      assert.ok(await page.locator('.bar').isHidden());
    }));
