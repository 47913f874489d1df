// Runs the program for the tests, and reads the pages that it writes.

const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const program = process.env.PPSIM_PROGRAM || path.join(__dirname, '../../build/release/ppsim');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ppsim-browser-'));
process.on('exit', () => fs.rmSync(folder, {recursive: true, force: true}));

let files = 0;
/** A new file in the tests' folder. */
function newFile(ending) {
  return path.join(folder, `${++files}.${ending}`);
}

/** The program's output; `args` as words or as one text. Status 3 is also a result: it does not fit. */
function ppsim(args) {
  const words = typeof args === 'string' ? args.split(' ') : args;
  const {status, stdout, stderr, error} =
      spawnSync(program, words, {cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26});
  if (error) throw error;
  if (status !== 0 && status !== 3) throw new Error(`ppsim ${words.join(' ')}\n${stderr}`);
  return stdout;
}

/** Writes a page for those options and returns its file. */
function makePage(args) {
  const file = newFile('html');
  ppsim(typeof args === 'string' ? `${args} --html ${file}` : [...args, '--html', file]);
  return file;
}

/** The data of a page. */
function dataOf(file) {
  const html = fs.readFileSync(file, 'utf8');
  return JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)[1]);
}

function readJson(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

module.exports = {
  dataOf,
  folder,
  makePage,
  newFile,
  ppsim,
  readJson
};
