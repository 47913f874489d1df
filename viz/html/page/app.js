// The page: its visible content, and its reactions to keys, pointer and address.

const leastHeight = 300;  // for the sentences beside the chart

class Page {
  /**
   * `data` is what the page's data element holds; `root` is where it is shown. Of another page, `like`, it takes over
   * what is switched on. The address begins with `prefix`.
   */
  constructor(root, data, {prefix = '#', like = null} = {}) {
    this.root = root;
    this.data = data;
    this.prefix = prefix;
    this.closing = new AbortController();
    this.runs = data.runs.map((facts) => new Run(facts));
    this.frames = [];  // ms of the main thread, the latest 600
    this.current = this.runs.find((run) => run.recommended) || this.runs[0];
    this.span = Math.max(1, ...this.runs.map((run) => run.makespan_ns));
    this.view = {
      start: 0,
      end: this.span,
      shown: this.firstShown(),
      path: false,
      memory: this.runs.some((run) => run.overflow !== null && run.stages <= 16),
      links: false,
      row: 0,
      selected: null,
      hovered: null,
      microbatch: -1
    };
    if (like) this.takeOver(like);
    this.build();
    this.chart = new Chart(this.canvas, data, this.runs);
    if (!like) this.readAddress();
    this.ready = this.dress().then(() => this.listen());
    this.resized = new ResizeObserver(() => this.root.clientWidth !== this.width && this.resize());
  }

  takeOver({view, theme, report, runs, current}) {
    const names = view.shown.map((i) => runs[i].name);
    const shown =
        this.runs.flatMap((run, i) => names.includes(run.name) || !runs.some(({name}) => name === run.name) ? [i] : []);
    if (shown.length > 0) this.view.shown = shown;
    this.current = this.runs.find(({name}) => name === current.name) || this.runs[this.view.shown[0]];
    for (const name of ['path', 'memory', 'links', 'row']) this.view[name] = view[name];
    this.theme = theme;
    this.reportOpen = report.open;
  }
  /** Removes the page from the document. */
  close() {
    this.closing.abort();
    this.resized.disconnect();
    cancelAnimationFrame(this.pending);
    clearTimeout(this.keeping);
  }

  /** Runs shown at first: all if few; otherwise the recommended one and the fastest other one with the same work. */
  firstShown() {
    if (this.runs.length <= 4) return this.runs.map((_, i) => i);
    const taken = this.runs.indexOf(this.current);
    const other = this.runs.findIndex((run, i) => i !== taken && !run.asynchronous);
    return [taken, Math.max(0, other)].sort((a, b) => a - b);
  }

  build() {
    const {data} = this;
    const toggle = (name, words, key) => this.buttons[name] = element(
        'button', {
          type: 'button',
          'aria-pressed': String(this.view[name]),
          title: `${words} (${key})`,
          onclick: () => this.toggle(name)
        },
        words);
    this.buttons = {};
    this.canvas = element('canvas', {
      tabindex: '0',
      role: 'application',
      'aria-label':
          'Chart of tasks over time. Arrow keys go from task to task, Enter to what released it; plus and minus zoom.'
    });
    this.spacer = element('div', {class: 'spacer'});
    this.viewport = element('div', {class: 'viewport'}, this.canvas, this.spacer);
    this.tip = element('div', {class: 'tip', hidden: true, 'aria-hidden': 'true'});
    this.said = element('p', {class: 'said', role: 'status', 'aria-live': 'polite'});
    this.details = element('section', {class: 'details', 'aria-label': 'what is selected'}, pointingHint());
    this.search = element('input', {
      type: 'search',
      placeholder: '3F17, mb 17, stage 3',
      'aria-label': 'search a task, a microbatch, a stage',
      onkeydown: (event) => event.key === 'Enter' && this.find(this.search.value)
    });
    this.aside = element('div', {class: 'answers'});
    this.tables = element('div', {class: 'tables'});
    this.legendPlace = element('div');
    const bar = element(
        'div', {class: 'bar', role: 'toolbar', 'aria-label': 'view'},
        element(
            'button', {type: 'button', title: 'zoom in (+)', 'aria-label': 'zoom in', onclick: () => this.zoom(0.5)},
            '+'),
        element(
            'button', {type: 'button', title: 'zoom out (-)', 'aria-label': 'zoom out', onclick: () => this.zoom(2)},
            '−'),
        element('button', {type: 'button', title: 'the whole step (0)', onclick: () => this.fit()}, 'whole step'),
        toggle('path', 'critical path', 'c'), toggle('memory', 'memory', 'm'),
        this.runs.some((run) => run.receiver) ? toggle('links', 'links', 'l') : null, this.search,
        element('span', {class: 'grow'}),
        element(
            'button', {type: 'button', title: 'what is seen, as SVG', onclick: () => savePicture(this, 'svg')}, 'SVG'),
        element(
            'button', {type: 'button', title: 'what is seen, as PNG', onclick: () => savePicture(this, 'png')}, 'PNG'),
        element('button', {type: 'button', title: 'dark or light', onclick: () => this.switchTheme()}, 'theme'),
        element('button', {type: 'button', title: 'keys (?)', onclick: () => this.help.showModal()}, 'keys'));
    this.work = element('div', {class: 'work'}, this.viewport, this.details);
    this.help = helpDialog();
    this.root.replaceChildren(
        element(
            'header', {}, element('h1', {}, data.title),
            element('p', {class: 'headline'}, this.current.headline.join(' · ')),
            data.source ? element('p', {class: 'source'}, data.source) : null),
        this.aside, bar, this.said, this.work, this.legendPlace, this.tables,
        this.report = element(
            'details', {class: 'report', open: this.reportOpen}, element('summary', {}, 'The full report'),
            element('pre', {}, data.text)),
        this.tip, this.help);
  }

  async dress() {
    const wanted = this.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = wanted;
    await this.chart.dress(wanted === 'dark', window.devicePixelRatio || 1);
    if (this.closing.signal.aborted) return;
    this.chart.drawn = null;
    this.resize();
    this.draw();
    this.legendPlace.replaceChildren(legend(this));
    this.fillTables();
  }
  switchTheme() {
    this.theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    this.dress().then(() => this.keepAddress());
  }

  fillTables() {
    this.aside.replaceChildren(
        ...runName(this), metricList(this.current),
        element('div', {class: 'sentences'}, ...answers(this, this.current)));
    this.runTable = this.runs.length > 1 ? runTable(this) : null;
    const tables = [this.runTable && this.runTable.table, stageTable(this, this.current)].filter(Boolean);
    keepingFocus(this.tables, () => this.tables.replaceChildren(...tables));
  }

  // ---- the view

  /** Uses the available space, or less if the lanes need less. */
  resize() {
    this.width = this.root.clientWidth;
    this.work.style.height = '';
    this.chart.resize(this.viewport.clientWidth, this.viewport.clientHeight);
    const needed = this.chart.layout(this.view) + axisHeight + 6;
    if (needed < this.chart.height) {
      this.work.style.height = `${Math.max(leastHeight, needed)}px`;
      this.chart.resize(this.viewport.clientWidth, this.viewport.clientHeight);
    }
    this.relayout();
  }
  relayout() {
    const high = this.chart.layout(this.view) + axisHeight;
    this.spacer.style.height = `${Math.max(0, high - this.viewport.clientHeight)}px`;
    this.changed();
  }
  /** Redraws once, at the next frame. */
  changed() {
    this.pending ||= requestAnimationFrame(() => this.draw());
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => this.keepAddress(), 250);
  }
  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const began = performance.now();
    this.chart.scroll = this.viewport.scrollTop;
    this.chart.draw(this.view);
    this.frames.push(performance.now() - began);
    if (this.frames.length > 600) this.frames.shift();
  }
  setSpan(start, end) {
    const least = 10, most = this.span * 1.02;
    const length = Math.min(most, Math.max(least, end - start));
    this.view.start = Math.min(Math.max(-0.01 * this.span, start), this.span * 1.01 - length);
    this.view.start = Math.max(this.view.start, -0.01 * this.span);
    this.view.end = this.view.start + length;
    this.changed();
  }
  /** Multiplies the visible time by `factor`; the time at `x` stays in place. */
  zoom(factor, x = gutter + this.chart.plotWidth() / 2) {
    const time = this.chart.timeAt(x);
    this.setSpan(time - (time - this.view.start) * factor, time + (this.view.end - time) * factor);
  }
  pan(share) {
    const by = share * (this.view.end - this.view.start);
    this.setSpan(this.view.start + by, this.view.end + by);
  }
  fit() {
    this.setSpan(0, this.span);
  }
  toggle(name) {
    this.view[name] = !this.view[name];
    this.buttons[name].setAttribute('aria-pressed', String(this.view[name]));
    this.resize();
  }
  show(number, on) {
    const shown = this.view.shown.filter((i) => i !== number);
    this.view.shown = on ? [...shown, number].sort((a, b) => a - b) : shown.length > 0 ? shown : [number];
    if (!on && this.view.selected && this.view.selected.run === this.runs[number]) this.view.selected = null;
    if (!this.view.shown.includes(this.runs.indexOf(this.current))) this.look(this.runs[this.view.shown[0]]);
    this.resize();
    this.legendPlace.replaceChildren(legend(this));
    if (this.runTable) this.runTable.fill();
  }
  /** Shows `run` in the tables. */
  look(run) {
    this.current = run;
    this.root.querySelector('.headline').textContent = run.headline.join(' · ');
    const number = this.runs.indexOf(run);
    if (!this.view.shown.includes(number)) this.show(number, true);
    this.fillTables();
  }

  // ---- selection

  select(target, quietly) {
    if (!this.view.shown.includes(this.runs.indexOf(target.run))) this.show(this.runs.indexOf(target.run), true);
    this.view.selected = target;
    if (this.details.contains(document.activeElement)) this.canvas.focus();  // what was pressed goes
    showDetails(this.details, target, this);
    this.said.textContent = shortWords(target, this).join(', ');
    if (!quietly) this.bringIntoView(target);
    this.changed();
  }
  bringIntoView({run, kind, id, stage}) {
    if (kind === 'memory') return;
    const times = {
      task: [run.start, run.end],
      idle: [run.idleStart, run.idleEnd],
      transfer: [run.transferStart, run.transferEnd]
    }[kind];
    const [start, end] = [times[0][id], times[1][id]];
    const length = this.view.end - this.view.start;
    if (end - start > length)
      this.setSpan(start - (end - start) * 0.2, end + (end - start) * 0.2);
    else if ((end - start) * this.chart.plotWidth() < 24 * length)  // too small to be seen
      this.setSpan(
          (start + end) / 2 - 15 * Math.max(1, end - start), (start + end) / 2 + 15 * Math.max(1, end - start));
    else if (start < this.view.start || end > this.view.end)
      this.setSpan((start + end - length) / 2, (start + end + length) / 2);
    this.showLane(run, stage);
  }
  showLane(run, stage) {
    const lane = this.chart.laneOf(run, stage);
    if (!lane) return;
    const room = this.viewport.clientHeight - axisHeight;
    if (lane.y < this.viewport.scrollTop)
      this.viewport.scrollTop = lane.y;
    else if (lane.y + lane.height > this.viewport.scrollTop + room)
      this.viewport.scrollTop = lane.y + lane.height - room;
  }
  showStage(run, stage) {
    this.showLane(run, stage);
    this.select({kind: 'task', run, stage, id: run.offsets[stage]}, true);
    this.viewport.scrollIntoView({block: 'nearest'});
  }

  /** "3F17": chunk 3, forward, microbatch 17; "mb 17"; "stage 3". */
  find(text) {
    const [run] = this.searched();
    const words = text.trim();
    const task = /^(\d+)\s*([FBIW])\s*(\d+)$/i.exec(words);
    const microbatch = /^(?:mb|microbatch|m)?\s*(\d+)$/i.exec(words);
    const stage = /^(?:stage|s)\s*(\d+)$/i.exec(words);
    if (words === '') return this.highlight(-1, 'no microbatch is highlighted');
    if (task) return this.findTask(Number(task[1]), passLetters.indexOf(task[2].toUpperCase()), Number(task[3]));
    if (stage && Number(stage[1]) < run.stages) return this.showStage(run, Number(stage[1]));
    if (microbatch && Number(microbatch[1]) < run.microbatches)
      return this.highlight(Number(microbatch[1]), `microbatch ${microbatch[1]} is highlighted`);
    this.said.textContent = `Nothing is called “${
        words}”: 3F17 is the forward of microbatch 17 on chunk 3; mb 17 and stage 3 work as well. There are ${
        run.stages} stages, ${run.chunks} chunks and ${run.microbatches} microbatches, counted from 0.`;
  }
  /** The runs to search: those shown, starting with the one in the tables. */
  searched() {
    const shown = this.view.shown.map((i) => this.runs[i]);
    return [...shown.filter((run) => run === this.current), ...shown.filter((run) => run !== this.current)];
  }
  findTask(chunk, pass, microbatch) {
    const found = this.searched().map((run) => {
      const id =
          run.microbatch.findIndex((of, i) => of === microbatch && run.chunk[i] === chunk && run.pass[i] === pass);
      return {kind: 'task', run, id, stage: run.stage[id]};
    });
    const there = found.filter(({id}) => id >= 0);
    const at = this.view.selected;
    const last = there.findIndex(({run, id}) => at && at.kind === 'task' && at.run === run && at.id === id);
    if (there.length > 0) return this.select(there[(last + 1) % there.length]);
    const {run} = found[0];
    this.said.textContent = `${run.name} has no task ${chunk}${passLetters[pass]}${microbatch}: it has chunks 0 to ${
        run.chunks - 1}, microbatches 0 to ${run.microbatches - 1} and the passes ${
        Array.from(passLetters).filter((_, i) => run.pass.includes(i)).join(', ')}.`;
  }
  highlight(microbatch, words) {
    this.view.microbatch = microbatch;
    this.said.textContent = words;
    this.changed();
  }

  /** Arrow keys: the task before or after, or the one on the next stage at that time. */
  step(along, across) {
    const from = this.view.selected;
    if (!from || from.kind === 'memory') {
      const run = this.runs[this.view.shown[0]];
      const first = run.offsets[0];
      return this.select({
        kind: 'task',
        run,
        stage: 0,
        id: Math.max(first, lastAtMost(run.start, first, run.offsets[1], this.view.start))
      });
    }
    const {run} = from;
    const time = from.kind === 'task' ? run.start[from.id] :
        from.kind === 'idle'          ? run.idleStart[from.id] :
                                        run.transferStart[from.id];
    const stage = Math.min(run.stages - 1, Math.max(0, from.stage + across));
    const first = run.offsets[stage], last = run.offsets[stage + 1] - 1;
    let id = from.kind === 'task' && across === 0 ? from.id + along : lastAtMost(run.start, first, last + 1, time);
    if (from.kind !== 'task' && along > 0) ++id;
    this.select({kind: 'task', run, stage, id: Math.min(last, Math.max(first, id))});
  }
  follow() {
    const at = this.view.selected;
    if (!at || (at.kind !== 'task' && at.kind !== 'idle')) return;
    const {run} = at;
    const task = at.kind === 'task' ? at.id : at.run.idleTask[at.id];
    const releaser = task < 0 ? -1 : run.released[task];
    if (releaser < 0)
      this.said.textContent = 'No other task released it.';
    else
      this.select({kind: 'task', run, stage: run.stage[releaser], id: releaser});
  }

  // ---- keys and pointer

  listen() {
    const {signal} = this.closing;
    if (signal.aborted) return;
    this.resized.observe(this.root);
    addEventListener('resize', () => this.resize(), {signal});
    this.viewport.addEventListener('scroll', () => this.changed());
    this.canvas.addEventListener('wheel', (event) => this.onWheel(event), {passive: false});
    this.canvas.addEventListener('pointerdown', (event) => this.onDown(event));
    this.canvas.addEventListener('pointermove', (event) => this.onMove(event));
    this.canvas.addEventListener('pointerup', (event) => this.onUp(event));
    this.canvas.addEventListener('pointercancel', () => {
      this.drag = null;
      this.canvas.classList.remove('dragging');
    });
    this.canvas.addEventListener('pointerleave', () => this.point(null));
    this.canvas.addEventListener('dblclick', (event) => this.zoom(0.25, event.offsetX));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.dress(), {signal});
    addEventListener('hashchange', () => this.readAddress(), {signal});
    document.addEventListener('keydown', (event) => {
      const aside = event.target === document.body && event.key.length === 1;  // arrows scroll there
      if (event.key === '/' && event.target.tagName !== 'INPUT') {
        event.preventDefault();
        this.search.focus();
      } else if (event.target === this.canvas || aside)
        this.onKey(event);
    }, {signal});
  }
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => this.step(-1, 0),
      ArrowRight: () => this.step(1, 0),
      ArrowUp: () => this.step(0, -1),
      ArrowDown: () => this.step(0, 1),
      Enter: () => this.follow(),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      0: () => this.fit(),
      a: () => this.pan(-0.25),
      d: () => this.pan(0.25),
      w: () => this.zoom(0.5),
      s: () => this.zoom(2),
      c: () => this.toggle('path'),
      m: () => this.toggle('memory'),
      l: () => this.buttons.links && this.toggle('links'),
      h: () => this.highlightSelected(),
      '[': () => this.setRow(1 / 1.25),
      ']': () => this.setRow(1.25),
      '?': () => this.help.showModal(),
      Home: () => this.setSpan(0, this.view.end - this.view.start),
      End: () => this.setSpan(this.span - (this.view.end - this.view.start), this.span)
    };
    if (event.key === 'Escape') return this.clearSelection();
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
  clearSelection() {
    this.view.selected = null;
    this.view.microbatch = -1;
    this.details.replaceChildren(pointingHint());
    this.changed();
  }
  highlightSelected() {
    const at = this.view.selected;
    if (this.view.microbatch >= 0)
      this.highlight(-1, 'no microbatch is highlighted');
    else if (at && at.kind === 'task')
      this.highlight(at.run.microbatch[at.id], `microbatch ${at.run.microbatch[at.id]} is highlighted`);
  }
  setRow(factor) {
    this.view.row = Math.min(80, Math.max(4, this.chart.row * factor));
    this.relayout();
  }
  onWheel(event) {
    if (event.offsetX < gutter && !event.ctrlKey) return;  // scrolls
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.pan((event.deltaX || event.deltaY) * lines / this.chart.plotWidth());
    else
      this.zoom(2 ** (Math.max(-300, Math.min(300, event.deltaY * lines)) / 200), event.offsetX);
  }
  onDown(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag =
        {x: event.offsetX, y: event.offsetY, start: this.view.start, scroll: this.viewport.scrollTop, moved: false};
    this.point(null);
  }
  onMove(event) {
    if (!this.drag) return this.point(this.chart.hit(event.offsetX, event.offsetY), event);
    const [dx, dy] = [event.offsetX - this.drag.x, event.offsetY - this.drag.y];
    if (!this.drag.moved && Math.hypot(dx, dy) < 4) return;
    this.drag.moved = true;
    this.canvas.classList.add('dragging');
    const length = this.view.end - this.view.start;
    const start = this.drag.start - dx * length / this.chart.plotWidth();
    this.setSpan(start, start + length);
    this.viewport.scrollTop = this.drag.scroll - dy;
  }
  onUp(event) {
    this.canvas.classList.remove('dragging');
    const clicked = this.drag && !this.drag.moved;
    this.drag = null;
    if (!clicked) return;
    const target = this.chart.hit(event.offsetX, event.offsetY);
    if (target)
      this.select(target, true);
    else
      this.clearSelection();
  }
  point(target, event) {
    const before = this.view.hovered;
    this.view.hovered = target && target.kind !== 'memory' ? target : null;
    this.tip.hidden = target === null;
    if (target) {
      this.tip.replaceChildren(...shortWords(target, this).map((line) => element('div', {}, line)));
      const right = event.clientX > innerWidth - 300;
      this.tip.style.left = `${event.clientX + (right ? -12 - this.tip.offsetWidth : 14)}px`;
      this.tip.style.top = `${Math.min(event.clientY + 14, innerHeight - this.tip.offsetHeight - 4)}px`;
    }
    const same = before && this.view.hovered && before.run === this.view.hovered.run &&
        before.kind === this.view.hovered.kind && before.id === this.view.hovered.id;
    if (!same && (before || this.view.hovered)) this.changed();
  }

  // ---- the view in the address

  keepAddress() {
    const {view} = this;
    const words = [];
    if (view.start !== 0 || view.end !== this.span) words.push(`t=${Math.round(view.start)},${Math.round(view.end)}`);
    words.push(`show=${view.shown.join(',')}`);
    for (const name of ['path', 'memory', 'links']) words.push(`${name}=${view[name] ? 1 : 0}`);
    if (view.row) words.push(`row=${Math.round(view.row)}`);
    if (view.microbatch >= 0) words.push(`mb=${view.microbatch}`);
    if (view.selected && view.selected.kind === 'task')
      words.push(`task=${this.runs.indexOf(view.selected.run)}.${view.selected.id}`);
    if (this.theme) words.push(`theme=${this.theme}`);
    this.address = this.prefix + words.join('&');
    try {
      history.replaceState(null, '', this.address);
    } catch {
      // some browsers count how often a page does that
    }
  }
  /** Reads the settings in the address that exist on this page. */
  readAddress() {
    if (location.hash === this.address || location.hash.length < 2) return;
    const said = new Map(location.hash.slice(1).split('&').map((word) => word.split('=')));
    const number = (text) => (/^-?\d+$/.test(text) ? Number(text) : NaN);
    const [start, end] = (said.get('t') || '').split(',').map(number);
    if (end > start) this.setSpan(start, end);
    const shown = (said.get('show') || '').split(',').map(number).filter((i) => this.runs[i]);
    if (shown.length > 0) this.view.shown = [...new Set(shown)].sort((a, b) => a - b);
    for (const name of ['path', 'memory', 'links'])
      if (said.has(name) && this.buttons[name]) {
        this.view[name] = said.get(name) === '1';
        this.buttons[name].setAttribute('aria-pressed', said.get(name) === '1' ? 'true' : 'false');
      }
    if (number(said.get('row')) > 3) this.view.row = Math.min(80, number(said.get('row')));
    if (number(said.get('mb')) >= 0) this.view.microbatch = number(said.get('mb'));
    if (['dark', 'light'].includes(said.get('theme'))) this.theme = said.get('theme');
    const [run, task] = (said.get('task') || '').split('.').map(number);
    if (this.runs[run] && task >= 0 && task < this.runs[run].size)
      this.select({kind: 'task', run: this.runs[run], stage: this.runs[run].stage[task], id: task}, true);
    if (this.chart.theme) this.dress();
  }
}

function pointingHint() {
  return element('p', {class: 'hint'}, 'Point at a task or a gap; press it to see why it is where it is.');
}

function helpDialog() {
  const keys = [
    ['wheel, + −, w s', 'zoom'], ['drag, shift + wheel, a d', 'move in time'],
    ['wheel over the names', 'scroll the stages'], ['0', 'the whole step'], ['arrows', 'from task to task'],
    ['Enter', 'go to what released the selected task'], ['h', 'highlight the microbatch of the selected task'],
    ['c, m, l', 'critical path, memory, links'], ['[ ]', 'lower and higher rows'], ['/', 'search'],
    ['Escape', 'select nothing']
  ];
  const list = element('dl');
  for (const [key, words] of keys) list.append(element('dt', {}, key), element('dd', {}, words));
  const dialog = element(
      'dialog', {'aria-label': 'keys'}, element('h2', {}, 'Keys and pointer'), list,
      element('button', {type: 'button', onclick: () => dialog.close()}, 'close'));
  return dialog;
}
