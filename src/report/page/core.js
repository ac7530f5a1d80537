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

/** A value of a metric. */
function shown(metric, value) {
  if (!(value > 0)) return '–';
  if (metric === 'seconds') {
    const [number, unit] = scaled(value, SECONDS);
    return digits(number, 3) + ' ' + unit;
  }
  if (metric === 'joules') {
    const [number, unit] = scaled(value, JOULES);
    return digits(number, 3) + ' ' + unit;
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
  if (whole < 3600) return Math.floor(whole / 60) + ' min ' + (whole % 60 ? whole % 60 + ' s' : '');
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
    violet: of('violet'), teal: of('teal'), sand: of('sand'),
    list: ['accent', 'warm', 'good', 'violet', 'teal', 'sand', 'bad'].map(of),
  };
}

function faded(colour, share) {
  return colour + Math.round(255 * share).toString(16).padStart(2, '0');
}

// ---- Charts. They are drawn when their card is on the page; `drawn` counts them for tests.
const charts = {placed: 0, drawn: 0, live: [], waiting: []};

function place(canvas, draw) {
  ++charts.placed;
  charts.waiting.push({canvas, draw});
}

/** Draws all charts that were placed; each tells by its canvas that it is done. */
function drawPlaced() {
  for (const {canvas, draw} of charts.waiting.splice(0)) {
    const chart = draw(canvas);
    if (chart) charts.live.push(chart);
    canvas.dataset.drawn = 'yes';
    ++charts.drawn;
  }
  window.drawnAt = performance.now();
  document.body.dataset.charts = charts.drawn + '/' + charts.placed;
}

function forgetCharts() {
  for (const chart of charts.live.splice(0)) chart.destroy();
  charts.waiting = [];
  charts.placed = charts.drawn = 0;
}

/** A card; `body` is nodes, or a function of a canvas that draws a chart in it. */
function card(title, hint, body, options = {}) {
  const head = element('header', {}, element('h3', {}, title), options.far
      ? element('div', {class: 'far'}, options.far) : null);
  const node = element('section', {class: 'card ' + (options.size || '')}, head,
      hint ? element('p', {class: 'hint'}, hint) : null);
  if (typeof body !== 'function') {
    node.append(...[body].flat(Infinity));
    return node;
  }
  const canvas = element('canvas', {role: 'img', 'aria-label': title});
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
function choice(names, chosen, change) {
  const buttons = names.map((name, i) => element('button',
      {type: 'button', 'aria-pressed': String(i === chosen), onclick: () => {
        buttons.forEach((button, j) => button.setAttribute('aria-pressed', String(i === j)));
        change(i);
      }}, name));
  return element('div', {class: 'switch'}, buttons);
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
  const whole = 10 * value / 10 ** Math.floor(Math.log10(value) + 1e-9);
  return Math.abs(whole - Math.round(whole)) < 1e-3 ? text() : null;  // not at the ends of the axis
}

/** A table whose columns sort. columns: {name, text, value, cell(row), sort(row)}. */
function sortedTable(columns, rows, options = {}) {
  const body = element('tbody', {});
  let order = options.sort === undefined ? -1 : options.sort;
  let down = true;
  const heads = columns.map((column, i) => {
    const head = element('th', {class: column.text ? 'text' : '', scope: 'col', title: column.hint});
    if (column.sort) {
      head.append(element('button', {type: 'button', onclick: () => {
        down = order === i ? !down : !column.text;
        order = i;
        fill();
      }}, column.name));
    } else {
      head.append(column.name);
    }
    return head;
  });
  function fill() {
    const list = rows.slice();
    if (order >= 0) {
      const key = columns[order].sort;
      list.sort((a, b) => {
        const x = key(a), y = key(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
    }
    heads.forEach((head, i) => {
      if (i === order) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    body.replaceChildren(...list.map(row => {
      const cells = columns.map(column => element('td', {class: column.text ? 'text' : ''}, column.cell(row)));
      const line = element('tr', {class: options.open ? 'link' : ''}, cells);
      if (options.open) line.addEventListener('click', event => {
        if (!event.target.closest('a, button')) options.open(row);
      });
      return line;
    }));
  }
  fill();
  return element('div', {class: 'scroll'},
      element('table', {}, element('thead', {}, element('tr', {}, heads)), body));
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

function copyButton(text) {
  return element('button', {type: 'button', onclick: event => {
    const button = event.currentTarget;
    const done = () => { button.textContent = 'copied'; };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
  }}, 'copy');
}
