// Values of a run that the chart and the tables need, computed once.

const firstIdleLabel = 7;
const pathKinds = {
  task: 0,
  transfer: 1,
  reduction: 2,
  optimizer: 3
};

/** Whether both halves of a pair run as one task: they share the time and the cell. */
function sharesCell(run, id) {
  if (run.pairing[id] === 0) return false;
  const other = run.pairing[id] === 1 ? id + 1 : id - 1;
  return run.start[other] === run.start[id] && run.end[other] === run.end[id];
}

/**
 * Time by pass before each task of its stage, four numbers a task: the share of any stretch of time is a difference
 * of two of them, however many tasks it holds.
 */
function passTimes(run) {
  if (run.passTimes) return run.passTimes;
  const sums = new Float64Array(4 * (run.size + run.stages));
  for (let s = 0; s < run.stages; ++s)
    for (let i = run.offsets[s]; i < run.offsets[s + 1]; ++i) {
      const from = 4 * (i + s);
      for (let pass = 0; pass < 4; ++pass) sums[from + 4 + pass] = sums[from + pass];
      const length = run.end[i] - run.start[i];
      sums[from + 4 + run.pass[i]] += sharesCell(run, i) ? length / 2 : length;
    }
  return run.passTimes = sums;
}

/** Time by pass of a stage up to a moment. */
class PassTimes {
  constructor(run, stage) {
    this.run = run;
    this.sums = passTimes(run);
    this.first = run.offsets[stage];
    this.shift = stage;  // each stage has one more sum than tasks
  }
  /**
   * Writes the four times before `time` to `out`; `last`: the last task that starts by then, or the one before the
   * first.
   */
  until(last, time, out) {
    const {run, sums} = this;
    let first = Math.max(last, this.first);
    if (run.pairing[first] === 2 && last >= first && sharesCell(run, first)) --first;
    const from = 4 * (first + this.shift);
    out[0] = sums[from];
    out[1] = sums[from + 1];
    out[2] = sums[from + 2];
    out[3] = sums[from + 3];
    const part = first === last ? 1 : 0.5;
    for (let i = first; i <= last; ++i) out[run.pass[i]] += part * (Math.min(time, run.end[i]) - run.start[i]);
  }
}

/** Transfers by link, a link for each direction between two stages; by sender, as they start. */
function links(run) {
  if (run.links) return run.links;
  const found = new Map();
  if (run.receiver)
    for (let i = 0; i < run.size; ++i) {
      if (run.receiver[i] < 0) continue;
      const from = run.stage[i], to = run.stage[run.receiver[i]];
      const key = from * 65536 + to;
      if (!found.has(key)) found.set(key, {from, to, senders: []});
      found.get(key).senders.push(i);
    }
  run.links = [...found.values()].sort((a, b) => a.from - b.from || a.to - b.to);
  for (const link of run.links) {
    link.senders.sort((a, b) => run.transferStart[a] - run.transferStart[b]);
    link.starts = Float64Array.from(link.senders, (i) => run.transferStart[i]);
    link.longest = link.senders.reduce((most, i) => Math.max(most, run.transferEnd[i] - run.transferStart[i]), 0);
  }
  return run.links;
}

/** The largest of every 64 values, for views that hold more of them than pixels. */
const blockSize = 64;
function blockMaxima(values) {
  const maxima = new Float64Array(Math.ceil(values.length / blockSize));
  for (let i = 0; i < values.length; ++i) {
    const block = Math.floor(i / blockSize);
    maxima[block] = Math.max(maxima[block], values[i]);
  }
  return maxima;
}
/** The longest of every 64 idle spans. */
function longestIdle(run) {
  return run.longestIdle ||= blockMaxima(run.idleEnd.map((end, i) => end - run.idleStart[i]));
}
/** Values of the memory lanes: bytes, or stored activations if no size is known. */
function memoryCurve(run) {
  if (run.memoryCurve) return run.memoryCurve;
  const inBytes = run.memoryBytes.some((bytes) => bytes > 0);
  const values = inBytes ? run.memoryBytes : run.memoryLive;
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return run.memoryCurve = {inBytes, values, most, maxima: blockMaxima(values)};
}
/** The largest of values[begin, end). */
function largest(curve, begin, end) {
  let most = 0;
  for (let i = begin; i < end;) {
    if (i % blockSize === 0 && i + blockSize <= end) {
      most = Math.max(most, curve.maxima[i / blockSize]);
      i += blockSize;
    } else
      most = Math.max(most, curve.values[i++]);
  }
  return most;
}

/** The critical path with the times and stages of its steps. */
function pathSteps(run) {
  if (run.pathSteps) return run.pathSteps;
  const n = run.path.length;
  const steps = {
    size: n,
    start: new Float64Array(n),
    end: new Float64Array(n),
    stage: new Uint16Array(n),
    task: new Int32Array(n),
    kind: new Uint8Array(n),
    onPath: new Set(),
    transferOnPath: new Set()
  };
  run.path.forEach(([task, kind, , number], i) => {
    steps.kind[i] = kind;
    steps.task[i] = task;
    if (kind === pathKinds.task) {
      [steps.start[i], steps.end[i], steps.stage[i]] = [run.start[task], run.end[task], run.stage[task]];
      steps.onPath.add(task);
    } else if (kind === pathKinds.transfer) {
      [steps.start[i], steps.end[i], steps.stage[i]] =
          [run.transferStart[task], run.transferEnd[task], run.stage[task]];
      steps.start[i] = Math.max(steps.start[i], run.end[task]);
      steps.transferOnPath.add(task);
    } else if (kind === pathKinds.reduction) {
      const [stage, , , start, length] = run.reductions[number];
      [steps.start[i], steps.end[i], steps.stage[i]] = [start, start + length, stage];
    } else {
      const [start, length] = run.optimizer[number];
      [steps.start[i], steps.end[i], steps.stage[i]] = [start, start + length, number];
    }
  });
  return run.pathSteps = steps;
}

/** Stage that a task waits for: the stage of the releasing task; -1 if it is the task's own stage or none. */
function peerOf(run, task) {
  if (task < 0 || run.released[task] < 0) return -1;
  const stage = run.stage[run.released[task]];
  return stage === run.stage[task] ? -1 : stage;
}

/** By stage: waiting time for each other stage, longest first, and the longest gap. */
function waits(run) {
  if (run.waits) return run.waits;
  run.waits = [];
  for (let s = 0; s < run.stages; ++s) {
    const byPeer = new Map();
    let longest = -1;
    for (let i = run.idleOffsets[s]; i < run.idleOffsets[s + 1]; ++i) {
      const length = run.idleEnd[i] - run.idleStart[i];
      const peer = peerOf(run, run.idleTask[i]);
      const key = `${run.idleLabel[i]} ${peer}`;
      if (!byPeer.has(key)) byPeer.set(key, {label: run.idleLabel[i], peer, time: 0});
      byPeer.get(key).time += length;
      if (longest < 0 || length > run.idleEnd[longest] - run.idleStart[longest]) longest = i;
    }
    run.waits.push({reasons: [...byPeer.values()].sort((a, b) => b.time - a.time), longest});
  }
  return run.waits;
}

/**
 * Why stage time was idle before `task`: what released it, what released that, and so on, back to what already ran when
 * the gap began.
 */
function chainBehind(run, task, gapStart) {
  const chain = [];
  for (let id = run.released[task]; id >= 0 && chain.length < 200; id = run.released[id]) {
    chain.push(id);
    if (run.start[id] <= gapStart) break;
  }
  return chain;
}
