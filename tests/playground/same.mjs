// same.mjs MODULE.js PROGRAM: that the playground's module says, byte for byte, what the program says: reports, notes and errors; and
// within 50 ms where a page waits for it. tools/playground --try runs it. Ends with 1 where one of that is not so.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modulePath, program] = process.argv.slice(2).map((path) => resolve(path));
const engine = await createRequire(import.meta.url)(modulePath)();
const answer = (words) => engine.ccall('ppsim_run', 'string', ['string'], [JSON.stringify(words)]);

// What the program writes to stdout and stderr, made of an answer. Reports are compared as text: numbers in it may have 64 bits.
function asProgram(text) {
  const { ok, notes, errors } = JSON.parse(text);
  const said = ok
    ? notes.map((note) => `ppsim: note: ${note}\n`)
    : errors.map(({ place, problem, remedy }) => `ppsim: error: ${place}: ${problem}\n${remedy && `ppsim: hint: ${remedy}\n`}`);
  const begin = text.indexOf(',"report":') + ',"report":'.length;
  return { ok, report: ok ? text.slice(begin, text.lastIndexOf('}')) : '', said: said.join('') };
}

const counts = {};
let wrong = 0;
function hold(kind, words) {
  const said = spawnSync(program, ['simulate', ...words, '--json', '-'], { encoding: 'utf8', maxBuffer: 2 ** 30 });
  const ours = asProgram(answer([...words, '--json', '-']));
  const count = (counts[kind] ??= { reports: 0, refusals: 0 });
  count[ours.ok ? 'reports' : 'refusals'] += 1;
  if (ours.report.trimEnd() === said.stdout.trimEnd() && ours.said === said.stderr) return;
  wrong += 1;
  if (wrong > 20) return;
  const [here, there] = [ours.report.split('\n'), said.stdout.split('\n')];
  const at = here.findIndex((line, i) => line !== there[i]);
  console.log(`differs: ppsim ${words.join(' ')}\n  module:  ${here[at]} ${ours.said}\n  program: ${there[at]} ${said.stderr}`);
}

// The same numbers in every run
let state = 1;
const below = (limit) => (state = (state * 48271) % 2147483647) % limit;
const any = (list) => list[below(list.length)];
const several = (count, least, range, unit) => Array.from({ length: count }, () => `${least + below(range)}${unit}`).join();

const schedules = JSON.parse(spawnSync(program, ['list', 'schedules', '--json'], { encoding: 'utf8' }).stdout).schedules.map(({ name }) => name);
if (schedules.length < 19) throw new Error(`the program lists ${schedules.length} schedules`);
const shapes = [[1, 1, 1], [2, 4, 1], [2, 4, 2], [4, 8, 1], [4, 8, 2], [4, 9, 1], [4, 12, 3], [6, 24, 1], [8, 32, 2], [16, 32, 1]];
const costs = [
  () => [],
  () => ['--forward', '10ms', '--backward', '21ms'],
  ({ stages, chunks }) => ['--forward', several(stages * chunks, 700, 900, 'us'), '--input-grad', several(stages * chunks, 800, 300, 'us'),
    '--weight-grad', several(stages * chunks, 500, 600, 'us'), '--overhead', '13us'],
  () => ['--forward', '7h', '--backward', '15h', '--reduce', '3h', '--optimizer', '90s'],
  () => ['--forward', '3ms', '--backward', '5ms', '--forward-collective', '1ms', '--backward-collective', '1ms', '--pair', 'hide', '--embedding', '1ms', '--head', '2ms'],
];
const transfers = [
  () => [],
  () => ['--comm', '300us'],
  () => ['--latency', '5us', '--bandwidth', '23GB/s', '--boundary-bytes', '97MiB', '--transfer', 'link', '--stages-per-node', '2', '--inter-node-bandwidth', '7GB/s'],
  () => ['--latency', '7us', '--bandwidth', '3GB/s', '--boundary-bytes', '6GiB', '--transfer', 'blocking'],
  () => ['--comm', '211us', '--transfer', 'streams'],
  () => ['--comm', '2ms', '--transfer', 'streams', '--lowering', any(['pytorch', 'megatron', 'edge']), '--p2p', any(['edge', 'pair', 'group', 'batched'])],
];
const memories = [
  () => [],
  () => ['--activation-bytes', '5GiB', '--parameter-bytes', '9GB', '--gradient-bytes', '18GB', '--optimizer-bytes', '54GB', '--memory-limit', '141GiB'],
  () => ['--activation-bytes', '512MiB', '--weight-activation-bytes', '200MiB', '--memory-limit', '3GiB'],
  () => ['--activation-bytes', '2GiB', '--checkpoint-bytes', '64MiB', '--recompute', 'full', '--memory-limit', '80GB'],
  () => ['--activation-bytes', '3GB', '--checkpoint-bytes', '1GB', '--recompute', 'selective', '--recompute-time', '2ms'],
];
for (const name of schedules)
  for (const [stages, mb, chunks] of shapes)
    for (const [kind, others] of Object.entries({ costs, transfers, memories }))
      for (const other of others) {
        const words = ['--schedule', name, '--stages', `${stages}`, '--mb', `${mb}`, ...(chunks > 1 ? ['--vpp', `${chunks}`] : [])];
        const mixed = kind === 'costs' ? [] : any(costs)({ stages, chunks });
        const more = kind === 'memories' && below(2) ? any(transfers)() : [];
        hold(kind, [...words, ...other({ stages, chunks }), ...mixed, ...more, ...any([[], ['--tasks']])]);
      }

const model = ['--model', 'llama-3-70b', '--device', 'h100', '--stages', '8', '--mb', '64', '--tensor-parallel', '8'];
for (const more of [[], ['--data-parallel', '32'], ['--recompute', 'full'], ['--recompute', 'selective'], ['--schedule', 'zb-auto'], ['--vpp', '5', '--schedule', 'interleaved'],
                    ['--context-parallel', '4', '--sequence-length', '131072'], ['--balance'], ['--balance', '--vpp', '2'], ['--measured-step', '9s'], ['--data-type', 'fp8'],
                    ['--zero-stage', '3', '--data-parallel', '16'], ['--transfer', 'link', '--stages-per-node', '1']]) hold('models', [...model, ...more]);
for (const name of schedules) hold('models', [...model, '--schedule', name]);
hold('models', ['--model', 'deepseek-v3', '--device', 'h100', '--stages', '16', '--mb', '64', '--expert-parallel', '64', '--data-parallel', '8']);

const small = ['--stages', '4', '--mb', '8', '--forward', '10ms', '--backward', '20ms', '--comm', '1ms'];
for (const more of [['--sensitivity'], ['--jitter', '0.05'], ['--jitter', '0.3', '--samples', '5000', '--seed', '4294967295'], ['--jitter', '0.1', '--data-parallel', '64', '--samples', '6400'],
                    ['--jitter', '0.1', '--sensitivity'], ['--slow', '1=1.3'], ['--slow-link', '0=4'], ['--send-slices', '7'], ['--overlap-grad-reduce', 'off', '--reduce', '5ms'],
                    ['--optimizer-step', 'per-stage', '--optimizer', '3ms'], ['--forward-only'], ['--title', 'Ünïcode "quoted" \\ \u0001'], ['--title', 'Ünïcode "quoted" \\'],
                    ['--bound'], ['--layers', '33'], ['--layout', 'Et*10|(t*11|)*2,t*9L'], ['--stages', '4']]) hold('questions', [...small, ...more]);
for (const name of schedules) hold('questions', [...small, '--schedule', name, '--bound']);
for (const name of schedules) hold('questions', [...small, '--schedule', name, '--jitter', '0.2', '--sensitivity']);

// What 32 bits do not hold
for (const words of [['--stages', '4', '--mb', '8', '--forward', '2000h', '--backward', '4000h'], ['--stages', '4', '--mb', '8', '--forward', '2000000h'],
                     ['--stages', '64', '--mb', '512'], ['--stages', '8', '--mb', '50000', '--schedule', 'gpipe', '--activation-bytes', '5GiB'], ['--stages', '2', '--mb', '300000'],
                     ['--stages', '256', '--mb', '1024'], ['--stages', '4', '--mb', '8', '--flops', '1.2e19', '--device', 'h100'],
                     ['--stages', '4', '--mb', '8', '--parameter-bytes', '3000TB', '--memory-limit', '9000TB'], ['--stages', '4', '--mb', '8', '--parameter-bytes', '9000000TB'],
                     ['--stages', '4', '--mb', '8', '--boundary-bytes', '900TB', '--bandwidth', '1B/s'], ['--stages', '4', '--mb', '8', '--boundary-bytes', '9TB', '--bandwidth', '7kB/s'],
                     ['--stages', '4096', '--mb', '134217728'], ['--stages', '4096', '--mb', '134217728', '--vpp', '65535'], ['--stages', '4096', '--mb', '1048576'],
                     ['--stages', '16', '--mb', '134217728'], ['--stages', '32', '--mb', '67108864'], ['--stages', '4096', '--mb', '4096', '--vpp', '256'], ['--stages', '4096', '--mb', '4', '--vpp', '65535'],
                     ['--stages', '512', '--mb', '1024', '--sensitivity'], ['--stages', '64', '--mb', '512', '--jitter', '0.1', '--samples', '1024', '--sensitivity'],
                     ['--stages', '4', '--mb', '8', '--send-slices', '1048576'], ['--stages', '1024', '--mb', '4096', '--send-slices', '1048576', '--bandwidth', '1GB/s', '--boundary-bytes', '1GB'],
                     ['--stages', '4', '--mb', '8', '--jitter', '0.1', '--samples', '1000000', '--data-parallel', '1048576'], ['--stages', '64', '--mb', '512', '--jitter', '0.1', '--samples', '1000000'],
                     ['--stages', '4', '--mb', '4294967297'], ['--stages', '4', '--mb', '18446744073709551617'], ['--stages', '4294967300', '--mb', '8'], ['--stages', '4', '--mb', '8', '--seed', '4294967296'],
                     ['--stages', '4', '--mb', '8', '--gpus-per-node', '4294967304'], ['--stages', '4', '--mb', '8', '--replicas', '4294967297', '--schedule', 'pipedream'],
                     ['--stages', '4', '--mb', '8', '--activation-limit', '134217728', '--schedule', 'zb-auto'], ['--stages', '4', '--mb', '8', '--layers', '1048576'],
                     ['--stages', '4096', '--mb', '16', '--layers', '1048576', '--vpp', '256', '--schedule', 'interleaved'], ['--stages', '4', '--mb', '8', '--layout', '(t*1000000|)*1000000'],
                     ['--stages', '4', '--mb', '8', '--layout', '(((t*65536)*65536)*65536|)*4']]) hold('32 bits', words);

for (const words of [[], ['--stages'], ['--stages', '0', '--mb', '8'], ['--stages', '4'], ['--stages', '4', '--mb', '8', '--schedule', '1f2b'], ['--stges', '4', '--mb', 'eight'], ['--stages', '4', '--mb', '8', '--forward', '10'],
                     ['--stages', '4', '--mb', '8', '--vpp', '2', '--schedule', 'gpipe'], ['--stages', '4', '--mb', '8', '--forward', '1ms,2ms'], ['four', '--stages', '4'], ['--stages', '4', '--stages', '5', '--mb', '8'],
                     ['--stages', '4', '--mb', '8', '--efficiency', '1e999'], ['--stages', '4', '--mb', '8', '--efficiency', 'nan'], ['--stages', '4', '--mb', '8', '--efficiency', '0x1p-1'],
                     ['--stages', '4', '--mb', '8', '--jitter', ' 0.1'], ['--stages', '4', '--mb', '8', '--jitter', '+0.1'], ['--stages', '4', '--mb', '8', '--jitter', '1e-1'], ['--stages', '4', '--mb', '8', '--jitter', '.1'],
                     ['--stages', '4', '--mb', '8', '--jitter', 'inf'], ['--stages', '4', '--mb', '8', '--jitter', '-'], ['--stages', '4', '--mb', '8', '--slow', '1=1.'], ['--stages', '4', '--mb', '8', '--memory-limit', '1.5.5GiB'],
                     ['--model', 'llama-9'], ['--model', 'llama-3-70b'], ['--stages', '4', '--mb', '8', '--device', 'h1000'], ['--stages', '3', '--mb', '7', '--schedule', 'chimera']]) hold('errors', words);

for (const [kind, { reports, refusals }] of Object.entries(counts)) console.log(`${kind}: ${reports} reports and ${refusals} refusals compared`);
const times = [];
for (let i = 0; i < 31; ++i) {
  const begin = performance.now();
  answer(['--stages', '16', '--mb', '64', '--forward', `${10 + i}ms`, '--backward', '20ms', '--comm', '100us']);
  times.push(performance.now() - begin);
}
const median = times.sort((a, b) => a - b)[15];
console.log(`16 stages, 64 microbatches: ${median.toFixed(1)} ms (median of ${times.length})`);
console.log(wrong ? `${wrong} differ` : 'all the same');
process.exitCode = wrong || median > 50 ? 1 : 0;
