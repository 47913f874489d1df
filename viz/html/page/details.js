// Sentences about a task, an idle span, a transfer, or memory at a moment.

/** Lines of text of a tooltip. */
function shortWords(target, page) {
  const {run, id, stage} = target;
  if (target.kind === 'task') return [`${run.taskName(id)} on stage ${stage}`, spanWords(run.start[id], run.end[id])];
  if (target.kind === 'idle')
    return [
      `stage ${stage} idle: ${page.data.labels[run.idleLabel[id]]}`, spanWords(run.idleStart[id], run.idleEnd[id])
    ];
  if (target.kind === 'transfer')
    return [
      `${run.taskName(id)} from stage ${stage} to stage ${run.stage[run.receiver[id]]}`,
      spanWords(run.transferStart[id], run.transferEnd[id])
    ];
  return [`stage ${stage} at ${timeWords(target.time)}`, memoryWords(target)];
}
function spanWords(start, end) {
  return `${timeWords(start)} to ${timeWords(end)} (${timeWords(end - start)})`;
}
function memoryPoint({run, stage, time}) {
  return lastAtMost(run.memoryAt, run.memoryOffsets[stage], run.memoryOffsets[stage + 1], time);
}
function memoryWords(target) {
  const {run} = target, point = memoryPoint(target);
  const live = `${run.memoryLive[point]} live activations`;
  return memoryCurve(run).inBytes ? `${bytesWords(run.memoryBytes[point])}, ${live}` : live;
}

/** Fills `into` with all facts about `target`; links in it call `page.select`. */
function showDetails(into, target, page) {
  const made = target.kind === 'task' ? taskDetails(target, page) :
      target.kind === 'idle'          ? idleDetails(target, page) :
      target.kind === 'transfer'      ? transferDetails(target, page) :
                                        memoryDetails(target);
  into.replaceChildren(...made);
}

function rows(...pairs) {
  const list = element('dl');
  for (const [name, ...value] of pairs.filter(Boolean))
    list.append(element('dt', {}, name), element('dd', {}, ...value));
  return list;
}
/** A button that goes to a task. */
function goTo(page, run, id, words) {
  const name = words || `${run.taskName(id)} on stage ${run.stage[id]}`;
  return element(
      'button',
      {type: 'button', class: 'go', onclick: () => page.select({kind: 'task', run, stage: run.stage[id], id})}, name);
}

function taskDetails({run, id, stage}, page) {
  const again = run.recompute ? run.recompute[id] : 0;
  const gap = gapBefore(run, id);
  const partner = run.pairing[id] === 1 ? id + 1 : id - 1;
  return [
    element('h2', {}, run.taskName(id)),
    element(
        'p', {},
        `${passNames[run.pass[id]]} of microbatch ${run.microbatch[id]}, chunk ${run.chunk[id]}, on stage ${stage}`),
    rows(
        ['Runs', spanWords(run.start[id], run.end[id])], again > 0 && ['Recomputes', `${timeWords(again)} of that`],
        run.pairing[id] > 0 && ['Overlaps', goTo(page, run, partner)],
        ['Released by', ...releaseDetails(run, id, page)], gap >= 0 && ['Waited', goToIdle(page, run, stage, gap)],
        ...transferRows(run, id, page), ...predictedRows(run, id, page),
        ['Memory then', memoryWords({run, stage, time: run.start[id]})],
        ['Critical path', pathSteps(run).onPath.has(id) ? 'yes: a shorter task may shorten the step' : 'no'])
  ];
}
function releaseDetails(run, id, page) {
  const releaser = run.released[id];
  if (releaser < 0) return [run.measured ? 'no other task' : 'nothing: it could start at time 0'];
  const [before, after] = releaseWords[page.data.causes[run.cause[id]]] || ['', ''];
  return [before, goTo(page, run, releaser), after, element('kbd', {}, 'Enter')];
}
/** The idle span before `id`; -1 if there is none. */
function gapBefore(run, id) {
  const stage = run.stage[id];
  const i = lastAtMost(run.idleStart, run.idleOffsets[stage], run.idleOffsets[stage + 1], run.start[id] - 1);
  return i >= run.idleOffsets[stage] && run.idleEnd[i] === run.start[id] ? i : -1;
}
function goToIdle(page, run, stage, id) {
  const words = `${timeWords(run.idleEnd[id] - run.idleStart[id])}: ${page.data.labels[run.idleLabel[id]]}`;
  return element(
      'button', {type: 'button', class: 'go', onclick: () => page.select({kind: 'idle', run, stage, id})}, words);
}
function transferRows(run, id, page) {
  if (!run.receiver) return [];
  const found = [];
  const sender = run.sender[id];
  if (sender >= 0) found.push(['Input', goTo(page, run, sender), ` arrived at ${timeWords(run.transferEnd[sender])}`]);
  if (run.receiver[id] >= 0)
    found.push([
      'Output', `to `, goTo(page, run, run.receiver[id]), ` ${spanWords(run.transferStart[id], run.transferEnd[id])}`
    ]);
  return found;
}
function predictedRows(run, id, page) {
  if (!page.chart.paired || page.runs.length < 2) return [];
  const [predicted, measured] = page.runs;
  const other = run === measured ? predicted : measured;
  const name = run === measured ? 'Predicted' : 'Measured';
  const share = deviation(predicted, measured, id);
  return [
    [name, goTo(page, other, id, spanWords(other.start[id], other.end[id]))],
    [
      'Deviation',
      Math.abs(share) < 0.0005 ? 'as long as predicted' :
                                 `${percentWords(Math.abs(share))} ${share > 0 ? 'longer' : 'shorter'} than predicted`
    ]
  ];
}

function idleDetails({run, id, stage}, page) {
  const label = page.data.labels[run.idleLabel[id]];
  const start = run.idleStart[id], length = run.idleEnd[id] - start;
  const task = run.idleTask[id];
  const made = [
    element('h2', {}, `Stage ${stage} is idle`, page.runs.length > 1 ? ` · ${run.name}` : ''),
    element('p', {}, page.data.label_words[label] || label),
    rows(
        ['For', spanWords(start, start + length)], ['Share of the step', percentWords(length / run.makespan_ns)],
        task >= 0 && ['Then runs', goTo(page, run, task)],
        task >= 0 && run.released[task] >= 0 && ['Waits for', ...releaseDetails(run, task, page)])
  ];
  const chain = task < 0 ? [] : chainBehind(run, task, start);
  if (chain.length > 1) {
    const items = chain.slice(0, 12).map(
        (at) => element('li', {}, goTo(page, run, at), ` ${spanWords(run.start[at], run.end[at])}`));
    made.push(element('h3', {}, 'The chain behind it'), element('ol', {}, ...items));
    if (chain.length > items.length) made.push(element('p', {}, `and ${chain.length - items.length} more before that`));
  }
  return made;
}

/** Last step of the critical path. */
function lastOfPath(run, page) {
  const [task, kind, , number] = run.path[run.path.length - 1];
  if (kind === pathKinds.optimizer) return `the optimizer step of stage ${number}`;
  return kind === pathKinds.reduction ? `a reduction on stage ${run.reductions[number][0]}` : goTo(page, run, task);
}

function transferDetails({run, id, stage}, page) {
  const to = run.receiver[id], blocker = run.transferReleased ? run.transferReleased[id] : -1;
  const waited = run.transferStart[id] - run.end[id];
  return [
    element('h2', {}, `Transfer of ${run.taskName(id)}`),
    element('p', {}, `${run.pass[id] === 0 ? 'activation' : 'gradient'} from stage ${stage} to stage ${run.stage[to]}`),
    rows(
        ['Runs', spanWords(run.transferStart[id], run.transferEnd[id])], ['Sender', goTo(page, run, id)],
        ['Receiver', goTo(page, run, to)], waited > 0 && ['Waited', timeWords(waited)],
        waited > 0 && blocker >= 0 && ['Waited for', goTo(page, run, blocker)])
  ];
}

function memoryDetails(target) {
  const {run, stage, time} = target, facts = run.per_stage[stage];
  const inBytes = memoryCurve(run).inBytes;
  const held = run.memoryBytes[memoryPoint(target)];
  return [
    element('h2', {}, `Memory of stage ${stage}`),
    rows(
        ['At', timeWords(time)], ['Holds', memoryWords(target)],
        inBytes && ['Of that static', bytesWords(facts.static_bytes)],
        inBytes && ['Peak', `${bytesWords(facts.peak_bytes)} at ${timeWords(facts.peak_at_ns)}`],
        run.memory_limit !== null && ['Limit', bytesWords(run.memory_limit)],
        run.memory_limit !== null &&
            [
              'Headroom',
              held > run.memory_limit ? `none: ${bytesWords(held - run.memory_limit)} too much` :
                                        bytesWords(run.memory_limit - held)
            ])
  ];
}
