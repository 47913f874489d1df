// The appearance of charts: mean colours of 32 x 16 fields, so that fonts and their smoothing do not matter. UPDATE=1
// writes the current ones to pictures/ instead.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');

const {coloursOf, withPage} = require('./browser.js');

const pictures = {
  'small-light': ['--stages 4 --mb 8 --comm 100us', {}],
  'pairs-dark': ['--schedule dualpipe --stages 8 --mb 20', {colorScheme: 'dark'}],
  'dense-light': ['--schedule zb-h1 --stages 64 --mb 512', {}],
  'memory-dark': [
    '--stages 4 --mb 8 --comm 100us --activation-bytes 5GiB --parameter-bytes 5GiB --memory-limit 24GiB',
    {colorScheme: 'dark', hash: '#path=1&memory=1&links=1'}
  ]
};
/** The pixels of the chart, wherever it is on the page. */
async function pixelsOf(page) {
  const url = await page.evaluate(() => window.ppsim.canvas.toDataURL('image/png'));
  return Buffer.from(url.split(',')[1], 'base64');
}
const mostOff = 10;  // of 255: differences by digits and names

for (const [name, [options, settings]] of Object.entries(pictures))
  test(`pictures: ${name}`, () => withPage(options, async (page) => {
                              const seen = await coloursOf(await pixelsOf(page));
                              const file = path.join(__dirname, 'pictures', `${name}.txt`);
                              if (process.env.UPDATE)
                                fs.writeFileSync(file, seen.map((row) => `${row.join(' ')}\n`).join(''));
                              const expected =
                                  fs.readFileSync(file, 'utf8').trim().split('\n').map((row) => row.split(' '));
                              const parts = (colour) => [0, 2, 4].map((at) => parseInt(colour.slice(at, at + 2), 16));
                              const wrong = [];
                              seen.forEach((row, y) => row.forEach((colour, x) => {
                                const off = Math.max(
                                    ...parts(colour).map((part, i) => Math.abs(part - parts(expected[y][x])[i])));
                                if (off > mostOff) wrong.push(`field ${x}, ${y}: ${colour}, not ${expected[y][x]}`);
                              }));
                              assert.deepEqual(wrong, []);
                            }, settings));
