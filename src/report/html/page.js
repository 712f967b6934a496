'use strict';
// The script of a report's page. All text of captures is written as text, never as HTML.
(() => {

/** An element with attributes, children, and listeners (`onclick`). */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

// Numbers as people read them: three digits, as the text report has them.

function scaled(value, units) {
  let at = 0;
  while (at + 1 < units.length && Math.abs(value) >= units[at + 1][1] * 0.9995) at++;
  const [unit, size] = units[at];
  const n = value / size;
  const digits = n >= 99.95 || (size <= 1 && Number.isInteger(n)) ? 0 : n >= 9.995 ? 1 : 2;
  return `${fixed(n, digits)} ${unit}`;
}
/** A number with so many digits, halves to the even one as in the text: `toFixed` takes the larger. */
function fixed(n, digits) {
  const parts = n * 10 ** digits;
  const isHalf = Number.isInteger(n * 8) && Math.abs(parts % 1) === 0.5;
  return (isHalf ? 2 * Math.round(parts / 2) / 10 ** digits : n).toFixed(digits);
}
const DURATIONS = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9], ['min', 60e9], ['h', 3600e9], ['d', 86400e9]];
const BYTES = [['B', 1], ['kB', 1e3], ['MB', 1e6], ['GB', 1e9], ['TB', 1e12], ['PB', 1e15]];
const RATES = [['bit/s', 1], ['kbit/s', 1e3], ['Mbit/s', 1e6], ['Gbit/s', 1e9], ['Tbit/s', 1e12]];
const FORMAT = {
  text: value => value,
  count: value => value.toLocaleString('en-US'),
  bytes: value => scaled(value, BYTES),
  ns: value => scaled(value, DURATIONS),
  time: value => `${(value / 1e9).toFixed(9)} s`,
  bps: value => scaled(value, RATES),
  bounds: value => String(value),
  flow: value => `#${value}`,
  frame: value => String(value),
  psn: value => String(value),
};

/** The number in "1.5ms", "10M", "3": units as the cells have them. */
function parsed(text, unit) {
  const match = /^(-?[\d.,]+)\s*([a-zµ/]*)$/i.exec(text);
  if (!match) return NaN;
  const n = Number(match[1].replaceAll(',', ''));
  const units = unit === 'ns' || unit === 'time' ? DURATIONS : unit === 'bps' ? RATES : BYTES;
  const wanted = match[2].toLowerCase().replace('us', 'µs');
  const known = units.find(([name]) => name.toLowerCase() === wanted || (wanted && units !== DURATIONS && name.toLowerCase().startsWith(wanted)));
  return wanted === '' ? n : known ? n * known[1] : NaN;
}

const IN_ORDER = new Intl.Collator('en', { numeric: true }).compare;
const LEFT = new Set(['text']);
const rank = cell => Array.isArray(cell) ? cell[0] : cell;

/** A table that sorts, filters, and has rows in the document only where they are seen. */
class Grid {
  constructor(place, table) {
    this.place = place;
    this.columns = table.columns;
    this.rows = table.rows;
    this.inTrouble = table.in_trouble;
    this.order = this.rows.map((_, at) => at);
    this.sorted = null;
    this.found = null;
    this.build(place.dataset.caption);
    this.show();
  }

  build(caption) {
    this.count = make('output', { 'aria-live': 'polite' });
    const counted = this.columns.find(column => column.unit === 'count' && /^\w+$/.test(column.label));
    this.query = make('input', { type: 'search', placeholder: counted ? `text, or ${counted.label}>10` : 'text', 'aria-label': `Filter: ${caption}`, oninput: () => this.filter() });
    this.heads = this.columns.map((column, at) => make('th', { scope: 'col', title: column.about, 'aria-sort': 'none', class: LEFT.has(column.unit) ? null : 'n' },
      make('button', { type: 'button', onclick: () => this.sort(at) }, column.label)));
    this.body = make('tbody');
    this.table = make('table', { 'aria-rowcount': this.rows.length + 1 },
      make('caption', {}, caption), make('thead', {}, make('tr', { 'aria-rowindex': 1 }, ...this.heads)), this.body);
    this.scroller = make('div', { class: 'scroll grid', tabindex: 0, role: 'region', 'aria-label': caption,
      onscroll: () => this.draw(), onkeydown: event => this.key(event) }, this.table);
    const tools = make('div', { class: 'tools' }, make('label', {}, 'Filter', this.query));
    if (this.inTrouble) {
      this.only = make('input', { type: 'checkbox', onchange: () => this.filter() });
      tools.append(make('label', {}, this.only, 'only in trouble'));
    }
    tools.append(this.count);
    // What happened in the row that was clicked: the lines of its frames.
    this.lines = make('pre', { class: 'lines', hidden: true, tabindex: 0, role: 'region', 'aria-live': 'polite', 'aria-label': `${caption}: the frames of a row` });
    this.place.replaceChildren(...(this.rows.length > 8 ? [tools] : []), this.scroller, this.lines);
    // The longest text of each column, so that columns keep their widths while rows come and go.
    const longest = this.columns.map((column, at) => {
      let text = '';
      for (const row of this.rows) {
        const cell = this.text(row, at);
        if (cell.length > text.length) text = cell;
      }
      return text;
    });
    this.sizer = make('tr', { class: 'sizer', 'aria-hidden': 'true' }, ...longest.map((text, at) => this.cell(text, at, text)));
    this.above = make('tr', { class: 'spacer', 'aria-hidden': 'true' }, make('td', { colspan: this.columns.length }));
    this.below = this.above.cloneNode(true);
  }

  text(row, at) {
    const cell = row[at];
    if (cell === null) return '';
    return Array.isArray(cell) ? cell[1] : FORMAT[this.columns[at].unit](cell);
  }

  cell(text, at, value) {
    const { unit } = this.columns[at];
    const attributes = { class: LEFT.has(unit) ? null : 'n', ...(at === 0 ? { scope: 'row' } : {}) };
    const link = unit === 'flow' && text && make('button', { type: 'button', class: 'flow', 'data-flow': value }, text);
    return make(at === 0 ? 'th' : 'td', attributes, link || text);
  }

  sort(at) {
    const { unit } = this.columns[at];
    const isFirst = this.sorted?.at !== at;
    const down = isFirst ? !LEFT.has(unit) && unit !== 'flow' : !this.sorted.down;
    this.sorted = { at, down };
    this.heads.forEach((head, n) => head.setAttribute('aria-sort', n !== at ? 'none' : down ? 'descending' : 'ascending'));
    this.show();
  }

  filter() {
    this.show();
    this.scroller.scrollTop = 0;
  }

  /** Whether a row has all terms: text in any cell, or a column compared with a value. */
  matcher() {
    const terms = this.query.value.trim().split(/\s+/).filter(Boolean).map(term => {
      const match = /^([^<>=]+)(>=|<=|=|>|<)(.+)$/.exec(term);
      const name = match && match[1].replaceAll('_', ' ').toLowerCase();
      const at = match ? this.columns.findIndex(column => column.label.toLowerCase() === name) : -1;
      // A number may be typed with or without commas.
      const plain = text => text.toLowerCase().replaceAll(',', '');
      if (at < 0) return row => row.some((_, n) => plain(this.text(row, n)).includes(plain(term)));
      const wanted = parsed(match[3].replace('#', ''), this.columns[at].unit);
      const number = row => (LEFT.has(this.columns[at].unit) ? Number(row[at]) : rank(row[at]) ?? 0);
      switch (match[2]) {
        case '>': return row => number(row) > wanted;
        case '<': return row => number(row) < wanted;
        case '>=': return row => number(row) >= wanted;
        case '<=': return row => number(row) <= wanted;
        default: return row => number(row) === wanted || this.text(row, at).toLowerCase() === match[3].toLowerCase();
      }
    });
    // Those in trouble come first.
    if (this.only?.checked) terms.push((_, at) => at < this.inTrouble);
    return (row, at) => terms.every(term => term(row, at));
  }

  /** Filters and sorts all rows, and draws those that are seen. */
  show() {
    const matches = this.matcher();
    this.order = this.rows.map((_, at) => at).filter(at => matches(this.rows[at], at));
    if (this.sorted) {
      const { at, down } = this.sorted;
      this.order.sort((a, b) => {
        const [x, y] = [rank(this.rows[a][at]), rank(this.rows[b][at])];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        const by = typeof x === 'string' ? IN_ORDER(x, y) : x - y;
        return (down ? -by : by) || a - b;
      });
    }
    const [shown, all] = [this.order.length, this.rows.length].map(FORMAT.count);
    this.count.textContent = shown === all ? `${all} rows` : `${shown} of ${all} rows`;
    this.drawn = null;
    this.draw();
  }

  draw(all = false) {
    const height = this.height ?? 31;
    const seen = Math.ceil((this.scroller.clientHeight || 500) / height);
    const margin = 10;
    const top = Math.max(0, Math.floor(this.scroller.scrollTop / height) - margin);
    const [from, to] = all ? [0, Math.min(all, this.order.length)] : [top - top % 10, Math.min(this.order.length, top + seen + 2 * margin + 10)];
    if (this.drawn === `${from} ${to}`) return;
    this.drawn = `${from} ${to}`;
    const rows = this.order.slice(from, to).map((at, n) => {
      const row = this.rows[at];
      const cells = row.map((value, column) => this.cell(this.text(row, column), column, value));
      return make('tr', { 'aria-rowindex': from + n + 2, class: at === this.found ? 'found' : null }, ...cells);
    });
    this.above.firstChild.style.height = `${from * height}px`;
    this.below.firstChild.style.height = `${all ? 0 : (this.order.length - to) * height}px`;
    const focused = this.body.contains(document.activeElement) && document.activeElement.dataset.flow;
    this.body.replaceChildren(...(this.height ? [] : [this.sizer]), this.above, ...rows, this.below);
    if (focused) this.body.querySelector(`[data-flow="${focused}"]`)?.focus({ preventScroll: true });
    if (!this.height && rows.length) {
      this.height = rows[0].getBoundingClientRect().height || null;
      if (!this.height) return;
      // From now on, new rows need not be measured.
      const widths = this.heads.map(head => head.getBoundingClientRect().width);
      this.heads.forEach((head, at) => { head.style.width = `${widths[at]}px`; });
      this.table.style.width = `${widths.reduce((sum, width) => sum + width)}px`;
      this.table.style.tableLayout = 'fixed';
      this.sizer.remove();
      this.drawn = null;
      this.draw(all);
    }
  }

  /** Shows the lines of the frames that a row names. */
  tell(tr, lines) {
    const at = this.order[Number(tr.getAttribute('aria-rowindex')) - 2];
    const row = this.rows[at];
    if (!row) return;
    const frames = [...new Set(row.filter((value, n) => this.columns[n].unit === 'frame' && lines[value]))].sort((a, b) => a - b);
    this.lines.textContent = frames.map(frame => lines[frame]).join('\n');
    this.lines.hidden = !frames.length;
    this.found = frames.length ? at : null;
    this.drawn = null;
    this.draw();
  }

  key(event) {
    if (event.target !== this.scroller) return;
    const to = { Home: 0, End: this.scroller.scrollHeight }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.scroller.scrollTop = to;
  }

  /** Scrolls to the row of a flow. */
  reveal(flow) {
    const at = this.rows.findIndex(row => row[0] === flow);
    if (at < 0) return;
    this.query.value = '';
    if (this.only) this.only.checked = false;
    this.found = at;
    this.show();
    this.place.scrollIntoView({ block: 'nearest' });
    this.scroller.scrollTop = Math.max(0, this.order.indexOf(at) * this.height - this.scroller.clientHeight / 2);
    this.draw();
    this.body.querySelector('tr.found button')?.focus({ preventScroll: true });
  }
}

/** Hosts × hosts: a table with shaded cells. */
function matrix(place, hosts) {
  const kinds = [['bytes', 2, FORMAT.bytes], ['losses', 3, FORMAT.count], ['resent', 4, FORMAT.count]];
  const cells = new Map(hosts.cells.map(cell => [`${cell[0]} ${cell[1]}`, cell]));
  const scroller = make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Hosts × hosts' });
  const draw = ([name, field, format]) => {
    const most = Math.max(1, ...hosts.cells.map(cell => cell[field]));
    const head = make('tr', {}, make('th', { scope: 'col' }, 'from \\ to'), ...hosts.names.map(name => make('th', { scope: 'col', class: 'n' }, name)));
    const rows = hosts.names.map((name, from) => make('tr', {}, make('th', { scope: 'row' }, name), ...hosts.names.map((_, to) => {
      const value = cells.get(`${from} ${to}`)?.[field];
      const cell = make('td', {}, value ? format(value) : '');
      if (value) cell.style.setProperty('--share', (0.08 + 0.5 * value / most).toFixed(3));
      return cell;
    })));
    scroller.replaceChildren(make('table', {}, make('caption', {}, `From each host to each other: ${name}`), make('thead', {}, head), make('tbody', {}, ...rows)));
  };
  const group = `matrix-${Math.random()}`;
  const choice = kinds.map((kind, n) => make('label', {}, make('input', { type: 'radio', name: group, checked: n === 0, onchange: () => draw(kind) }), kind[0]));
  place.replaceChildren(make('div', { class: 'tools' }, make('fieldset', {}, make('legend', {}, 'Shade by'), ...choice)), scroller);
  if (hosts.left_out > 0) place.append(make('p', { class: 'quiet' }, `${FORMAT.count(hosts.left_out)} hosts with less trouble and traffic are left out.`));
  draw(kinds[0]);
}

// Pictures. uPlot has axes, scales and the cursor; packets as strokes and marks are drawn here.

const ROLES = {
  new: 'line', response: 'line', ack: 'line', again: 'disc', late: 'ring', copy: 'dot', ambiguous: 'ring', corrupt: 'cross', trimmed: 'diamond', 'ack-again': 'dot',
  nak: 'cross', rnr: 'diamond', cnp: 'up', ce: 'tick', 'lost-before': 'hole', 'lost-after': 'hole', lost: 'hole', pause: 'span',
  rate: 'line', goodput: 'line', class: 'box',
  receiver_late: 'span', sender_late: 'span', one_side_late: 'span', paused: 'span', recovering: 'span', receiver_silent: 'span', throttled: 'span', queueing: 'span', line_rate: 'span', transfer: 'span', straggler: 'bar',
};
const CLASSES = 8;
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (role, n) => style(role === 'class' || role === 'pause' ? `--class-${n % CLASSES}` : `--${role}`) || style('--ink');

/** Draws a mark with its first packet at (x, y) and its last at (x2, y2); in a legend, at (x, y). */
function drawMark(c, shape, x, y, x2, y2 = y) {
  const r = 3.5 * devicePixelRatio;
  const isKey = x2 === undefined;
  x2 ??= x;
  c.beginPath();
  if (shape === 'hole') {
    const high = Math.max(Math.abs(y - y2), 1.6 * r);
    c.rect(x, (y + y2 - high) / 2, Math.max(x2 - x, 1.6 * r), high);
    return c.stroke();
  }
  if (shape === 'span' || shape === 'bar') {
    const high = (shape === 'span' ? 12 : 4) * devicePixelRatio;
    c.rect(isKey ? x - 2 * r : x, y - high / 2, isKey ? 4 * r : Math.max(x2 - x, devicePixelRatio), high);
    return c.fill();
  }
  if (x2 !== x || y2 !== y) {
    c.moveTo(x, y); c.lineTo(x2, y2); c.stroke();
    c.beginPath();
  }
  for (const [px, py] of x2 !== x || y2 !== y ? [[x, y], [x2, y2]] : [[x, y]]) {
    switch (shape) {
      case 'line': case 'dot': c.rect(px - r / 2, py - r / 2, r, r); break;
      case 'disc': c.moveTo(px + r, py); c.arc(px, py, r, 0, 7); break;
      case 'ring': c.moveTo(px + r, py); c.arc(px, py, r, 0, 7); break;
      case 'cross': c.moveTo(px - r, py - r); c.lineTo(px + r, py + r); c.moveTo(px - r, py + r); c.lineTo(px + r, py - r); break;
      case 'diamond': c.moveTo(px, py - 1.4 * r); c.lineTo(px + 1.4 * r, py); c.lineTo(px, py + 1.4 * r); c.lineTo(px - 1.4 * r, py); c.closePath(); break;
      case 'up': c.moveTo(px - r, py); c.lineTo(px, py - 2 * r); c.lineTo(px + r, py); c.closePath(); break;
      case 'tick': c.moveTo(px, py - 2 * r); c.lineTo(px, py + 2 * r); break;
      case 'box': c.rect(px - 1.5 * r, py - r, 3 * r, 2 * r); break;
    }
  }
  if (['ring', 'cross', 'tick'].includes(shape)) c.stroke(); else c.fill();
}

function pen(c, role, n) {
  c.strokeStyle = c.fillStyle = colour(role, n);
  c.lineWidth = 1.5 * devicePixelRatio;
  c.setLineDash(role === 'lost-after' ? [4, 3] : role === 'lost' ? [1, 3] : []);
}

/** Labels of an axis: all in one unit, with as many digits as tell them apart. */
function labels(units, splits, step) {
  const most = Math.max(...splits.map(Math.abs), 1);
  // Parts of a minute and of what is longer are told in a smaller unit.
  const fits = size => most >= size && (units !== DURATIONS || size <= 1e9 || step % size === 0);
  const [unit, size] = units.findLast(([, size]) => fits(size)) ?? units[0];
  let digits = 0;
  while (digits < 9 && Math.abs(step / size * 10 ** digits - Math.round(step / size * 10 ** digits)) > 1e-6) digits++;
  return splits.map(value => `${(value / size).toFixed(digits)} ${unit}`);
}
/** Steps of an axis of times: decimal ones up to ten seconds, then those of a clock. */
const STEPS = [
  ...[...Array(10).keys()].flatMap(n => [1, 2, 2.5, 5].map(part => part * 10 ** n)).filter(step => Number.isInteger(step)), 10e9, 15e9, 30e9,
  ...[1, 2, 5, 10, 15, 30].map(n => n * 60e9), ...[1, 2, 3, 6, 12].map(n => n * 3600e9), ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map(n => n * 86400e9),
];
const UNITS = { ns: DURATIONS, bps: RATES, bytes: BYTES };

/** The name of a row without one: a letter, for a number would look like a priority. */
const rowName = n => (n >= 26 ? rowName(Math.floor(n / 26) - 1) : '') + String.fromCharCode(65 + n % 26);

/** A chart of a picture, its tools, and the table of its data. */
class Chart {
  constructor(chart, picture) {
    this.chart = chart;
    this.picture = picture;
    this.isMarks = chart.style === 'marks';
    const tool = (name, what, act) => make('button', { type: 'button', 'aria-label': `${what}: ${chart.title}`, title: what, onclick: act }, name);
    this.readout = make('output', { 'aria-live': 'off' });
    this.plot = make('div', { class: 'plot', role: 'img', 'aria-label': `${chart.title}. ${chart.about} The table below has the same data.` });
    this.legend = make('div', { class: 'legend' });
    const data = make('div', { 'data-caption': `Data: ${chart.title}` });
    const behind = make('details', { ontoggle: () => { if (behind.open && !data.firstChild) new Grid(data, this.table()); } }, make('summary', {}, 'The same data as a table'), data);
    this.element = make('figure', {},
      make('figcaption', {}, make('strong', {}, chart.title), ' ', make('span', { class: 'quiet' }, chart.unit === 'psn' ? `${chart.about} The axis counts from PSN ${chart.base}.` : chart.about)),
      make('div', { class: 'tools' },
        make('span', { class: 'zoom' }, tool('−', 'Zoom out', () => this.zoom(2)), tool('+', 'Zoom in', () => this.zoom(0.5)), tool('←', 'Earlier', () => this.zoom(1, -0.4)),
          tool('→', 'Later', () => this.zoom(1, 0.4)), tool('All', 'Show all', () => picture.show(...picture.range))), this.readout),
      this.plot, this.legend, behind);
    if (chart.style === 'dots') this.distribution = make('div', { class: 'plot', role: 'img', 'aria-label': `Distribution: ${chart.title}` });
    if (this.distribution) behind.before(make('p', { class: 'quiet' }, 'Distribution, with the percentiles of all:'), this.distribution);
  }

  draw() {
    const { chart } = this;
    const data = this.data();
    const axis = { stroke: () => style('--soft'), grid: { stroke: () => style('--line'), width: 1 }, ticks: { stroke: () => style('--line'), width: 1 }, font: '12px system-ui, sans-serif' };
    const values = (_, splits, __, ___, step) => {
      if (chart.unit === 'psn') return splits.map(value => Number.isInteger(value) ? FORMAT.count(value) : '');
      if (chart.rows) return splits.map(value => chart.rows[value] ?? '');
      if (chart.unit === 'row') return splits.map(value => chart.series[value] ? rowName(value) : '');
      return UNITS[chart.unit] ? labels(UNITS[chart.unit], splits, step) : splits.map(FORMAT.count);
    };
    const lines = this.order.map(({ series, n }) => ({
      label: series.name, show: true, stroke: () => colour(series.role, n), width: 1.5,
      fill: chart.style === 'stacked' ? () => colour(series.role, n) : undefined,
      paths: this.isMarks || chart.style === 'dots' ? () => null : uPlot.paths.stepped({ align: 1 }),
      points: chart.style === 'dots' ? { show: true, size: 4, fill: () => colour(series.role, n) } : { show: false },
    }));
    // Names of rows have the room that the longest needs.
    const left = chart.rows ? Math.min(Math.max(84, ...chart.rows.map(name => name.length * 7 + 24)), 280) : 84;
    const rows = chart.rows ? { incrs: [1, 2, 4, 8, 16, 32], space: 14, font: '11px system-ui, sans-serif' } : {};
    const wide = (u, least, most) => {
      if (chart.rows) return [-0.7, chart.rows.length - 0.3];
      if (least === null || least === undefined) return [0, 1];
      const spare = Math.max((most - least) * 0.06, 1);
      return [chart.unit === 'psn' || chart.unit === 'row' ? least - spare : 0, most + spare];
    };
    this.u = new uPlot({
      width: this.plot.clientWidth || 600, height: this.isMarks && chart.unit === 'psn' ? 420 : Math.max(220, (chart.rows?.length ?? 0) * 16 + 60), legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { show: false }, sync: { key: this.picture.key } },
      scales: { x: { time: false, range: (_, least, most) => [least, most > least ? most : least + 1] }, y: { range: wide } },
      axes: [{ ...axis, space: 90, incrs: STEPS, values: (_, splits, __, ___, step) => labels(DURATIONS, splits, step) }, { ...axis, ...rows, size: left, values }],
      series: [{}, ...lines],
      hooks: {
        drawClear: [() => this.drawBands()], draw: [() => this.drawMarks()], setCursor: [() => this.read()],
        setScale: [(u, key) => { if (key === 'x') this.picture.show(u.scales.x.min, u.scales.x.max); }],
      },
    }, data, this.plot);
    this.u.over.addEventListener('dblclick', event => { event.stopPropagation(); this.picture.show(...this.picture.range); }, true);
    this.touch(this.u.over);
    new ResizeObserver(() => this.u.setSize({ width: this.plot.clientWidth, height: this.u.height })).observe(this.plot);
    this.legend.replaceChildren(...this.order.map(({ series, n }, at) => this.key(series, n, at + 1)).reverse());
    if (chart.style !== 'stacked') this.legend.replaceChildren(...[...this.legend.children].reverse());
    // What times in the background are.
    for (const what of new Set(chart.bands.map(band => band[0]))) {
      this.legend.append(make('span', {}, make('i', { class: what === 'pause' ? 'pause' : 'wait' }), what === 'pause' ? 'paused' : what));
    }
    if (this.distribution) this.drawDistribution(axis);
  }

  /** The columns of uPlot: times, and values of each series. */
  data() {
    const all = this.chart.series.map((series, n) => ({ series, n }));
    this.order = this.chart.style === 'stacked' ? [...all].reverse() : all;
    const [from, to] = this.picture.range;
    if (this.isMarks) {
      this.entries = this.order.flatMap(({ series }, at) => (series.marks ?? []).flatMap(mark => {
        const start = { x: mark[0], y: mark[2], at, mark };
        return mark[0] === mark[1] && mark[2] === mark[3] ? [start] : [start, { ...start, x: mark[1], y: mark[3] }];
      })).sort((a, b) => a.x - b.x);
      // CNPs have no PSN: they do not move the scale.
      const columns = this.order.map(({ series }, at) => this.entries.map(entry => entry.at === at && series.role !== 'cnp' ? entry.y : null));
      return [[from, ...this.entries.map(entry => entry.x), to], ...columns.map(column => [null, ...column, null])];
    }
    const points = this.order.map(({ series }) => series.points ?? []);
    const times = [...new Set([from, to, ...points.flatMap(list => list.map(([x]) => x))])].sort((a, b) => a - b);
    if (this.chart.style === 'dots') {
      const list = points[0];
      return [[from, ...list.map(([x]) => x), to], [null, ...list.map(([, y]) => y), null]];
    }
    // Where silences are gaps, there is nothing before the first value either.
    const columns = points.map(list => {
      let next = 0, value = list.some(([, y]) => y === null) ? null : 0;
      return times.map(time => {
        while (next < list.length && list[next][0] <= time) value = list[next++][1];
        return value;
      });
    });
    this.single = columns;
    if (this.chart.style !== 'stacked') return [times, ...columns];
    // On top of those that come after it: the largest sum is painted first.
    const sums = columns.map((_, at) => times.map((_, n) => columns.slice(at).reduce((sum, column) => sum + column[n], 0)));
    return [times, ...sums];
  }

  drawBands() {
    const { u } = this;
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    for (const [what, from, to] of this.chart.bands) {
      u.ctx.fillStyle = style(what === 'pause' ? '--band-pause' : '--band-wait');
      const x = Math.max(left, u.valToPos(from, 'x', true));
      const end = Math.min(left + width, u.valToPos(to, 'x', true));
      if (end >= x) u.ctx.fillRect(x, top, Math.max(1, end - x), height);
    }
    u.ctx.restore();
  }

  drawMarks() {
    const { u } = this;
    const { left, top, width, height } = u.bbox;
    const c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    if (this.isMarks) this.order.forEach(({ series, n }, at) => {
      if (!u.series[at + 1].show) return;
      pen(c, series.role, n);
      for (const [from, to, low, high] of series.marks ?? []) {
        if (to < u.scales.x.min || from > u.scales.x.max) continue;
        const y = value => series.role === 'cnp' ? top + height - 2 : u.valToPos(value, 'y', true);
        drawMark(c, ROLES[series.role], u.valToPos(from, 'x', true), y(low), u.valToPos(to, 'x', true), y(high));
      }
    });
    if (this.picture.found !== undefined) {
      c.setLineDash([6, 4]);
      c.strokeStyle = style('--ink');
      c.lineWidth = devicePixelRatio;
      c.beginPath();
      const x = u.valToPos(this.picture.found, 'x', true);
      c.moveTo(x, top); c.lineTo(x, top + height); c.stroke();
    }
    c.restore();
  }

  /** A key of the legend, which shows and hides its series. */
  key(series, n, at) {
    const swatch = make('canvas', { width: 22 * devicePixelRatio, height: 16 * devicePixelRatio, 'aria-hidden': 'true' });
    const paint = () => {
      const c = swatch.getContext('2d');
      c.clearRect(0, 0, swatch.width, swatch.height);
      pen(c, series.role, n);
      const [x, y] = [swatch.width / 2, swatch.height / 2];
      const isLine = ROLES[series.role] === 'line';
      drawMark(c, ROLES[series.role], isLine ? x / 2 : x, y, isLine ? x * 1.5 : undefined, y);
    };
    paint();
    themes.push(paint);
    const button = make('button', { type: 'button', 'aria-pressed': 'true', onclick: () => {
      const show = !this.u.series[at].show;
      button.setAttribute('aria-pressed', show);
      this.u.setSeries(at, { show });
    } }, swatch, this.chart.unit === 'row' && !this.chart.rows ? `${rowName(n)}: ${series.name}` : series.name);
    return button;
  }

  /** Says what is under the cursor. */
  read() {
    const { u, chart } = this;
    const { left, top, idx } = u.cursor;
    if (left < 0 || idx === null || idx === undefined) return void (this.readout.textContent = '');
    if (!this.isMarks) {
      const values = this.order.map(({ series }, at) => `${series.name} ${FORMAT[chart.unit]((this.single ?? u.data.slice(1))[at][idx] ?? 0)}`);
      return void (this.readout.textContent = `at ${FORMAT.time(u.data[0][idx])}: ${values.reverse().join(', ')}`);
    }
    let best = null, least = 30;
    // Of rows, what is there: ends may be far.
    if (chart.rows) this.order.forEach(({ series }, at) => {
      if (!u.series[at + 1].show) return;
      const mark = (series.marks ?? []).find(([from, to, row]) => Math.abs(u.valToPos(row, 'y') - top) < 8 && from <= u.posToVal(left, 'x') && u.posToVal(left, 'x') <= to);
      if (mark) best = { at: chart.series.indexOf(series), mark };
    });
    else
    for (const entry of this.entries.slice(Math.max(0, idx - 300), idx + 300)) {
      if (!u.series[entry.at + 1].show) continue;
      const far = Math.hypot(u.valToPos(entry.x, 'x') - left, chart.series[entry.at].role === 'cnp' ? 0 : u.valToPos(entry.y, 'y') - top);
      if (far < least) [best, least] = [entry, far];
    }
    this.readout.textContent = best ? this.cells(chart.series[best.at], best.mark).filter(([, , text]) => text !== '').map(([name, , text]) => (name ? `${name} ${text}` : text)).join(', ') : '';
  }

  /** What a mark is, by columns: name, value, text. */
  cells(series, [from, to, low, , packets, frame]) {
    const isPsn = this.chart.unit === 'psn' && series.role !== 'cnp';
    const psn = isPsn ? (this.chart.base + low) & 0xffffff : null;
    const rank = this.chart.rows?.[low];
    if (rank !== undefined) {
      return [['', series.name, series.name], ['rank', rank, rank], ['at', from, FORMAT.time(from)], ['lasted', to - from || null, to > from ? FORMAT.ns(to - from) : ''],
        ['requests', packets, FORMAT.count(packets)], ['frame', frame || null, frame ? String(frame) : '']];
    }
    return [['', series.name, series.name], ['at', from, FORMAT.time(from)], ['lasted', to - from || null, to > from ? FORMAT.ns(to - from) : ''],
      ['PSN', psn, isPsn ? String(psn) : ''], ['packets', packets, FORMAT.count(packets)], ['frame', frame || null, frame ? String(frame) : '']];
  }

  table() {
    const head = (label, unit) => ({ label, unit, about: label });
    if (this.isMarks) {
      const rows = this.chart.series.flatMap(series => (series.marks ?? []).map(mark => this.cells(series, mark).map(cell => cell[1])));
      if (this.chart.rows) {
        rows.sort((a, b) => a[2] - b[2]);
        return { columns: [head('what', 'text'), head('rank', 'text'), head('at', 'time'), head('lasted', 'ns'), head('requests', 'count'), head('frame', 'frame')], rows };
      }
      rows.sort((a, b) => a[1] - b[1]);
      return { columns: [head('what', 'text'), head('at', 'time'), head('lasted', 'ns'), head('PSN', 'psn'), head('packets', 'count'), head('frame', 'frame')], rows };
    }
    const times = this.u.data[0];
    const columns = this.single ?? this.u.data.slice(1);
    const rows = times.map((time, n) => [time, ...columns.map(column => column[n])]).filter(row => row.slice(1).some(value => value !== null));
    return { columns: [head('at', 'time'), ...this.order.map(({ series }) => head(series.name, this.chart.unit))], rows };
  }

  zoom(factor, shift = 0) {
    const { min, max } = this.u.scales.x;
    const half = (max - min) / 2 * factor;
    const middle = (min + max) / 2 + shift * (max - min);
    this.picture.show(middle - half, middle + half);
  }

  /** One finger moves along, two zoom. */
  touch(over) {
    const fingers = new Map();
    const at = x => this.u.posToVal(x - over.getBoundingClientRect().left, 'x');
    over.style.touchAction = 'pan-y';
    over.addEventListener('pointerdown', event => { if (event.pointerType === 'touch') fingers.set(event.pointerId, event.clientX); });
    over.addEventListener('pointermove', event => {
      if (!fingers.has(event.pointerId)) return;
      const before = [...fingers.values()].map(at);
      fingers.set(event.pointerId, event.clientX);
      const after = [...fingers.values()].map(at);
      const { min, max } = this.u.scales.x;
      if (before.length === 1) return this.picture.show(min + before[0] - after[0], max + before[0] - after[0]);
      const ratio = Math.abs(before[0] - before[1]) / Math.max(Math.abs(after[0] - after[1]), 1e-9);
      const fixed = (before[0] + before[1]) / 2;
      this.picture.show(fixed - (fixed - min) * ratio, fixed + (max - fixed) * ratio);
    });
    for (const end of ['pointerup', 'pointercancel']) over.addEventListener(end, event => fingers.delete(event.pointerId));
  }

  /** How often each delay occurs, on a logarithmic scale: ten steps for each power of ten. */
  drawDistribution(axis) {
    const bins = new Map();
    for (const [, value] of this.chart.series[0].points) {
      const bin = Math.floor(Math.log10(Math.max(value, 1)) * 10);
      bins.set(bin, (bins.get(bin) ?? 0) + 1);
    }
    const first = Math.min(...bins.keys()) - 1, last = Math.max(...bins.keys()) + 2;
    const xs = Array.from({ length: last - first + 1 }, (_, n) => first + n);
    const place = this.distribution, facts = this.chart.percentiles;
    const draw = u => {
      if (!facts) return;
      u.ctx.save();
      for (const [name, value] of [['p50', facts.p50], ['p99', facts.p99]]) {
        const x = u.valToPos(Math.log10(Math.max(value, 1)) * 10, 'x', true);
        u.ctx.strokeStyle = u.ctx.fillStyle = style('--ink');
        u.ctx.setLineDash([4, 3]);
        u.ctx.beginPath(); u.ctx.moveTo(x, u.bbox.top - 34 * devicePixelRatio); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); u.ctx.stroke();
        u.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
        const isLeft = x < u.bbox.left + u.bbox.width / 2;
        u.ctx.textAlign = isLeft ? 'left' : 'right';
        u.ctx.fillText(`${name} ${FORMAT.ns(value)}`, x + (isLeft ? 4 : -4), u.bbox.top - (name === 'p50' ? 22 : 6) * devicePixelRatio);
      }
      u.ctx.restore();
    };
    const u = new uPlot({
      width: place.clientWidth || 600, height: 200, padding: [40, 12, 0, 0], legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false } },
      axes: [{ ...axis, space: 90, values: (_, splits) => splits.map(split => FORMAT.ns(10 ** (split / 10))) }, { ...axis, size: 84, values: (_, splits) => splits.map(FORMAT.count) }],
      series: [{}, { label: 'how many', stroke: () => colour('rate'), fill: () => colour('rate'), paths: uPlot.paths.bars({ size: [0.9], align: 1 }), points: { show: false } }],
      hooks: { draw: [draw] },
    }, [xs, xs.map(bin => bins.get(bin) ?? 0)], place);
    themes.push(() => u.redraw(false));
    new ResizeObserver(() => u.setSize({ width: place.clientWidth, height: 200 })).observe(place);
  }
}

const themes = [];

/** The pictures of a flow, or of the whole capture: charts with one axis of time. */
class Picture {
  constructor(data, key) {
    this.key = key;
    const times = data.charts.flatMap(chart => chart.series.flatMap(series => [...(series.marks ?? []).flatMap(mark => [mark[0], mark[1]]), ...(series.points ?? []).map(([x]) => x)]));
    let [from, to] = [Infinity, -Infinity];
    for (const time of times) { from = Math.min(from, time); to = Math.max(to, time); }
    this.range = [from, to > from ? to : from + 1000];
    this.charts = data.charts.map(chart => new Chart(chart, this));
    this.element = make('details', { class: 'picture', ontoggle: () => this.draw() }, make('summary', {}, make('h3', {}, data.title)), this.facts(data.facts), ...this.charts.map(chart => chart.element));
    themes.push(() => this.drawn && this.charts.forEach(chart => chart.u.redraw(false)));
  }

  facts(facts) {
    if (!facts.length) return '';
    const head = ['', 'count', 'min', 'p50', 'p99', 'max'];
    return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Distributions' }, make('table', {}, make('caption', {}, 'Distributions'),
      make('thead', {}, make('tr', {}, ...head.map(name => make('th', { scope: 'col', class: name ? 'n' : null }, name)))),
      make('tbody', {}, ...facts.map(([name, unit, s]) => make('tr', {}, make('th', { scope: 'row' }, name), make('td', { class: 'n' }, FORMAT.count(s.count)),
        ...[s.min, s.p50, s.p99, s.max].map(value => make('td', { class: 'n' }, FORMAT[unit](value))))))));
  }

  draw() {
    if (!this.element.open || this.drawn) return;
    this.showing = true;
    this.charts.forEach(chart => chart.draw());
    this.showing = false;
    this.drawn = true;
  }

  /** Shows a span of time in all charts. */
  show(from, to) {
    if (this.showing) return;
    this.showing = true;
    const [least, most] = this.range;
    const span = Math.min(Math.max(to - from, 10), most - least);
    const min = Math.min(Math.max(from, least), most - span);
    for (const { u } of this.charts) u.batch(() => u.setScale('x', { min, max: min + span }));
    this.showing = false;
  }

  /** Opens it, at a time. */
  reveal(time) {
    this.element.open = true;
    this.draw();
    if (time !== undefined) {
      this.found = time;
      const span = (this.range[1] - this.range[0]) / 20;
      this.show(time - span / 2, time + span / 2);
      this.charts.forEach(chart => chart.u.redraw(false));
    }
    this.element.scrollIntoView({ block: 'start' });
    this.element.querySelector('summary').focus({ preventScroll: true });
  }
}

/** Bytes and trouble by source port: where switches choose paths by it, by path. */
function drawPorts(table, ports) {
  const column = label => ports.columns.findIndex(head => head.label === label);
  const [bytes, ...trouble] = ['bytes', 'resent', 'lost', 'late'].map(column);
  const rows = ports.rows.filter(([port]) => Number(port) >= 0).sort(([a], [b]) => a - b);
  if (rows.length < 2) return;
  const place = make('div', { class: 'plot', role: 'img', 'aria-label': 'Bytes and trouble by source port. The table below has the same data.' });
  table.before(make('figure', {}, make('figcaption', {}, make('strong', {}, 'By source port'), ' ',
    make('span', { class: 'quiet' }, 'Bars: bytes on the wire. Dots: packets retransmitted, lost or late, on the right scale.')), place));
  const axis = { stroke: () => style('--soft'), grid: { stroke: () => style('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const least0 = (_, __, most) => [0, Math.max(most, 1) * 1.06];
  const sums = rows.map(row => trouble.reduce((sum, at) => sum + (row[at] ?? 0), 0) || null);
  const u = new uPlot({
    width: place.clientWidth || 600, height: 200, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: [-0.7, rows.length - 0.3] }, y: { range: least0 }, trouble: { range: least0 } },
    axes: [
      { ...axis, space: 60, incrs: [1, 2, 5].flatMap(n => [1, 10, 100, 1e3, 1e4].map(ten => n * ten)).sort((a, b) => a - b), values: (_, splits) => splits.map(n => rows[n]?.[0] ?? '') },
      { ...axis, size: 84, values: (_, splits, __, ___, step) => labels(BYTES, splits, step) },
      { ...axis, scale: 'trouble', side: 1, size: 60, grid: { show: false }, values: (_, splits) => splits.map(n => Number.isInteger(n) ? FORMAT.count(n) : '') },
    ],
    series: [{},
      { label: 'bytes', stroke: () => colour('rate'), fill: () => colour('rate'), paths: uPlot.paths.bars({ size: [0.8] }), points: { show: false } },
      { label: 'trouble', scale: 'trouble', stroke: () => colour('again'), paths: () => null, points: { show: true, size: 7, fill: () => colour('again') } }],
  }, [rows.map((_, n) => n), rows.map(row => row[bytes]), sums], place);
  themes.push(() => u.redraw(false));
  new ResizeObserver(() => u.setSize({ width: place.clientWidth, height: 200 })).observe(place);
}

const grids = [];

function begin(article, number) {
  const data = JSON.parse(article.querySelector('script[type="application/json"]').textContent);
  const pictures = (data.pictures ?? []).map((picture, n) => ({ flow: picture.flow, data: picture, shown: new Picture(picture, `${number} ${n}`) }));
  const ofFlow = new Map(pictures.map(({ flow, shown }) => [flow, shown]));
  const ofFrame = new Map();
  for (const { data: { charts }, shown } of pictures) {
    for (const mark of charts.flatMap(chart => chart.series.flatMap(series => series.marks ?? []))) {
      if (mark[5] && !ofFrame.has(mark[5])) ofFrame.set(mark[5], [shown, mark[0]]);
    }
  }
  const own = {};
  for (const place of article.querySelectorAll('[data-table]')) {
    own[place.dataset.table] = new Grid(place, data[place.dataset.table]);
  }
  grids.push(...Object.values(own));
  const hosts = article.querySelector('.matrix');
  if (hosts) matrix(hosts, data.hosts);
  if (own.ports) drawPorts(article.querySelector('[data-table=ports]'), data.ports);
  const place = article.querySelector('.pictures');
  if (pictures.length) place.append(make('h2', {}, 'Pictures'), make('p', { class: 'quiet hint' }, 'Drag, or pinch, to zoom in; click twice to see all. Times count from the start of the capture.'), ...pictures.map(({ shown }) => shown.element));
  // The whole capture; the picture of a flow opens at a click. On a page of one flow in trouble, that one is open too.
  pictures.slice(0, pictures.length === 2 ? 2 : 1).forEach(({ shown }) => { shown.element.open = true; });
  for (const frame of article.querySelectorAll('[data-frame]')) {
    if (!ofFrame.has(Number(frame.dataset.frame))) frame.replaceWith(frame.textContent);
  }
  article.addEventListener('click', event => {
    const row = event.target.closest?.('[data-table=episodes] tbody tr');
    if (row) own.episodes.tell(row, data.lines);
    const { flow, frame } = event.target.closest?.('[data-flow], [data-frame]')?.dataset ?? {};
    if (frame) ofFrame.get(Number(frame))[0].reveal(ofFrame.get(Number(frame))[1]);
    else if (flow && ofFlow.has(Number(flow))) ofFlow.get(Number(flow)).reveal();
    else if (flow) own.flows.reveal(Number(flow));
  });
}

document.querySelectorAll('article.capture').forEach(begin);

/** The contents of the page, at its side where there is room: sections of one capture, or the captures. */
function contents() {
  const captures = document.querySelectorAll('article.capture');
  const heads = [...document.querySelectorAll(captures.length > 1 ? 'main h1' : 'main h2')];
  if (heads.length < 4) return;
  const entries = heads.map((head, n) => {
    head.id ||= `part-${n}`;
    return make('li', {}, make('a', { href: `#${head.id}` }, head.textContent));
  });
  document.querySelector('main').before(make('nav', { class: 'contents', 'aria-label': 'Contents' }, make('ol', {}, ...entries)));
}
contents();
const redraw = () => themes.forEach(theme => theme());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
// On paper there is nothing to scroll, and it is white.
const PRINTED = 200;
addEventListener('beforeprint', () => {
  document.documentElement.classList.add('printing');
  grids.forEach(grid => grid.draw(PRINTED));
  redraw();
});
addEventListener('afterprint', () => {
  document.documentElement.classList.remove('printing');
  grids.forEach(grid => grid.show());
  redraw();
});

})();
