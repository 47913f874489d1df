// Answers as sentences, the table of stages, and further facts.

/**
 * Runs `change`, which replaces the children of `place`, and restores the focus to the same element or its
 * replacement.
 */
function keepingFocus(place, change) {
  const focusable = () => Array.from(place.querySelectorAll('button, input'));
  const focused = focusable().indexOf(document.activeElement);
  change();
  if (focused >= 0 && focusable()[focused]) focusable()[focused].focus();
}

/** Sorts a table by a column's values when its head is pressed; rows: [{cells: [{text or content, value}], marked}]. */
function sortableTable(caption, heads, rowsOf) {
  const body = element('tbody');
  const sorted = {column: -1, down: false};
  const fill = () => keepingFocus(body, () => {
    const all = rowsOf();
    if (sorted.column >= 0)
      all.sort((a, b) => {
        const [one, other] = [a.cells[sorted.column].value, b.cells[sorted.column].value];
        return (one < other ? -1 : one > other ? 1 : 0) * (sorted.down ? -1 : 1);
      });
    body.replaceChildren(...all.map((row) => {
      const cells = row.cells.map(
          (cell, i) => element(
              i === 0 ? 'th' : 'td',
              {scope: i === 0 ? 'row' : null, class: !cell.content && typeof cell.value === 'number' ? 'number' : null},
              cell.content || cell.text));
      return element('tr', {class: row.marked ? 'marked' : null}, ...cells);
    }));
    headCells.forEach(
        (cell, i) => cell.setAttribute(
            'aria-sort',
            i !== sorted.column ? 'none' :
                sorted.down     ? 'descending' :
                                  'ascending'));
  });
  const headCells = heads.map(
      (head, i) => element(
          'th', {scope: 'col'},
          element(
              'button', {
                type: 'button',
                title: `sort by ${head.name}`,
                onclick: () => {
                  [sorted.down, sorted.column] = [sorted.column === i ? !sorted.down : head.largestFirst === true, i];
                  fill();
                }
              },
              head.name)));
  const table = element(
      'table', {}, element('caption', {}, caption), element('thead', {}, element('tr', {}, ...headCells)), body);
  fill();
  return {table, fill};
}

function reasonWords(page, reason) {
  const label = page.data.labels[reason.label];
  return reason.peer < 0 ? label : `stage ${reason.peer} (${label})`;
}

/** Common questions about a run, answered in sentences with links to places. */
function answers(page, run) {
  const found = [];
  const advice = adviceWords(page);
  if (advice) found.push(element('p', {class: 'advice'}, advice));
  const idle = run.per_stage.map((stage) => stage.idle_ns);
  const most = Math.max(...idle);
  if (most > 0) found.push(waitAnswer(page, run, idle.indexOf(most), idle.filter((time) => time === most).length));
  found.push(memoryAnswer(page, run));
  for (const other of run.alternatives)
    found.push(element('p', {}, element('b', {}, `With ${other.change}: `), alternativeWords(run, other)));
  for (const [key, words] of Object.entries(whatIfWords)) {
    const time = run.what_if[key];
    if (time !== null)
      found.push(element(
          'p', {}, element('b', {}, `${words}: `),
          `a step of ${timeWords(time)}, ${changeWords(time, run.step_time_ns)}.`));
  }
  return found.filter(Boolean);
}
const whatIfWords = {
  no_communication_ns: 'If transfers took no time',
  equal_stages_ns: 'If all stages were equal',
  no_recompute_ns: 'If nothing were recomputed'
};
/** First sentences of the report, if it covers more runs than the one shown. */
function adviceWords({data, chart}) {
  if (data.answer && data.answer.recommendation) return data.answer.recommendation.text;
  return chart.paired || data.command === 'explain' ? data.text.split('\n', 1)[0] : '';
}
function waitAnswer(page, run, stage, alike) {
  const idle = run.per_stage[stage].idle_ns;
  const {reasons, longest} = waits(run)[stage];
  const reason = reasons.find(({peer}) => peer >= 0) || reasons[0];
  const long = `${timeWords(idle)}, ${percentWords(idle / run.makespan_ns)} of the step`;
  const words = page.data.label_words[page.data.labels[reason.label]];
  const part =
      `${timeWords(reason.time)} of it in all${reason.peer >= 0 ? ` for stage ${reason.peer}` : ''}: ${words}. `;
  const first = alike === run.stages && alike > 1 ? `All ${alike} stages wait equally long: ` :
      alike > 1 ? `${alike} of ${run.stages} stages wait longest, equally: ` :
                  `Stage ${stage} waits longest: `;
  const rest = alike > 1 ? `${long}. Stage ${stage} waits ${part}` : `${long}, ${part}`;
  return element(
      'p', {}, element('b', {}, first), rest,
      goToWords(page, 'its longest gap', {kind: 'idle', run, stage, id: longest}));
}
function goToWords(page, words, target) {
  return element('button', {type: 'button', class: 'go', onclick: () => page.select(target)}, words);
}
function memoryAnswer(page, run) {
  const curve = memoryCurve(run);
  let stage = 0;
  const size = (s) => curve.inBytes ? run.per_stage[s].peak_bytes : run.per_stage[s].peak_live_activations;
  for (let s = 1; s < run.stages; ++s)
    if (size(s) > size(stage)) stage = s;
  const facts = run.per_stage[stage];
  if (size(stage) === 0) return null;
  const much = curve.inBytes ? bytesWords(facts.peak_bytes) : `${facts.peak_live_activations} live activations`;
  const over = run.per_stage.filter((stage) => run.memory_limit !== null && stage.peak_bytes > run.memory_limit).length;
  const fault = over > 0 && curve.inBytes ?
      element('b', {class: 'warn'}, `Does not fit: ${over} of ${run.stages} stages exceed the limit. `) :
      null;
  const limit = run.memory_limit === null || !curve.inBytes ?
      '' :
      facts.peak_bytes > run.memory_limit ?
      `: ${bytesWords(facts.peak_bytes - run.memory_limit)} more than the limit of ${bytesWords(run.memory_limit)}` :
      `: ${percentWords(facts.peak_bytes / run.memory_limit)} of the limit`;
  const target = facts.peak_task !== null ? {kind: 'task', run, stage, id: facts.peak_task} : null;
  return element(
      'p', {}, fault, element('b', {}, `Memory peaks on stage ${stage}`),
      ` at ${timeWords(facts.peak_at_ns)} with ${much}${limit}. `,
      target && goToWords(page, 'the task that reaches it', target));
}
/** Step time, and per microbatch, as more of them do more work. */
function alternativeWords(run, other) {
  const each = other.microbatches / run.microbatches;
  const more = each && each !== 1 ? ` for ${each === 2 ? 'twice' : `${digits(each)} times`} the work, so ${
                                        changeWords(other.step_time_ns / each, run.step_time_ns)} per microbatch` :
                                    `, ${changeWords(other.step_time_ns, run.step_time_ns)}`;
  return `a step of ${timeWords(other.step_time_ns)}${more}; bubble ${percentWords(other.bubble_ratio)}${
      other.fits ? '' : '; does not fit'}.`;
}

function stageTable(page, run) {
  const inBytes = memoryCurve(run).inBytes;
  const heads = [
    {name: 'Stage'}, {name: 'Busy', largestFirst: true}, {name: 'Idle', largestFirst: true},
    {name: 'Idle share', largestFirst: true}, {name: 'Waits most for'}, {name: 'For', largestFirst: true},
    {name: 'Longest gap', largestFirst: true},
    {name: inBytes ? 'Peak memory' : 'Peak live chunk activations', largestFirst: true}, {name: 'Peak at'},
    ...(inBytes && run.memory_limit !== null ? [{name: 'Headroom'}] : [])
  ];
  const rowsOf = () => run.per_stage.map((facts, s) => {
    const reason = waits(run)[s].reasons[0];
    const go = element('button', {type: 'button', class: 'go', onclick: () => page.showStage(run, s)}, String(s));
    const cells = [
      {content: go, value: s}, {text: timeWords(facts.busy_ns), value: facts.busy_ns},
      {text: timeWords(facts.idle_ns), value: facts.idle_ns},
      {text: percentWords(facts.idle_ns / run.makespan_ns), value: facts.idle_ns / run.makespan_ns},
      {text: reason ? reasonWords(page, reason) : '–', value: reason ? reasonWords(page, reason) : ''},
      {text: reason ? timeWords(reason.time) : '–', value: reason ? reason.time : 0}, gapCell(page, run, s),
      inBytes ? {text: bytesWords(facts.peak_bytes), value: facts.peak_bytes} :
                {text: String(facts.peak_live_activations), value: facts.peak_live_activations},
      {text: timeWords(facts.peak_at_ns), value: facts.peak_at_ns}
    ];
    if (inBytes && run.memory_limit !== null)
      cells.push({text: bytesWords(run.memory_limit - facts.peak_bytes), value: run.memory_limit - facts.peak_bytes});
    return {cells};
  });
  return sortableTable(`Stages${page.runs.length > 1 ? ` of ${run.name}` : ''}`, heads, rowsOf).table;
}

function gapCell(page, run, stage) {
  const id = waits(run)[stage].longest;
  if (id < 0) return {text: '–', value: 0};
  const length = run.idleEnd[id] - run.idleStart[id];
  return {content: goToWords(page, timeWords(length), {kind: 'idle', run, stage, id}), value: length};
}

/** Name of the run that the figures belong to, if there are several runs. */
function runName({runs, current}) {
  return runs.length > 1 ? [element('h2', {}, current.name, current.recommended ? ', recommended' : '')] : [];
}
const mainMetrics = ['step_time_ns', 'bubble_ratio', 'mfu', 'tokens_per_second_per_device'];
function metricList(run) {
  const part = (wanted) => {
    const list = element('dl', {class: 'metrics'});
    for (const metric of run.metrics) {
      if (metric.value === null || mainMetrics.includes(metric.tag) !== wanted) continue;
      list.append(element(
          'div', {title: `${metric.description} ${metric.formula}`}, element('dt', {}, metric.name),
          element('dd', {}, metricWords(metric))));
    }
    return list;
  };
  return element('div', {}, part(true), element('details', {}, element('summary', {}, 'more figures'), part(false)));
}
function metricWords({unit, value}) {
  return unit === 'ns' ? timeWords(value) : unit === 'ratio' ? percentWords(value) : `${digits(value)} ${unit}`;
}

/** Runs of a comparison: which are shown, and which one the tables describe. */
function runTable(page) {
  const fastest = page.chart.paired ?
      page.runs[0].step_time_ns :
      Math.min(...page.runs.filter((run) => !run.asynchronous).map((run) => run.step_time_ns));
  const inBytes = page.runs.some((run) => memoryCurve(run).inBytes);
  const rowsOf = () => page.runs.map((run, i) => {
    const box = element('input', {
      type: 'checkbox',
      checked: page.view.shown.includes(i),
      'aria-label': `show ${run.name}`,
      onchange: (event) => page.show(i, event.target.checked)
    });
    const name = element(
        'button',
        {type: 'button', class: 'go', 'aria-pressed': String(page.current === run), onclick: () => page.look(run)},
        run.name);
    const peak = Math.max(...run.per_stage.map((stage) => inBytes ? stage.peak_bytes : stage.peak_live_activations));
    const bubble = run.metrics.find(({tag}) => tag === 'bubble_ratio');
    const remarks = [
      run.recommended ? 'recommended' : '', run.overflow ? 'does not fit' : '', run.asynchronous ? 'asynchronous' : ''
    ].filter(Boolean).join(', ');
    return {
      marked: page.current === run,
      cells: [
        {content: element('span', {}, box, ' ', name), value: i},
        {text: timeWords(run.step_time_ns), value: run.step_time_ns},
        {text: changeWords(run.step_time_ns, fastest), value: run.step_time_ns / fastest},
        {text: bubble ? percentWords(bubble.value) : '–', value: bubble ? bubble.value : 0},
        {text: inBytes ? bytesWords(peak) : String(peak), value: peak}, {text: remarks || '–', value: remarks}
      ]
    };
  });
  return sortableTable(
      'Runs: tick those to see on one time axis; press a name for its tables',
      [
        {name: 'Run'}, {name: 'Step time'},
        {name: page.chart.paired ? 'Against the prediction' : 'Against the fastest'}, {name: 'Bubble'},
        {name: inBytes ? 'Peak memory' : 'Peak live chunk activations'}, {name: 'Remarks'}
      ],
      rowsOf);
}

/** What colours and hatches mean: those that the shown runs have. */
function legend(page) {
  const {chart, data} = page;
  const made = [];
  const swatch = (paint, words) => {
    const canvas = element('canvas', {width: 22, height: 14, 'aria-hidden': 'true'});
    const raster = new Raster();
    raster.resize(22, 14);
    paint(raster);
    raster.put(canvas.getContext('2d'), 0, 0);
    made.push(element('li', {}, canvas, words));
  };
  const runs = page.view.shown.map((i) => page.runs[i]);
  for (let pass = 0; pass < 4; ++pass)
    if (runs.some((run) => run.pass.includes(pass))) {
      const shades = chart.fills[pass];
      swatch((raster) => {
        shades.forEach(
            (fill, i) =>
                raster.rect(Math.round(22 * i / shades.length), 0, Math.round(22 * (i + 1) / shades.length), 14, fill));
        if (pass === 2) raster.rect(0, 0, 22, 2, chart.pixels.bar);
        if (pass === 3) raster.rect(0, 12, 22, 14, chart.pixels.bar);
      }, `${passLetters[pass]}: ${passNames[pass]}${shades.length > 1 ? ', dark: the first chunk of the stage' : ''}`);
    }
  if (runs.some((run) => run.recompute))
    hatchSwatch(data.labels.indexOf('recompute'), 'recomputation of an activation');
  if (runs.some((run) => run.optimizer.some(([, length]) => length > 0)))
    swatch((raster) => raster.rect(0, 0, 22, 14, chart.optimizer), 'optimizer step');
  if (runs.some((run) => run.reductions.length > 0))
    swatch((raster) => {
      raster.clear(chart.pixels.lane);
      raster.rect(0, 11, 22, 14, chart.reduction);
    }, 'gradient reduction');
  for (let label = firstIdleLabel; label < data.labels.length; ++label)
    if (runs.some((run) => run.idleLabel.includes(label)))
      hatchSwatch(label, `idle: ${data.label_words[data.labels[label]]}`);
  if (chart.paired) {
    swatch((raster) => {
      raster.clear(chart.pixels.lane);
      raster.rect(0, 10, 22, 14, pixelOf('#d55e00'));
    }, 'took longer than predicted');
    swatch((raster) => {
      raster.clear(chart.pixels.lane);
      raster.rect(0, 10, 22, 14, pixelOf('#0072b2'));
    }, 'took less than predicted');
  }
  return element('ul', {class: 'legend', 'aria-label': 'legend'}, ...made);

  function hatchSwatch(label, words) {
    const tile = chart.tiles[label];
    if (tile) swatch((raster) => raster.hatch(0, 0, 22, 14, tile), words);
  }
}
