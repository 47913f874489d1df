// The data that the page decodes equal the program's JSON and trace. Needs no browser.

const assert = require('node:assert/strict');
const {test} = require('node:test');

const {Run, Varints} = require('../../viz/html/page/decode.js');
const {dataOf, newFile, ppsim, readJson} = require('./program.js');

/** One run as page, JSON and trace. */
function threeWays(options) {
  const [page, json, trace] = ['html', 'json', 'json'].map(newFile);
  ppsim(`${options} --html ${page} --json=${json} --tasks --trace ${trace}`);
  const data = dataOf(page);
  assert.equal(data.runs.length, 1);
  return {data, run: new Run(data.runs[0]), json: readJson(json), events: readJson(trace).traceEvents};
}
const ns = (microseconds) => Math.round(microseconds * 1000);

function sameTasks({run, json}) {
  const tasks = json.tasks.filter(({pass}) => 'FBIW'.includes(pass));
  assert.equal(run.size, tasks.length);
  tasks.forEach((task, id) => {
    const decoded = {
      stage: run.stage[id],
      chunk: run.chunk[id],
      microbatch: run.microbatch[id],
      pass: 'FBIW'[run.pass[id]],
      start_ns: run.start[id],
      end_ns: run.end[id]
    };
    assert.deepEqual(decoded, Object.fromEntries(Object.keys(decoded).map((key) => [key, task[key]])));
  });
}

/** Checks what released each task and why, and what its transfer waited for. */
function sameCauses({data, run, events}) {
  const spans = events.filter(({ph}) => ph === 'X');
  const tasks = spans.filter(({cat}) => 'FBIW'.includes(cat));
  const pairs = spans.filter(({cat}) => cat === 'overlap');
  const ids = new Map(Array.from({length: run.size}, (_, id) => [`${run.stage[id]} ${run.taskName(id)}`, id]));
  const nameOf = (id) => id < 0 ? null : run.taskName(id);
  assert.equal(tasks.length + 2 * pairs.length, run.size);
  for (const {name, cat, args} of [...tasks, ...pairs]) {
    const [first, second] = cat === 'overlap' ? name.slice(1, -1).split(';') : [name];
    const id = ids.get(`${args.stage} ${first}`);
    const said = [data.causes[run.cause[id]], nameOf(run.released[id])];
    assert.deepEqual(said, [args.cause, args.released_by], `${name} on stage ${args.stage}`);
    if (second) assert.deepEqual([run.pairing[id], run.pairing[id + 1], run.taskName(id + 1)], [1, 2, second]);
  }
  for (const {name, cat, ts, dur, args} of spans) {
    if (cat !== 'transfer') continue;
    const id = ids.get(`${args.from_stage} ${name}`);
    assert.equal(run.transferStart[id], ns(ts));
    assert.equal(run.transferEnd[id], ns(ts + dur));
    assert.equal(run.stage[run.receiver[id]], args.to_stage);
    assert.equal(run.sender[run.receiver[id]], id);
    if ('waited_for' in args)
      assert.equal(
          nameOf(run.transferReleased ? run.transferReleased[id] : -1), args.waited_for, `transfer of ${name}`);
  }
}

function sameMemory({run, json, events}) {
  const counted = (name, stage) => events.filter((event) => event.name === name && event.pid === stage);
  json.per_stage.forEach((facts, s) => {
    const [from, to] = [run.memoryOffsets[s], run.memoryOffsets[s + 1]];
    const live = counted('live activations', s), bytes = counted('memory', s);
    assert.deepEqual(
        Array.from(run.memoryLive.subarray(from, to)), live.map(({args}) => args.count), `live on stage ${s}`);
    assert.deepEqual(Array.from(run.memoryAt.subarray(from, to)), live.map(({ts}) => ns(ts)), `when on stage ${s}`);
    if (bytes.length > 0)
      assert.deepEqual(Array.from(run.memoryBytes.subarray(from, to)), bytes.map(({args}) => args.bytes));
    const peak = facts.static_bytes + (facts.peak_activation_bytes || 0);
    assert.equal(Math.max(...run.memoryBytes.subarray(from, to)), peak, `peak of stage ${s}`);
    assert.equal(run.per_stage[s].peak_bytes, peak);
  });
}

function sameIdle({data, run, json}) {
  json.per_stage.forEach((facts, s) => {
    const sums = {};
    let before = 0;
    for (let i = run.idleOffsets[s]; i < run.idleOffsets[s + 1]; ++i) {
      const label = data.labels[run.idleLabel[i]];
      sums[label] = (sums[label] || 0) + run.idleEnd[i] - run.idleStart[i];
      assert.ok(run.idleStart[i] >= before && run.idleEnd[i] > run.idleStart[i]);
      before = run.idleEnd[i];
      const next = run.start.subarray(run.offsets[s], run.offsets[s + 1]).findIndex((start) => start >= before);
      assert.equal(run.idleTask[i], next < 0 ? -1 : run.offsets[s] + next, `what stage ${s} waits for`);
    }
    assert.deepEqual(sums, facts.idle_by_cause_ns, `idle time of stage ${s}`);
    let again = 0;
    for (let i = run.offsets[s]; run.recompute && i < run.offsets[s + 1]; ++i) again += run.recompute[i];
    assert.equal(again, facts.busy_by_pass_ns.recompute || 0, `recomputation on stage ${s}`);
  });
}

const links = '--latency 10us --bandwidth 1GB/s --boundary-bytes 3MiB';
const runs = {
  'sequential': '--schedule sequential --stages 3 --mb 4',
  'gpipe': '--schedule gpipe --stages 4 --mb 6 --comm 50us',
  'one stage, one microbatch': '--stages 1 --mb 1',
  '1f1b': '--stages 4 --mb 8',
  'eager-1f1b': `--schedule eager-1f1b --stages 4 --mb 8 ${links}`,
  'interleaved': `--schedule interleaved --stages 4 --mb 8 --vpp 3 ${links}`,
  'looped-bfs': '--schedule looped-bfs --stages 4 --mb 8 --vpp 2',
  'pipedream': '--schedule pipedream --stages 4 --mb 8 --activation-bytes 1GiB --parameter-bytes 1GiB',
  'zb-h1': `--schedule zb-h1 --stages 4 --mb 8 --transfer link ${links}`,
  'zb-h2': '--schedule zb-h2 --stages 4 --mb 8',
  'zb-auto': '--schedule zb-auto --stages 4 --mb 8 --comm 100us',
  'zb-interleaved': '--schedule zb-interleaved --stages 4 --mb 8 --vpp 2',
  'zb-v': '--schedule zb-v --stages 4 --mb 8 --vpp 2 --activation-bytes 1GiB --weight-activation-bytes 300MiB',
  'v-half': '--schedule v-half --stages 4 --mb 8 --vpp 2',
  'v-min': '--schedule v-min --stages 4 --mb 8 --vpp 2',
  'v-auto': '--schedule v-auto --stages 4 --mb 8 --vpp 2',
  'dualpipe, pairs that hide': '--schedule dualpipe --stages 4 --mb 10 --pair hide --forward-collective 300us',
  'dualpipe-v': `--schedule dualpipe-v --stages 4 --mb 8 --vpp 2 ${links}`,
  'dualpipe-v, pairs in turn': '--schedule dualpipe-v --stages 4 --mb 8 --vpp 2 --pair serial',
  'chimera': '--schedule chimera --stages 4 --mb 8',
  'hanayo': `--schedule hanayo --stages 4 --mb 8 --vpp 4 --transfer link ${links}`,
  'recomputation': '--stages 4 --mb 8 --recompute full --activation-bytes 2GiB --checkpoint-bytes 10MiB',
  'reductions and optimizer': `--stages 4 --mb 8 --reduce 3ms --optimizer 1ms,2ms,3ms,4ms ${links}`,
  'streams': `--stages 4 --mb 8 --transfer streams --comm-slowdown 1.3 ${links}`,
  'streams as Megatron-LM':
      `--schedule interleaved --vpp 2 --stages 4 --mb 8 --transfer streams --lowering megatron ${links}`,
  'blocking': `--stages 4 --mb 8 --transfer blocking ${links}`,
  'more than the limit, sizes beyond 32 bits':
      '--stages 4 --mb 8 --activation-bytes 5GiB --parameter-bytes 100GiB --memory-limit 110GiB',
  'times beyond 32 bits, each of its own': `--stages 2 --mb 2 --forward ${
          [7.000000001, 9.5, 8, 3].map((s) => `${s}s`).join(',')} --backward 21s --optimizer 11s`,
  'each task of its own length':
      `--stages 2 --mb 3 --forward ${[5, 3, 8, 1, 9, 2].map((ms) => `${ms}.000001ms`).join(',')} --backward 7ms,4ms`,
  'forwards alone': '--stages 4 --mb 8 --forward-only',
  'a model': '--model gpt-22b --device a100 --stages 4 --mb 16 --data-parallel 8'
};

for (const [name, options] of Object.entries(runs))
  test(`data: ${name}`, () => {
    const made = threeWays(options);
    sameTasks(made);
    sameCauses(made);
    sameMemory(made);
    sameIdle(made);
  });

test('data: every schedule has a run here', () => {
  const schedules = ppsim('list schedules').match(/^[a-z0-9-]+$/gm);
  assert.ok(schedules.length > 15);
  for (const schedule of schedules) assert.ok(Object.keys(runs).some((name) => name.startsWith(schedule)), schedule);
});

test('data: numbers at the limits of a byte, 32 bits and 2^53', () => {
  const numbers = [0, -1, 1, 63, 64, -64, -65, 2 ** 31, -(2 ** 31), 2 ** 32 + 1, 2 ** 51 + 1, -(2 ** 51) - 1];
  const bytes = [];
  for (const number of numbers)
    for (let rest = BigInt(number) >= 0n ? 2n * BigInt(number) : -2n * BigInt(number) - 1n;; rest >>= 7n) {
      bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
      if (rest <= 127n) break;
    }
  const read = new Varints(Buffer.from(bytes).toString('base64'));
  assert.deepEqual(numbers.map(() => read.next()), numbers);
});
