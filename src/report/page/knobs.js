// Charts of knobs: parallel coordinates, what each knob explains, and a slice along two knobs.

function importanceChart(canvas, table) {
  const c = colours();
  const rows = table.importance.filter(row => row.knobs.length === 1 || row.share > .01).slice(0, 14);
  canvas.parentNode.style.height = 44 + 26 * Math.max(2, rows.length) + 'px';
  return new Chart(canvas, {
    type: 'bar',
    data: {labels: rows.map(row => row.knobs.join(' × ')), datasets: [{
      data: rows.map(row => 100 * row.share), borderRadius: 3, barPercentage: .7, categoryPercentage: 1,
      backgroundColor: rows.map(row => row.knobs.length > 1 ? c.violet : c.accent)}]},
    options: chartOptions({
      x: {min: 0, suggestedMax: 10, title: {text: 'share of the variance of log(time)'}, ticks: {callback: value => value + ' %'}},
      y: {grid: {display: false}, ticks: {color: c.ink, autoSkip: false}}},
    {indexAxis: 'y', plugins: {legend: {display: false},
      tooltip: {callbacks: {label: item => digits(item.parsed.x, 2) + ' %'}}}}),
  });
}

// ---- Slice along two knobs
const SLICE_MODES = ['Fastest', 'Median', 'Others as in the best'];

/** Values of the trials of one template at each pair of values of two knobs. */
function sliceCells(task, knobs, x, y, mode) {
  const table = task.trial_table, trials = [];
  let best = -1;
  for (let i = 0; i < table.trial.length; ++i) {
    if (table.knobs[i] !== knobs || table.attempt[i] !== 0 || !(table.value[i] > 0)) continue;
    trials.push(i);
    if (best < 0 || table.value[i] < table.value[best]) best = i;
  }
  const cells = new Map(), width = task.knobs[knobs].axes[x].values.length;
  const like = i => table.levels[i].every((level, k) => k === x || k === y || level === table.levels[best][k]);
  for (const i of trials) {
    if (mode === 2 && !like(i)) continue;
    const key = table.levels[i][y] * width + table.levels[i][x];
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(table.value[i]);
  }
  for (const [key, values] of cells) {
    values.sort((a, b) => a - b);
    cells.set(key, {value: mode === 1 ? values[Math.floor((values.length - 1) / 2)] : values[0], trials: values.length});
  }
  return {cells, width, best: best < 0 ? -1 : table.levels[best][y] * width + table.levels[best][x]};
}

const valueText = text => text.replace(/^"|"$/g, '');

function sliceChart(canvas, task, state, report) {
  const left = 96, top = 8, bottom = 44, right = 14;
  let over = -1;
  const plan = (width, height) => {
    const axes = task.knobs[state.knobs].axes, x = axes[state.x], y = axes[state.y];
    return {x, y, cellWidth: (width - left - right) / x.values.length, cellHeight: (height - top - bottom) / y.values.length};
  };
  const slice = () => sliceCells(task, state.knobs, state.x, state.y, state.mode);
  let now = slice();
  function paint(g, width, height) {
    const c = colours(), p = plan(width, height);
    const logs = [...now.cells.values()].map(cell => Math.log(cell.value)).sort((a, b) => a - b);
    // The slowest tenth shares one colour, so that one outlier does not hide the other differences.
    const low = logs[0], high = logs[Math.floor(.9 * (logs.length - 1))];
    const speed = cell => high > low ? Math.max(0, (high - Math.log(cell.value)) / (high - low)) : 1;
    g.font = '11px sans-serif';
    g.textBaseline = 'middle';
    g.fillStyle = faded(c.grid, .5);
    g.fillRect(left, top, width - left - right, height - top - bottom);
    for (const [key, cell] of now.cells) {
      const column = key % now.width, row = Math.floor(key / now.width);
      const x = left + column * p.cellWidth, y = top + (p.y.values.length - 1 - row) * p.cellHeight;
      const share = speed(cell);
      g.fillStyle = share > .5 ? mixed(c.sand, c.warm, 2 * share - 1) : mixed(c.accent, c.sand, 2 * share);
      g.globalAlpha = .35 + .65 * share;
      g.fillRect(x + .5, y + .5, Math.max(1, p.cellWidth - 1), Math.max(1, p.cellHeight - 1));
      g.globalAlpha = 1;
      if (key === now.best || key === over) {
        g.strokeStyle = c.ink;
        g.lineWidth = key === now.best ? 2 : 1;
        g.strokeRect(x + 1, y + 1, p.cellWidth - 2, p.cellHeight - 2);
      }
      const text = shown(task.metric, cell.value);
      g.textAlign = 'center';
      if (p.cellWidth > g.measureText(text).width + 6 && p.cellHeight > 14) {
        g.fillStyle = share > .5 ? (c.dark ? '#1c1409' : '#ffffff') : c.ink;
        g.fillText(text, x + p.cellWidth / 2, y + p.cellHeight / 2);
      }
    }
    g.fillStyle = c.muted;
    g.textAlign = 'right';
    const rows = Math.ceil(p.y.values.length / Math.max(1, Math.floor((height - top - bottom) / 14)));
    p.y.values.forEach((value, i) => {
      if (i % rows === 0) g.fillText(fitted(g, valueText(value), left - 26), left - 6, top + (p.y.values.length - .5 - i) * p.cellHeight);
    });
    g.textAlign = 'center';
    const widest = Math.max(...p.x.values.map(value => g.measureText(valueText(value)).width)) + 10;
    const columns = Math.ceil(widest / p.cellWidth);
    p.x.values.forEach((value, i) => {
      if (i % columns === 0) g.fillText(valueText(value), left + (i + .5) * p.cellWidth, height - bottom + 12);
    });
    g.fillStyle = c.ink;
    g.fillText(p.x.name, left + (width - left - right) / 2, height - 12);
    g.save();
    g.translate(8, top + (height - top - bottom) / 2);
    g.rotate(-Math.PI / 2);
    g.fillText(p.y.name, 0, 0);
    g.restore();
  }
  const kept = redrawn(canvas, paint);
  const say = () => {
    const p = plan(1, 1), cell = now.cells.get(over);
    report.textContent = cell === undefined
        ? `${p.y.name} upwards, ${p.x.name} to the right; the frame marks the best config; grey cells were not measured`
        : `${p.x.name}=${valueText(p.x.values[over % now.width])}, ${p.y.name}=${valueText(p.y.values[Math.floor(over / now.width)])}: ` +
          `${shown(task.metric, cell.value)}, ${countText(cell.trials)} ${cell.trials === 1 ? 'trial' : 'trials'}`;
  };
  canvas.onpointermove = event => {
    const box = canvas.getBoundingClientRect(), p = plan(box.width, box.height);
    const column = Math.floor((event.clientX - box.left - left) / p.cellWidth);
    const row = p.y.values.length - 1 - Math.floor((event.clientY - box.top - top) / p.cellHeight);
    const inside = column >= 0 && column < p.x.values.length && row >= 0 && row < p.y.values.length;
    const key = inside ? row * now.width + column : -1;
    if (key === over) return;
    over = key;
    kept.draw();
    say();
  };
  canvas.onpointerleave = () => {
    over = -1;
    kept.draw();
    say();
  };
  say();
  return {destroy: kept.destroy, paint, show: () => {
    now = slice();
    over = -1;
    kept.draw();
    say();
  }};
}

/** The two knobs that explain most, of the template with the most trials. */
function sliceStart(task) {
  const usable = task.knobs.map((table, i) => i)
      .filter(i => task.knobs[i].trials > 1 && task.knobs[i].axes.filter(axis => axis.values.length > 1).length > 1);
  if (!usable.length) return null;
  return Object.assign({usable, knobs: usable[0], mode: 0}, slicePair(task.knobs[usable[0]]));
}

function slicePair(table) {
  const varied = table.axes.map((axis, k) => k).filter(k => table.axes[k].values.length > 1);
  const ranked = table.importance.filter(row => row.knobs.length === 1)
      .map(row => table.axes.findIndex(axis => axis.name === row.knobs[0])).filter(k => varied.includes(k));
  const [x, y] = [...new Set([...ranked, ...varied])];
  return {x, y};
}

function sliceCard(task, size) {
  const start = sliceStart(task);
  if (!start) return null;
  const state = stateOf('slice', start);
  if (!start.usable.includes(state.knobs)) Object.assign(state, start);
  let chart = null;
  const readout = element('p', {class: 'hint', role: 'status'});
  const axes = element('span', {class: 'controls'});
  const redraw = () => { if (chart) chart.show(); };
  function fillAxes() {
    const names = task.knobs[state.knobs].axes.map(axis => axis.name);
    const pick = (label, which, other) => element('label', {}, label, picker(label + ' knob', names, state[which], k => {
      if (k === state[other]) state[other] = state[which];
      state[which] = k;
      fillAxes();
      redraw();
    }));
    axes.replaceChildren(pick('across', 'x', 'y'), pick('up', 'y', 'x'));
  }
  fillAxes();
  const template = start.usable.length > 1 ? picker('Template', start.usable.map(i => task.knobs[i].template), start.usable.indexOf(state.knobs), i => {
    state.knobs = start.usable[i];
    Object.assign(state, slicePair(task.knobs[state.knobs]));
    fillAxes();
    redraw();
  }) : null;
  const node = card('Slice along two knobs', null, canvas => {
    chart = sliceChart(canvas, task, state, readout);
    return chart;
  }, {size, plot: 'tall'});
  node.querySelector('.plot').before(element('div', {class: 'controls'}, template, axes,
      choice('Value', SLICE_MODES, state.mode, mode => {
        state.mode = mode;
        redraw();
      })));
  node.append(readout);
  return node;
}

function knobCards(task) {
  const tables = task.knobs.filter(table => table.rows.length > 1 && table.axes.length);
  if (!tables.length) return [card('Knobs', null, none('Too few trials of one template to compare its knobs.'), {size: 'wide'})];
  const state = stateOf('coordinates', {chosen: 0});
  const chosen = tables[state.chosen] || tables[0];
  let coordinates = null;
  const pick = tables.length > 1 ? picker('Template', tables.map(table => table.template + ' (' + countText(table.trials) + ')'), tables.indexOf(chosen), i => {
    state.chosen = i;
    if (coordinates) coordinates.show(tables[i]);
  }) : element('span', {class: 'tag'}, tables[0].template);
  const lines = card('Knobs of every trial', 'Each line is a trial; the faster, the warmer its colour. Point at a value to see only its trials', canvas => {
    coordinates = parallelCoordinates(canvas, chosen, task.metric);
    return coordinates;
  }, {size: 'wide', plot: 'tall', far: pick});
  // Axes keep a readable width; a phone scrolls.
  const plot = lines.querySelector('.plot');
  const scroll = scrollBox('Knobs of every trial');
  plot.replaceWith(scroll);
  scroll.append(plot);
  plot.style.minWidth = 110 + 62 * Math.max(...tables.map(table => table.axes.length)) + 'px';
  const explained = tables.find(one => one.importance.length);
  return [lines, sliceCard(task, explained ? 'two-thirds' : 'wide'), explained ? card('Effect of the knobs', explained.template + ', ' + countText(explained.trials) +
      ' trials; × is the effect of two knobs beyond the sum of both', canvas => importanceChart(canvas, explained), {size: 'third', plot: 'free'}) : null].filter(Boolean);
}
