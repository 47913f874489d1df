// The playground: controls that set the options of a command line, simulated in the page by ppsim itself.

const shipped = {
  schedules: ['1f1b', 'interleaved', 'zb-h1', 'zb-v'],
  most: 4
};

/** Values of each control and its option; a first value of null omits the option. */
const knobs = [
  {option: 'stages', label: 'stages p', values: span(1, 32, 1), start: 4}, {
    option: 'mb',
    label: 'microbatches m',
    values: [...span(1, 32, 1), ...span(36, 64, 4), ...span(72, 256, 8)],
    start: 8
  },
  {option: 'vpp', label: 'chunks per stage v', values: [null, ...span(2, 8, 1)], start: null, none: 'default'},
  {option: 'forward', label: 'forward F', values: span(0.5, 20, 0.5), start: 1, unit: 'ms'},
  {option: 'backward', label: 'backward B', values: span(0.5, 40, 0.5), start: 2, unit: 'ms'}, {
    option: 'weight-grad',
    label: 'W, part of B',
    values: [null, ...span(0.5, 20, 0.5)],
    start: null,
    unit: 'ms',
    none: 'half of B'
  },
  {option: 'comm', label: 'transfer', values: [...span(0, 1, 0.05), ...span(1.25, 10, 0.25)], start: 0, unit: 'ms'}, {
    option: 'activation-bytes',
    label: 'activations of a stage',
    values: [null, ...span(0.25, 8, 0.25)],
    start: null,
    unit: 'GiB',
    none: 'not known'
  },
  {
    option: 'memory-limit',
    label: 'memory limit',
    values: [null, ...span(1, 16, 1), 20, 24, 32, 40, 48, 64, 80, 96, 141, 192],
    start: null,
    unit: 'GiB',
    none: 'none'
  }
];

function span(from, to, by) {
  return Array.from({length: Math.round((to - from) / by) + 1}, (_, i) => Number((from + i * by).toFixed(6)));
}

class Playground {
  constructor(root, schedules) {
    this.root = root;
    this.engine = null;  // see makeEngine(); null until compiled
    this.settings = Object.fromEntries(knobs.map(({option, start}) => [option, start]));
    this.schedules = schedules;
    this.chosen = ['interleaved', 'zb-v'];
    this.more = '';
    this.place = element('div');
    this.readAddress();
    this.build();
    addEventListener('hashchange', () => {
      if (!location.hash.startsWith(this.prefix())) {
        this.readAddress();
        this.build();
        if (this.page) this.page.close();
        this.page = null;  // the next one reads the address
        this.run();
      }
    });
  }

  build() {
    this.shown = [];  // updates the sliders
    this.errors = element('div', {class: 'errors', role: 'alert'});
    this.command = element('code');
    this.took = element('span', {class: 'hint'});
    const extra = element('input', {
      type: 'text',
      value: this.more,
      'aria-label': 'more options',
      placeholder: '--transfer link --recompute full',
      onchange: (event) => this.change(() => {
        this.more = event.target.value;
      })
    });
    this.root.replaceChildren(
        element(
            'form', {class: 'knobs', onsubmit: (event) => event.preventDefault()},
            element(
                'fieldset', {class: 'schedules'},
                element('legend', {}, `Schedules, up to ${shipped.most} side by side`),
                ...this.schedules.map((name) => this.scheduleBox(name))),
            element(
                'fieldset', {class: 'sliders'}, element('legend', {}, 'Settings'),
                ...knobs.map((knob) => this.slider(knob)),
                element('label', {class: 'extra'}, 'any other option ', extra))),
        element('p', {class: 'command'}, this.command, ' ', this.took), this.errors, this.place);
  }
  scheduleBox(name) {
    const box = element('input', {
      type: 'checkbox',
      checked: this.chosen.includes(name),
      onchange: () => this.change(() => {
        this.chosen =
            box.checked ? [...this.chosen, name].slice(-shipped.most) : this.chosen.filter((other) => other !== name);
        for (const other of this.root.querySelectorAll('.schedules input'))
          other.checked = this.chosen.includes(other.name);
      })
    });
    box.name = name;
    return element('label', {}, box, name);
  }
  slider(knob) {
    const words = element('output');
    const value = () => this.settings[knob.option];
    const show = () => {
      words.textContent = value() === null ? knob.none : knob.unit ? `${value()} ${knob.unit}` : String(value());
      range.value = Math.max(0, nearest(knob.values, value()));
      range.setAttribute('aria-valuetext', words.textContent);
    };
    const range = element('input', {
      type: 'range',
      min: 0,
      max: knob.values.length - 1,
      step: 1,
      value: Math.max(0, nearest(knob.values, value())),
      oninput: () => this.change(() => {
        this.settings[knob.option] = knob.values[range.value];
        show();
        this.fitHalves();
      })
    });
    this.shown.push(show);
    show();
    return element('label', {}, element('span', {}, knob.label), range, words);
  }

  /** W is part of B. */
  fitHalves() {
    const {settings} = this;
    if (settings['weight-grad'] > settings.backward) settings['weight-grad'] = settings.backward;
    for (const show of this.shown) show();
  }

  /** The words after `ppsim` for one of the schedules. */
  wordsOf(schedule) {
    const words = [], more = splitWords(this.more);
    for (const {option, unit} of knobs) {
      const value = this.settings[option];
      if (more.includes(`--${option}`)) continue;
      if (value !== null && !(option === 'comm' && value === 0)) words.push(`--${option}`, `${value}${unit || ''}`);
    }
    const at = words.indexOf('--backward');
    if (this.settings['weight-grad'] !== null && at >= 0) {  // the two halves, if one is given
      const input = this.settings.backward - this.settings['weight-grad'];
      words.splice(at, 2, '--input-grad', `${Number(input.toFixed(6))}ms`);
    }
    return [...words, ...more, '--schedule', schedule];
  }

  change(set) {
    set();
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.run();
    });
  }
  run() {
    if (!this.engine) return;
    if (this.chosen.length === 0) return this.say('Choose a schedule.');
    const began = performance.now();
    let answer;
    try {
      answer = this.engine(this.chosen.map((name) => this.wordsOf(name)));
    } catch (error) {
      return this.say(`The simulator failed (${error.message}): reload the page, and choose a smaller run.`);
    }
    this.simulated = performance.now() - began;
    this.command.textContent = `ppsim ${this.wordsOf(this.chosen[0]).map(shellWord).join(' ')}`;
    this.took.textContent = `simulated in ${digits(this.simulated)} ms`;
    const refused = answer.ok ? answer.refused : [answer.errors];
    this.errors.replaceChildren(
        ...refused.flatMap((errors, i) => (errors || []).map((error) => refusalWords(this.chosen[i], error))),
        ...Array.from(new Set((answer.notes || []).flat()), (note) => element('p', {class: 'hint'}, note)));
    this.showPage(answer.data);
  }
  /** Shows a message instead of a run. */
  say(words) {
    this.command.textContent = this.took.textContent = '';
    this.errors.replaceChildren(element('p', {}, words));
    this.showPage(null);
  }
  showPage(data) {
    const before = this.page;
    if (before) before.close();
    this.page = null;
    if (!data) return this.place.replaceChildren();
    this.page = new Page(this.place, data, {prefix: this.prefix(), like: before});
    window.ppsim = this.page;
  }

  // ---- settings in the address

  prefix() {
    const words = this.wordsOf(this.chosen.join(',') || 'none');
    return `#args=${encodeURIComponent(words.map(shellWord).join(' '))}&`;
  }
  readAddress() {
    const said = /[#&]args=([^&]*)/.exec(location.hash);
    if (!said) return;
    let words;
    try {
      words = splitWords(decodeURIComponent(said[1]));
    } catch {
      return;  // no text
    }
    const rest = [];
    for (const {option, start} of knobs) this.settings[option] = start;
    this.chosen = ['1f1b'];
    for (let i = 0; i < words.length; ++i) {
      const knob = knobs.find(({option}) => words[i] === `--${option}`);
      if (words[i] === '--schedule' && i + 1 < words.length)
        this.chosen = words[++i].split(',').filter((name) => this.schedules.includes(name)).slice(0, shipped.most);
      else if (knob && this.readKnob(knob, words[i + 1]))
        ++i;
      else if (
          words[i] === '--input-grad' && words.includes('--weight-grad') &&
          this.readKnob({option: 'input-grad', unit: 'ms'}, words[i + 1]))
        ++i;
      else
        rest.push(words[i]);
    }
    if (this.settings['input-grad'] !== undefined && this.settings['weight-grad'] !== null)
      this.settings.backward = Number((this.settings['input-grad'] + this.settings['weight-grad']).toFixed(6));
    delete this.settings['input-grad'];
    this.more = rest.map(shellWord).join(' ');
  }
  readKnob({option, unit}, word) {
    const said = /^([\d.]+)([a-zA-Z]*)$/.exec(word || '');
    if (!said || !(Number(said[1]) >= 0)) return false;
    const smaller = unit === 'ms' && said[2] === 'us';
    if (!smaller && said[2] !== (unit || '')) return false;
    this.settings[option] = Number(said[1]) / (smaller ? 1000 : 1);
    return true;
  }
}

function refusalWords(schedule, {place, problem, remedy}) {
  return element('p', {}, element('b', {}, schedule), ` ${place}: ${problem}${remedy ? `; ${remedy}` : ''}`);
}

function nearest(values, value) {
  if (value === null) return values.indexOf(null);
  let best = -1;
  values.forEach((other, i) => {
    if (other !== null && (best < 0 || Math.abs(other - value) < Math.abs(values[best] - value))) best = i;
  });
  return best;
}
function shellWord(word) {
  return /^[\w\-.,:/=+*|]+$/.test(word) ? word : `'${word.replace(/'/g, '\'\\\'\'')}'`;
}
/** Words of a command line: quoted parts join the text next to them; a backslash keeps the next character. */
function splitWords(text) {
  return Array.from(
      text.matchAll(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g),
      ([word]) => word.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, single, double, kept) => single ?? double ?? kept));
}

/** ppsim as a function: words of several command lines in, data of one page out. */
async function makeEngine(module) {
  const engine = await createPpsim({wasmBinary: bytesOf(module)});
  return (commandLines) => JSON.parse(engine.ccall('ppsim_page', 'string', ['string'], [JSON.stringify(commandLines)]));
}

async function startPlayground(settings) {
  const playground = new Playground(document.getElementById('page'), settings.schedules);
  window.playground = playground;
  try {
    playground.engine = await makeEngine(settings.engine);
    playground.run();
  } catch (error) {
    playground.errors.replaceChildren(element('p', {}, `The simulator does not run in this browser: ${error.message}`));
  }
}
startPlayground(pageData);
