'use strict';
// Helpers of all views: elements, number formats, cards with charts. Texts of stores and models
// enter the page as text (textContent) only.

/** An element. attributes: class, href, title, …, and on… for listeners. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'class') node.className = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

function styled(node, properties) {
  for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value);
  return node;
}

/** Data that the stores lack, as a list; nothing if they lack none. */
function notesOf(report) {
  return report.missing.length ? element('ul', {class: 'notes'}, report.missing.map(text => element('li', {}, text))) : null;
}

const digits = (value, count) =>
    value.toLocaleString('en', {maximumSignificantDigits: count, useGrouping: false});

function scaled(value, units) {
  const size = Math.abs(value);
  for (const [factor, unit] of units) {
    if (size >= factor) return [value / factor, unit];
  }
  const [factor, unit] = units[units.length - 1];
  return [value / factor, unit];
}

const SECONDS = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];
const JOULES = [[1, 'J'], [1e-3, 'mJ'], [1e-6, 'µJ'], [1e-9, 'nJ']];
const COUNTS = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const BYTES = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

/** A value of a metric. count: of its digits. */
function shown(metric, value, count = 3) {
  if (!(value > 0)) return '–';
  if (metric === 'seconds') {
    const [number, unit] = scaled(value, SECONDS);
    return digits(number, count) + ' ' + unit;
  }
  if (metric === 'joules') {
    const [number, unit] = scaled(value, JOULES);
    return digits(number, count) + ' ' + unit;
  }
  if (metric.endsWith('bytes')) return bytesText(value);
  const [number, unit] = scaled(value, COUNTS);
  return digits(number, 4) + ' ' + unit + metric;
}

function bytesText(value) {
  const [number, unit] = scaled(value, BYTES);
  return digits(number, 3) + ' ' + unit;
}

function countText(value) {
  return value.toLocaleString('en');
}

function durationText(seconds) {
  const whole = Math.round(seconds);
  if (seconds < 10) return digits(seconds, 2) + ' s';
  if (whole < 60) return whole + ' s';
  if (whole < 3600) return Math.floor(whole / 60) + ' min' + (whole % 60 ? ' ' + whole % 60 + ' s' : '');
  return Math.floor(whole / 3600) + ' h ' + Math.floor(whole / 60) % 60 + ' min';
}

const percent = (share, count = 2) => digits(100 * share, count) + ' %';
const times = ratio => ratio > 0 ? (ratio >= 100 ? Math.round(ratio) : ratio.toFixed(2)) + '×' : '–';
const dateText = unix => new Date(1000 * unix).toLocaleString('en-GB',
    {year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit'});

/** A target without its list of instruction sets, which is longer than all the rest. */
const shortTarget = text => text.replace(/-mattr=\S+ ?/, '');

/** The colours of the page as it is shown now. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = name => style.getPropertyValue('--' + name).trim();
  return {
    ink: of('ink'), muted: of('muted'), faint: of('faint'), grid: of('grid'), line: of('line'),
    card: of('card'), accent: of('accent'), warm: of('warm'), good: of('good'), bad: of('bad'),
    violet: of('violet'), teal: of('teal'), sand: of('sand'), dark: style.colorScheme === 'dark',
    list: ['accent', 'warm', 'good', 'violet', 'teal', 'sand', 'bad'].map(of),
  };
}

function faded(colour, share) {
  return colour + Math.round(255 * share).toString(16).padStart(2, '0');
}

// ---- State of the controls: sort orders, filters, choices. It survives when a view is drawn again,
// for new data of a running job or another theme.
const controls = new Map();

/** State of one control. key: unique on its view. */
function stateOf(key, initial) {
  const full = (location.hash || '#/') + ' ' + key;
  if (!controls.has(full)) controls.set(full, initial);
  return controls.get(full);
}

// ---- Charts and parts of views. They are drawn when they come near the visible part of the page.
const charts = {placed: 0, drawn: 0, live: new Map(), waiting: new Map()};
const deferred = new Map();  // elements that are filled when they come near

const nearby = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (entry.isIntersecting) complete(entry.target);
  }
}, {rootMargin: '400px'});

/** Fills an element, or draws the chart of a canvas. */
function complete(node) {
  nearby.unobserve(node);
  const fill = deferred.get(node);
  if (fill) {
    deferred.delete(node);
    fill(node);
    return;
  }
  const draw = charts.waiting.get(node);
  if (!draw) return;
  charts.waiting.delete(node);
  const chart = draw(node);
  if (chart) charts.live.set(node, chart);
  node.dataset.drawn = 'yes';
  ++charts.drawn;
  countCharts();
}

function countCharts() {
  document.body.dataset.charts = charts.drawn + '/' + charts.placed;
}

function place(canvas, draw) {
  ++charts.placed;
  charts.waiting.set(canvas, draw);
  nearby.observe(canvas);
}

/** An element whose contents are made when it comes near. */
function later(node, fill) {
  deferred.set(node, fill);
  nearby.observe(node);
  return node;
}

/** Draws everything, for printing and for tests. */
function completeAll() {
  while (deferred.size) [...deferred.keys()].forEach(complete);
  [...charts.waiting.keys()].forEach(complete);
}

function forgetCharts() {
  nearby.disconnect();
  for (const chart of charts.live.values()) chart.destroy();
  charts.live.clear();
  charts.waiting.clear();
  deferred.clear();
  charts.placed = charts.drawn = 0;
}

/** A card; `body` is nodes, or a function of a canvas that draws a chart in it. */
function card(title, hint, body, options = {}) {
  const chart = typeof body === 'function';
  const canvas = chart ? element('canvas', {role: 'img', 'aria-label': title + (hint ? '. ' + hint : '')}) : null;
  const far = [options.far, chart ? saveButtons(canvas, title) : null].flat().filter(Boolean);
  const head = element('header', {}, element('h3', {}, title),
      far.length ? element('div', {class: 'far'}, far) : null);
  const node = element('section', {class: 'card ' + (options.size || '')}, head,
      hint ? element('p', {class: 'hint'}, hint) : null);
  if (!chart) {
    node.append(...[body].flat(Infinity).filter(Boolean));
    return node;
  }
  node.append(element('div', {class: 'plot ' + (options.plot || '')}, canvas));
  place(canvas, body);
  return node;
}

const none = text => element('p', {class: 'none'}, text);

function tile(name, figure, more, kind) {
  return element('div', {class: 'tile'}, element('div', {class: 'name'}, name),
      element('div', {class: 'figure ' + (kind || '')}, figure),
      element('div', {class: 'more'}, more || '\u00a0'));
}

/** One of several, as buttons. */
function choice(label, names, chosen, change) {
  const buttons = names.map((name, i) => element('button',
      {type: 'button', 'aria-pressed': String(i === chosen), 'data-focus': label + name, onclick: () => {
        buttons.forEach((button, j) => button.setAttribute('aria-pressed', String(i === j)));
        change(i);
      }}, name));
  return element('div', {class: 'switch', role: 'group', 'aria-label': label}, buttons);
}

function picker(label, names, chosen, change, attributes = {}) {
  const select = element('select', Object.assign({'aria-label': label, 'data-focus': label,
    onchange: () => change(select.selectedIndex)}, attributes), names.map(name => element('option', {}, name)));
  select.selectedIndex = chosen;
  return select;
}

/** A part that scrolls sideways where it is too wide. */
function scrollBox(label, ...nodes) {
  return element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, nodes);
}

/** Options that all charts share. scales: of Chart.js; more: what else differs. */
function chartOptions(scales, more = {}) {
  const c = colours();
  for (const scale of Object.values(scales)) {
    scale.grid = Object.assign({color: c.grid, borderColor: c.line, tickColor: c.grid, tickLength: 4},
        scale.grid);
    scale.ticks = Object.assign({color: c.muted, font: {size: 11.5}, maxRotation: 0, autoSkipPadding: 14},
        scale.ticks);
    if (scale.title) {
      scale.title = Object.assign({display: true, color: c.muted, font: {size: 11.5}}, scale.title);
    }
  }
  const plugins = Object.assign({
    legend: {
      align: 'start',
      labels: {color: c.muted, boxWidth: 9, boxHeight: 9, font: {size: 12}, padding: 12, usePointStyle: true},
    },
    tooltip: {
      backgroundColor: c.ink, titleColor: c.card, bodyColor: c.card, padding: 9, cornerRadius: 7,
      displayColors: false, titleFont: {size: 12}, bodyFont: {size: 12},
    },
  }, more.plugins);
  return Object.assign({
    responsive: true, maintainAspectRatio: false, animation: false, normalized: true,
    interaction: {mode: 'nearest', intersect: false}, scales,
  }, more, {plugins});
}

/** A logarithmic axis whose ticks are values of a metric. */
function valueAxis(metric, title) {
  return {
    type: 'logarithmic', title: {text: title},
    ticks: {callback: (value, i, ticks) => tickOfDecade(value, ticks, () => shown(metric, value))},
  };
}

/** Ticks at 1, 2 and 5 of each decade, fewer where they would be many. */
function tickOfDecade(value, ticks, text) {
  const lead = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9) * 10) / 10;
  const decades = ticks.length > 1
      ? Math.log10(ticks[ticks.length - 1].value / ticks[0].value) : 1;
  if (decades > 3.2) return lead === 1 ? text() : null;
  if (decades > 1) return lead === 1 || lead === 2 || lead === 5 ? text() : null;
  if (decades > .5) return [1, 2, 3, 5, 7].includes(lead) ? text() : null;
  const whole = 10 * value / 10 ** Math.floor(Math.log10(value) + 1e-9);
  return Math.abs(whole - Math.round(whole)) < 1e-3 ? text() : null;  // not at the ends of the axis
}

/**
 * A table whose columns sort. columns: {name, text, hint, wrap, cell(row), sort(row)}. options: label,
 * sort (the first column to sort by), open (of a row), stacked (rows become blocks on a phone).
 */
function sortedTable(columns, rows, options = {}) {
  const state = stateOf('table ' + options.label, {order: options.sort === undefined ? -1 : options.sort, down: true});
  const body = element('tbody', {});
  const heads = columns.map((column, i) => {
    const head = element('th', {class: column.text ? 'text' : '', scope: 'col', title: column.hint});
    if (column.sort) {
      head.append(element('button', {type: 'button', 'data-focus': options.label + column.name, onclick: () => {
        state.down = state.order === i ? !state.down : !column.text;
        state.order = i;
        fill();
      }}, column.name));
    } else {
      head.append(column.name);
    }
    return head;
  });
  function fill() {
    const list = rows.slice();
    if (state.order >= 0) sortBy(list, columns[state.order].sort, state.down);
    markOrder(heads, state);
    body.replaceChildren(...list.map(row => tableRow(columns, row, options.open)));
  }
  fill();
  const table = element('table', {class: options.stacked ? 'stacked' : ''}, element('thead', {}, element('tr', {}, heads)), body);
  return scrollBox(options.label, table);
}

function sortBy(list, key, down) {
  const sign = down ? -1 : 1;
  list.sort((a, b) => {
    const x = key(a), y = key(b);
    return (x < y ? -1 : x > y ? 1 : 0) * sign;
  });
}

function markOrder(heads, state) {
  heads.forEach((head, i) => {
    if (i === state.order) head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  });
}

function tableRow(columns, row, open) {
  const cells = columns.map(column => element('td',
      {class: [column.text ? 'text' : '', column.wrap ? 'wrap' : ''].join(' ').trim(), 'data-name': column.name}, column.cell(row)));
  const line = element('tr', {class: open ? 'link' : ''}, cells);
  if (open) line.addEventListener('click', event => {
    if (!event.target.closest('a, button') && !String(getSelection())) open(row);
  });
  return line;
}

function bar(share, colour) {
  return element('span', {class: 'bar'}, styled(element('i', {}),
      {width: Math.max(0, Math.min(100, 100 * share)) + '%', background: colour || 'var(--accent)'}));
}

function meter(name, share, text, colour) {
  return element('div', {class: 'meter'}, element('span', {}, name),
      element('span', {class: 'track'}, styled(element('i', {}),
          {width: Math.max(0, Math.min(100, 100 * share)) + '%', background: `var(--${colour})`})),
      element('span', {class: 'value'}, text));
}

/** Copies a text; also where the clipboard interface is not available. */
function copyText(text) {
  const selected = () => {
    const area = element('textarea', {class: 'unseen', readonly: true});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error('not copied'));
  };
  return navigator.clipboard ? navigator.clipboard.writeText(text).catch(selected) : selected();
}

function copyButton(text, what) {
  return element('button', {type: 'button', class: 'plain', 'aria-label': 'Copy ' + what, onclick: event => {
    const button = event.currentTarget;
    const say = word => {
      button.textContent = word;
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    };
    copyText(text).then(() => say('Copied'), () => say('Select the text to copy it'));
    button.focus();
  }}, 'Copy');
}

/** A command with a button that copies it. */
function command(text, what) {
  return element('div', {class: 'command'}, element('code', {}, text), copyButton(text, what || 'the command'));
}

/** A text as a POSIX shell reads it. */
function quoted(text) {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}

// ---- Configs
/** The knobs of a config as pairs of name and text; nothing for another text. */
function knobsOf(text) {
  try {
    return Object.entries(JSON.parse(text).values).map(([name, value]) =>
        [name, typeof value === 'string' ? value : JSON.stringify(value)]);
  } catch (error) {
    return [];
  }
}

const pairsText = pairs => pairs.map(([name, value]) => name + '=' + value).join(' ');

/** A config as text: knob=value. */
function configText(text) {
  const pairs = knobsOf(text);
  return pairs.length ? pairsText(pairs) : text;
}

/** Knobs, each with its value. */
function knobList(pairs) {
  return element('span', {class: 'knobs'}, pairs.map(([name, value]) =>
      [element('span', {class: 'knob'}, element('span', {}, name + '='), value), ' ']));
}

function configNodes(template, text) {
  const pairs = knobsOf(text);
  return [element('span', {class: 'template'}, template), ' ', pairs.length ? knobList(pairs) : element('code', {}, text)];
}
