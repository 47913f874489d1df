// The chart: lanes of tasks, memory and links on one time axis.

const gutter = 84;  // left of the plot, for the names of lanes
const axisHeight = 26;
const headHeight = 24;
const leastRow = 7;
const font = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

const themes = {
  light: {
    ground: '#ffffff',
    lane: '#fbfbfc',
    text: '#1a1a1a',
    faint: '#5c6370',
    line: '#d5d9e0',
    path: '#000000',
    memory: '#7a93ad',
    fixed: '#4a6078',
    focus: '#c2185b',
    bar: '#1a1a1a'
  },
  dark: {
    ground: '#14171c',
    lane: '#1b1f26',
    text: '#e8eaed',
    faint: '#a3abb8',
    line: '#363d48',
    path: '#ffffff',
    memory: '#5b7896',
    fixed: '#9db4cb',
    focus: '#ff6aa2',
    bar: '#ffffff'
  }
};

class Chart {
  constructor(canvas, data, runs) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.data = data;
    this.runs = runs;
    this.paired = runs.length === 2 && (data.command === 'validate' || data.command === 'replay');
    this.raster = new Raster();
    this.lanes = [];
    this.heads = [];
    this.width = this.height = this.scroll = 0;
    this.pixels = {};
  }

  /** Colours, hatches and digits for a theme and a screen; the promise resolves when the hatches are ready. */
  async dress(dark, scale) {
    this.theme = dark ? themes.dark : themes.light;
    this.scale = scale;
    this.pixels = Object.fromEntries(Object.entries(this.theme).map(([name, colour]) => [name, pixelOf(colour)]));
    const palette = this.data.palette;
    this.fills = Array.from(passLetters, (pass) => palette.passes[pass].map(pixelOf));
    this.dimmed = this.fills.map((shades) => shades.map((pixel) => blend(pixel, this.pixels.lane, 0.8)));
    this.white = Array.from(passLetters, (pass) => palette.white_text[pass]);
    this.optimizer = pixelOf(dark ? '#9a9a9a' : palette.optimizer);
    this.reduction = pixelOf(palette.reduction);
    this.mark = pixelOf(dark ? '#ff6b5e' : palette.mark);
    this.digits = [8, 9, 10, 11].map((size) => makeDigits(size * scale, font)).reverse();
    this.tiles = {};
    for (const [label, svg] of Object.entries(palette.hatches))
      this.tiles[this.data.labels.indexOf(label)] = await makeTile(svg, scale, dark ? this.pixels.lane : null);
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * this.scale);
    this.canvas.height = Math.round(height * this.scale);
    this.raster.resize(Math.round(this.plotWidth() * this.scale), Math.round((height - axisHeight) * this.scale));
  }
  plotWidth() {
    return Math.max(50, this.width - gutter - 10);
  }

  /** Sets the lanes for a view and their total height. */
  layout(view) {
    const shown = view.shown.map((number) => this.runs[number]);
    const parts = this.paired && shown.length > 1 ? [shown] : shown.map((run) => [run]);
    let rows = 0;
    for (const part of parts)
      rows += part[0].stages * (part.length + (view.memory ? 0.8 * part.length : 0)) +
          (view.links ? part.reduce((sum, run) => sum + 0.5 * links(run).length, 0) : 0);
    const heads = this.runs.length > 1 && !this.paired ? parts.length : 0;
    const room = this.height - axisHeight - heads * headHeight - 4;
    const row = view.row || Math.max(leastRow, Math.min(this.paired ? 28 : 44, room / rows));
    this.lanes = [];
    this.heads = [];
    this.drawn = null;
    this.row = row;
    let y = 0;
    for (const part of parts) {
      if (heads) {
        this.heads.push({y, run: part[0]});
        y += headHeight;
      }
      y = this.stageLanes(part, view, row, y);
      if (view.links) y = this.linkLanes(part, row, y);
    }
    this.contentHeight = y + 4;
    const all = shown.map((run) => memoryCurve(run).most);
    // a limit far above would flatten all curves
    const limits =
        shown.map((run) => run.memory_limit).filter((limit) => limit !== null && limit <= 2 * Math.max(...all));
    this.mostMemory = Math.max(1, ...all, ...limits) * 1.06;
    return this.contentHeight;
  }
  stageLanes(part, view, row, y) {
    const gap = row > 12 ? 3 : 1;
    for (let s = 0; s < part[0].stages; ++s) {
      part.forEach((run, i) => {
        this.lanes.push(
            {kind: 'tasks', run, stage: s, y, height: row - (i + 1 < part.length ? 1 : gap), second: i > 0});
        y += row;
      });
      if (!view.memory) continue;
      for (const run of part) {
        this.lanes.push({kind: 'memory', run, stage: s, y, height: 0.8 * row - gap});
        y += 0.8 * row;
      }
    }
    return y;
  }
  linkLanes(part, row, y) {
    for (const run of part)
      for (const link of links(run)) {
        this.lanes.push({kind: 'link', run, link, stage: link.from, y, height: Math.max(3, 0.5 * row - 1)});
        y += 0.5 * row;
      }
    return y;
  }

  draw(view) {
    const {context, scale} = this;
    this.view = view;
    this.perNs = this.plotWidth() * scale / (view.end - view.start);  // device pixels
    const key = [view.start, view.end, this.scroll, view.microbatch];
    if (!this.drawn || key.some((value, i) => value !== this.drawn[i])) this.drawLanes();
    this.drawn = key;  // the pointer changes more often than the layers below
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.raster.put(context, Math.round(gutter * scale), Math.round(axisHeight * scale));
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.drawNames();
    context.save();
    context.beginPath();
    context.rect(gutter, axisHeight, this.plotWidth(), this.height - axisHeight);
    context.clip();
    if (view.path) this.drawPath();
    this.drawMarks();
    context.restore();
    this.drawAxis();
  }

  drawLanes() {
    const {scale} = this;
    this.raster.clear(this.pixels.ground);
    this.visible = this.lanes.filter(
        (lane) => lane.y + lane.height > this.scroll && lane.y < this.scroll + this.height - axisHeight);
    for (const lane of this.visible) {
      const top = Math.round((lane.y - this.scroll) * scale);
      const box = {top, bottom: Math.max(top + 1, Math.round((lane.y + lane.height - this.scroll) * scale))};
      if (lane.kind === 'tasks')
        this.drawTasks(lane, box);
      else if (lane.kind === 'memory')
        this.drawMemory(lane, box);
      else
        this.drawLink(lane, box);
    }
  }

  column(time) {
    return Math.round((time - this.view.start) * this.perNs);
  }
  x(time) {
    return gutter + (time - this.view.start) * this.perNs / this.scale;
  }
  timeAt(x) {
    return this.view.start + (x - gutter) * (this.view.end - this.view.start) / this.plotWidth();
  }

  /** The visible tasks of a lane: first and last id. */
  seen(run, stage) {
    const from = run.offsets[stage], to = run.offsets[stage + 1];
    let first = Math.max(from, lastAtMost(run.start, from, to, this.view.start));
    if (first > from && run.start[first - 1] === run.start[first]) --first;  // both halves of a pair
    return [first, lastAtMost(run.start, from, to, this.view.end)];
  }
  isDense(first, last) {
    return (last - first + 1) * 3 > this.raster.width;
  }

  drawTasks(lane, box) {
    this.raster.rect(0, box.top, this.column(lane.run.makespan_ns), box.bottom, this.pixels.lane);
    const [first, last] = this.seen(lane.run, lane.stage);
    if (this.isDense(first, last)) {
      this.drawIdle(lane, box, 1);
      this.drawShares(lane, box);
    } else {
      this.drawIdle(lane, box, 0);
      this.drawCells(lane, box, first, last);
    }
    this.drawUpdates(lane, box);
  }

  /** More tasks than pixels: each column is divided among the passes by their time. */
  drawShares(lane, {top, bottom}) {
    const {run, stage} = lane, {raster, view} = this;
    const to = run.offsets[stage + 1], times = new PassTimes(run, stage);
    const height = bottom - top, width = raster.width, pixels = raster.pixels;
    const last = Math.min(bottom, raster.height);
    const before = new Float64Array(4), after = new Float64Array(4);
    const fills = this.fills.map((shades) => shades[shades.length >> 1]);
    let task = lastAtMost(run.start, run.offsets[stage], to, view.start);
    times.until(task, view.start, before);
    for (let x = 0; x < width; ++x) {
      const time = view.start + (x + 1) / this.perNs;
      task = lastAtMostFrom(run.start, task, to, time);
      times.until(task, time, after);
      let filled = 0, y = Math.max(0, top);
      for (let pass = 0; pass < 4; ++pass) {
        if (after[pass] === before[pass]) continue;
        filled += (after[pass] - before[pass]) * this.perNs;
        before[pass] = after[pass];
        const end = Math.min(last, top + Math.round(filled * height));
        for (let at = y * width + x; y < end; ++y, at += width) pixels[at] = fills[pass];
      }
    }
  }

  /** Idle spans at least `least` columns wide. */
  drawIdle({run, stage}, {top, bottom}, least) {
    const longest = longestIdle(run);
    const from = run.idleOffsets[stage], to = run.idleOffsets[stage + 1];
    for (let i = Math.max(from, lastAtMost(run.idleStart, from, to, this.view.start)); i < to; ++i) {
      if (run.idleStart[i] > this.view.end) break;
      if (i % blockSize === 0 && longest[i / blockSize] * this.perNs < least) {
        i += blockSize - 1;
        continue;
      }
      if ((run.idleEnd[i] - run.idleStart[i]) * this.perNs < least) continue;
      const tile = this.tiles[run.idleLabel[i]];
      if (tile) this.raster.hatch(this.column(run.idleStart[i]), top, this.column(run.idleEnd[i]), bottom, tile);
    }
  }

  drawCells(lane, {top, bottom}, first, last) {
    const {run, stage} = lane, {raster} = this;
    const middle = (top + bottom) >> 1, bar = Math.max(1, Math.round((bottom - top) / 7));
    const local = run.per_stage[stage].local;
    const highlight = this.view.microbatch;
    const dark = pixelOf('#1a1a1a'), light = pixelOf('#ffffff');
    const digits = this.digits.find(({height}) => height + 3 * this.scale <= bottom - top);
    const recomputed = this.tiles[this.data.labels.indexOf('recompute')];
    for (let i = first; i <= last; ++i) {
      const pass = run.pass[i], shade = local[run.chunk[i]];
      const x0 = this.column(run.start[i]), x1 = Math.max(x0 + 1, this.column(run.end[i]));
      if (x1 < 0) continue;
      let y0 = top, y1 = bottom;
      if (sharesCell(run, i)) (run.pairing[i] === 1 ? y1 = middle : y0 = middle);
      const bright = highlight < 0 || highlight === run.microbatch[i];
      const separated = x1 - x0 > 3 ? x1 - 1 : x1;
      raster.rect(x0, y0, separated, y1, (bright ? this.fills : this.dimmed)[pass][shade]);
      const again = run.recompute ? run.recompute[i] : 0;
      const body = again > 0 ? Math.min(separated, this.column(run.start[i] + again)) : x0;
      if (again > 0 && recomputed) raster.hatch(x0, y0, body, y1, recomputed);
      if (separated - x0 < 4) continue;
      if (pass === 2) raster.rect(x0, y0, separated, y0 + bar, this.pixels.bar);
      if (pass === 3) raster.rect(x0, y1 - bar, separated, y1, this.pixels.bar);
      const ink = !bright ? this.pixels.faint : this.white[pass][shade] ? light : dark;
      if (digits)
        raster.number(Math.max(0, body), y0, Math.min(raster.width, separated), y1, run.microbatch[i], digits, ink);
    }
    if (lane.second) this.drawDeviations(lane, bottom, first, last);
  }

  /** Below measured tasks: longer or shorter than predicted, by colour and thickness. */
  drawDeviations({run, stage}, bottom, first, last) {
    const predicted = this.runs.find((other) => other !== run);
    const longer = pixelOf('#d55e00'), shorter = pixelOf('#0072b2');
    for (let i = first; i <= last; ++i) {
      const share = deviation(predicted, run, i);
      if (Math.abs(share) < 0.02) continue;
      const thick = Math.round(this.scale * Math.min(5, 1 + Math.abs(share) * 16));
      this.raster.rect(
          this.column(run.start[i]), bottom - thick,
          Math.max(this.column(run.start[i]) + 1, this.column(run.end[i]) - 1), bottom, share > 0 ? longer : shorter);
    }
  }

  drawUpdates({run, stage}, {top, bottom}) {
    const thick = Math.max(1, Math.round((bottom - top) / 6));
    for (const [at, , , start, length] of run.reductions)
      if (at === stage && length > 0)
        this.raster.rect(
            this.column(start), bottom - thick, Math.max(this.column(start) + 1, this.column(start + length)), bottom,
            this.reduction);
    const step = run.optimizer[stage];
    if (step && step[1] > 0)
      this.raster.rect(
          this.column(step[0]), top, Math.max(this.column(step[0]) + 1, this.column(step[0] + step[1])), bottom,
          this.optimizer);
  }

  drawMemory({run, stage}, {top, bottom}) {
    const curve = memoryCurve(run), {raster, view} = this;
    const from = run.memoryOffsets[stage], to = run.memoryOffsets[stage + 1];
    const level = (value) => bottom - Math.round(value / this.mostMemory * (bottom - top));
    const fixed = curve.inBytes ? level(run.per_stage[stage].static_bytes) : bottom;
    const limit = curve.inBytes && run.memory_limit !== null ? level(run.memory_limit) : top - 1;
    const end = Math.min(raster.width, this.column(run.makespan_ns));
    let point = lastAtMost(run.memoryAt, from, to, view.start);
    for (let x = Math.max(0, this.column(0)); x < end; ++x) {
      const next = lastAtMostFrom(run.memoryAt, point, to, view.start + (x + 1) / this.perNs);
      const high = level(largest(curve, Math.max(from, point), next + 1));
      point = next;
      raster.rect(x, high, x + 1, Math.min(bottom, fixed), this.pixels.memory);
      raster.rect(x, Math.max(high, fixed), x + 1, bottom, this.pixels.fixed);
      for (let y = Math.max(0, high); y < limit && y < raster.height;
           ++y)  // striped, as colour alone tells not everybody
        raster.pixels[y * raster.width + x] = (x + y) % 5 < 3 ? this.mark : this.pixels.ground;
    }
    raster.rect(0, bottom - 1, end, bottom, this.pixels.line);
    if (limit >= top)
      for (let x = 0; x < end; x += 8) raster.rect(x, limit, Math.min(end, x + 5), limit + 1, this.mark);
  }

  drawLink({run, link}, {top, bottom}) {
    this.raster.rect(0, bottom - 1, this.column(run.makespan_ns), bottom, this.pixels.line);
    const first = Math.max(0, lastAtMost(link.starts, 0, link.starts.length, this.view.start - link.longest));
    for (let i = first, reached = -1; i < link.senders.length && link.starts[i] <= this.view.end; ++i) {
      const id = link.senders[i];
      const x1 = Math.max(this.column(link.starts[i]) + 1, this.column(run.transferEnd[id]));
      if (x1 <= reached) continue;  // under what is drawn
      this.raster.rect(
          Math.max(reached, this.column(link.starts[i])), top, x1, bottom - 1, this.fills[run.pass[id]][0]);
      reached = x1;
    }
  }

  drawNames() {
    const {context} = this;
    context.textBaseline = 'middle';
    for (const lane of this.visible) {
      const middle = axisHeight + lane.y - this.scroll + lane.height / 2;
      const size = Math.min(12, Math.max(7, lane.height));
      context.font = `${size}px ${font}`;
      context.textAlign = 'right';
      context.fillStyle = lane.kind === 'tasks' ? this.theme.text : this.theme.faint;
      if (middle < axisHeight + 3) continue;
      context.fillText(this.laneName(lane), gutter - 8, middle, gutter - 10);
    }
    context.textAlign = 'left';
    for (const {y, run} of this.heads) {
      const middle = axisHeight + y - this.scroll + headHeight / 2 + 2;
      if (middle < axisHeight) continue;
      context.font = `600 13px ${font}`;
      context.fillStyle = this.theme.text;
      context.fillText(run.name, gutter, middle);
      const width = context.measureText(run.name).width;
      context.font = `12px ${font}`;
      context.fillStyle = this.theme.faint;
      context.fillText(headWords(run), gutter + width + 10, middle);
    }
  }
  laneName(lane) {
    if (lane.kind === 'memory') return lane.height >= 8 ? 'memory' : '';
    if (lane.kind === 'link') return `${lane.link.from} → ${lane.link.to}`;
    if (this.row < 9 && lane.stage % 4 > 0) return '';
    return lane.second ? lane.run.name : this.paired ? `${lane.stage} ${lane.run.name}` : `stage ${lane.stage}`;
  }

  drawAxis() {
    const {context, view} = this;
    const [step, unit, scale] = ticks(view.end - view.start, this.plotWidth() / 90);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, this.width, axisHeight);
    context.font = `11px ${font}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.strokeStyle = this.theme.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let i = Math.ceil(view.start / step); i * step <= view.end; ++i) {
      const x = this.x(i * step);
      context.fillStyle = this.theme.faint;
      context.fillText(`${digits12(i * step / scale)} ${unit}`, Math.min(x, this.width - 34), 10);
      context.moveTo(x, axisHeight - 7);
      context.lineTo(x, axisHeight - 1);
    }
    context.moveTo(gutter, axisHeight - 0.5);
    context.lineTo(gutter + this.plotWidth(), axisHeight - 0.5);
    context.stroke();
  }

  /** The lane of tasks of a run's stage, if it is shown. */
  laneOf(run, stage) {
    return this.lanes.find((lane) => lane.kind === 'tasks' && lane.run === run && lane.stage === stage);
  }
  /** Box of a task's cell. */
  boxOf(run, id, lane) {
    let y = axisHeight + lane.y - this.scroll, height = lane.height;
    if (sharesCell(run, id)) {
      height /= 2;
      if (run.pairing[id] === 2) y += height;
    }
    const x = this.x(run.start[id]);
    return {x, y, width: Math.max(1, this.x(run.end[id]) - x), height};
  }

  drawPath() {
    const {context} = this;
    context.strokeStyle = this.theme.path;
    for (const run of new Set(this.lanes.map((lane) => lane.run))) {
      const middles = Array.from({length: run.stages}, (_, s) => {
        const lane = this.laneOf(run, s);
        return axisHeight + lane.y - this.scroll + lane.height / 2;
      });
      this.drawPathOf(run, pathSteps(run), middles);
    }
  }
  drawPathOf(run, steps, middles) {
    const {context, view} = this;
    const outlines = this.row > 10;
    context.lineWidth = outlines ? 1.8 : 1.4;
    context.beginPath();
    let last = -Infinity;
    for (let i = Math.max(0, lastAtMost(steps.end, 0, steps.size, view.start));
         i < steps.size && steps.start[i] <= view.end; ++i) {
      const from = this.x(steps.start[i]), to = this.x(steps.end[i]);
      if (to - last < 0.7 && i + 1 < steps.size) continue;  // within a pixel of what is drawn
      const y = middles[steps.stage[i]];
      if (last !== -Infinity)
        context.lineTo(from, y);
      else
        context.moveTo(from, y);
      if (steps.kind[i] === pathKinds.task && outlines && to - from > 5) {
        const box = this.boxOf(run, steps.task[i], this.laneOf(run, steps.stage[i]));
        context.rect(box.x + 1, box.y + 1, box.width - 3, box.height - 2);
        context.moveTo(to - 1, y);
      } else if (steps.kind[i] !== pathKinds.transfer)
        context.lineTo(to, y);
      last = to;
    }
    context.stroke();
  }

  /** The selected task, the task under the pointer, and the tasks that released them. */
  drawMarks() {
    const {context, view} = this;
    for (const [target, width] of [[view.hovered, 1.2], [view.selected, 2.4]]) {
      if (!target) continue;
      context.strokeStyle = this.theme.focus;
      context.lineWidth = width;
      const box = this.boxOfTarget(target);
      if (!box) continue;
      context.strokeRect(box.x, box.y, Math.max(2, box.width), box.height);
      if (target === view.selected && target.kind === 'task') this.drawRelease(target);
    }
  }
  boxOfTarget({run, kind, id, stage, link}) {
    if (kind === 'transfer') {
      const lane = this.lanes.find((other) => other.kind === 'link' && other.run === run && other.link === link);
      return lane && {
        x: this.x(run.transferStart[id]),
        y: axisHeight + lane.y - this.scroll,
        height: lane.height,
        width: this.x(run.transferEnd[id]) - this.x(run.transferStart[id])
      };
    }
    const lane = this.laneOf(run, stage);
    if (!lane) return null;
    if (kind === 'task') return this.boxOf(run, id, lane);
    const x = this.x(run.idleStart[id]);
    return {x, y: axisHeight + lane.y - this.scroll, width: this.x(run.idleEnd[id]) - x, height: lane.height};
  }
  drawRelease({run, id}) {
    const from = run.released[id];
    if (from < 0 || run.stage[from] === run.stage[id]) return;
    const lane = this.laneOf(run, run.stage[from]);
    if (!lane) return;
    const {context} = this;
    const source = this.boxOf(run, from, lane), target = this.boxOf(run, id, this.laneOf(run, run.stage[id]));
    context.strokeRect(source.x, source.y, source.width, source.height);
    context.beginPath();
    context.moveTo(source.x + source.width, source.y + source.height / 2);
    context.lineTo(target.x, target.y + target.height / 2);
    context.stroke();
  }

  /** The object at a point of the canvas: a task, idle span, transfer or memory; null if there is none. */
  hit(x, y) {
    if (x < gutter || x > gutter + this.plotWidth() || y < axisHeight) return null;
    const time = this.timeAt(x), at = y - axisHeight + this.scroll;
    const lane = this.lanes.find((other) => at >= other.y && at < other.y + other.height + 1);
    if (!lane || time < 0) return null;
    const {run, stage} = lane;
    if (lane.kind === 'link') return this.hitLink(lane, time);
    if (lane.kind === 'memory') return time > run.makespan_ns ? null : {kind: 'memory', run, stage, time};
    const task = this.taskAt(lane, time, at);
    if (task >= 0) return {kind: 'task', run, stage, id: task};
    const idle = lastAtMost(run.idleStart, run.idleOffsets[stage], run.idleOffsets[stage + 1], time);
    if (idle >= run.idleOffsets[stage] && time < run.idleEnd[idle]) return {kind: 'idle', run, stage, id: idle};
    return null;
  }
  taskAt(lane, time, y) {
    const {run, stage} = lane;
    const from = run.offsets[stage];
    let id = lastAtMost(run.start, from, run.offsets[stage + 1], time);
    if (id < from || time >= run.end[id]) return -1;
    if (sharesCell(run, id) && (y - lane.y < lane.height / 2) === (run.pairing[id] === 2))
      id += run.pairing[id] === 2 ? -1 : 1;
    return id;
  }
  hitLink({run, stage, link}, time) {
    for (let i = lastAtMost(link.starts, 0, link.starts.length, time); i >= 0 && link.starts[i] >= time - link.longest;
         --i)
      if (run.transferEnd[link.senders[i]] > time) return {kind: 'transfer', run, stage, link, id: link.senders[i]};
    return null;
  }
}

/** Excess of a task's measured time over the prediction, as a share of the prediction. */
function deviation(predicted, measured, id) {
  const expected = predicted.end[id] - predicted.start[id];
  return expected > 0 ? (measured.end[id] - measured.start[id]) / expected - 1 : 0;
}

function headWords(run) {
  const bubble = run.metrics.find(({tag}) => tag === 'bubble_ratio');
  return [
    `step ${timeWords(run.step_time_ns)}`, bubble ? `bubble ${percentWords(bubble.value)}` : '',
    run.recommended ? 'recommended' : '', run.asynchronous ? 'asynchronous: weights change within a step' : '',
    run.overflow ? 'does not fit' : ''
  ].filter(Boolean)
      .join(' · ');
}

function digits12(value) {
  return String(Number(value.toPrecision(12)));
}
/** Distance of about `count` ticks over `span` ns: 1, 2 or 5 times a power of ten; with its unit, in ns. */
function ticks(span, count) {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = Math.max(1, power * [1, 2, 5, 10].find((factor) => factor * power >= rough));
  const [scale, unit] = step < 1e3 ? [1, 'ns'] : step < 1e6 ? [1e3, 'µs'] : step < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return [step, unit, scale];
}
