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
  return `${n.toFixed(digits)} ${unit}`;
}
const DURATIONS = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9], ['min', 60e9], ['h', 3600e9], ['d', 86400e9]];
const BYTES = [['B', 1], ['kB', 1e3], ['MB', 1e6], ['GB', 1e9], ['TB', 1e12], ['PB', 1e15]];
const RATES = [['bit/s', 1], ['kbit/s', 1e3], ['Mbit/s', 1e6], ['Gbit/s', 1e9], ['Tbit/s', 1e12]];
const FORMAT = {
  text: value => value,
  count: value => value.toLocaleString('en-US'),
  bytes: value => scaled(value, BYTES),
  ns: value => scaled(value, DURATIONS),
  bps: value => scaled(value, RATES),
  bounds: value => String(value),
  flow: value => `#${value}`,
  frame: value => String(value),
};

/** The number in "1.5ms", "10M", "3": units as the cells have them. */
function parsed(text, unit) {
  const match = /^(-?[\d.,]+)\s*([a-zµ/]*)$/i.exec(text);
  if (!match) return NaN;
  const n = Number(match[1].replaceAll(',', ''));
  const units = unit === 'ns' ? DURATIONS : unit === 'bps' ? RATES : BYTES;
  const wanted = match[2].toLowerCase().replace('us', 'µs');
  const known = units.find(([name]) => name.toLowerCase() === wanted || (wanted && unit !== 'ns' && name.toLowerCase().startsWith(wanted)));
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
    this.order = this.rows.map((_, at) => at);
    this.sorted = null;
    this.found = null;
    this.build(place.dataset.caption);
    this.show();
  }

  build(caption) {
    this.count = make('output', { 'aria-live': 'polite' });
    this.query = make('input', { type: 'search', placeholder: 'text, or resent>10', 'aria-label': `Filter: ${caption}`, oninput: () => this.filter() });
    this.heads = this.columns.map((column, at) => make('th', { scope: 'col', title: column.about, 'aria-sort': 'none', class: LEFT.has(column.unit) ? null : 'n' },
      make('button', { type: 'button', onclick: () => this.sort(at) }, column.label)));
    this.body = make('tbody');
    this.table = make('table', { 'aria-rowcount': this.rows.length + 1 },
      make('caption', {}, caption), make('thead', {}, make('tr', { 'aria-rowindex': 1 }, ...this.heads)), this.body);
    this.scroller = make('div', { class: 'scroll grid', tabindex: 0, role: 'region', 'aria-label': caption,
      onscroll: () => this.draw(), onkeydown: event => this.key(event) }, this.table);
    const tools = make('div', { class: 'tools' }, make('label', {}, 'Filter', this.query));
    const trouble = this.columns.findIndex(column => column.label === 'trouble');
    if (trouble >= 0) {
      this.only = make('input', { type: 'checkbox', onchange: () => this.filter() });
      tools.append(make('label', {}, this.only, 'only in trouble'));
      this.trouble = trouble;
    }
    tools.append(this.count);
    this.place.replaceChildren(...(this.rows.length > 8 ? [tools] : []), this.scroller);
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
      if (at < 0) return row => row.some((_, n) => this.text(row, n).toLowerCase().includes(term.toLowerCase()));
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
    if (this.only?.checked) terms.push(row => row[this.trouble] > 0);
    return row => terms.every(term => term(row));
  }

  /** Filters and sorts all rows, and draws those that are seen. */
  show() {
    const matches = this.matcher();
    this.order = this.rows.map((_, at) => at).filter(at => matches(this.rows[at]));
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
    const margin = 20;
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
    this.body.replaceChildren(this.sizer, this.above, ...rows, this.below);
    if (focused) this.body.querySelector(`[data-flow="${focused}"]`)?.focus({ preventScroll: true });
    if (!this.height && rows.length) {
      this.height = rows[0].getBoundingClientRect().height || null;
      if (this.height && this.height !== height) { this.drawn = null; this.draw(all); }
    }
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
  const kinds = [['bytes', 2, FORMAT.bytes], ['lost, at least', 3, FORMAT.count], ['resent', 4, FORMAT.count]];
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

const grids = [];

function begin(article) {
  const data = JSON.parse(article.querySelector('script[type="application/json"]').textContent);
  const own = {};
  for (const place of article.querySelectorAll('[data-table]')) {
    own[place.dataset.table] = new Grid(place, data[place.dataset.table]);
  }
  grids.push(...Object.values(own));
  matrix(article.querySelector('.matrix'), data.hosts);
  article.addEventListener('click', event => {
    const flow = event.target.closest?.('[data-flow]');
    if (flow) own.flows.reveal(Number(flow.dataset.flow));
  });
}

document.querySelectorAll('article.capture').forEach(begin);
// On paper there is nothing to scroll.
const PRINTED = 200;
addEventListener('beforeprint', () => grids.forEach(grid => grid.draw(PRINTED)));
addEventListener('afterprint', () => grids.forEach(grid => grid.show()));

})();
