// One task: progress of the search, effect of the knobs, quality of the model, winner.

const unitX = {trial: 'trial', seconds: 'time since the start of the job'};

function searchChart(canvas, task, by) {
  const c = colours(), p = task.points;
  const at = i => by === 'trial' ? p.trial[i] : p.seconds[i];
  const ok = [], predicted = [], failed = [], noisy = [], slow = [];
  const values = p.value.filter(value => value > 0).sort((a, b) => a - b);
  const least = values.length ? values[0] : 1;
  // A few trials that are many times slower would compress all others; they are drawn at the edge.
  const most = values.length ? values[values.length - 1] : 1;
  const usual = values.length ? 1.4 * values[Math.floor(.95 * (values.length - 1))] : 1;
  const top = most > 1.6 * usual ? usual : most;
  p.value.forEach((value, i) => {
    if (value > top) slow.push({x: at(i), y: top, i, value});
    else if (value > 0) (p.disturbed[i] ? noisy : ok).push({x: at(i), y: value, i});
    else failed.push({x: at(i), y: top * 1.25, i});
    if (p.predicted[i] > least / 1.1 && p.predicted[i] < top) predicted.push({x: at(i), y: p.predicted[i], i});
  });
  const steps = task.best_so_far;
  const last = by === 'trial' ? task.trials : Math.max(0, ...p.seconds.slice(-1), ...steps.seconds.slice(-1));
  const line = steps.value.map((y, i) => ({x: by === 'trial' ? steps.trial[i] : steps.seconds[i], y}));
  if (line.length) line.push({x: last, y: line[line.length - 1].y});
  const radius = p.value.length < 60 ? 4 : p.value.length < 300 ? 2.8 : 2.2;
  const dots = (label, data, colour, style) => Object.assign({type: 'scatter', label, data,
    backgroundColor: faded(colour, .5), borderColor: colour, borderWidth: 0, pointRadius: radius, pointStyle: 'circle'}, style);
  const sets = [
    {type: 'line', label: 'best so far', data: line, stepped: 'before', borderColor: c.warm, backgroundColor: c.warm,
      borderWidth: 2, pointRadius: 0, pointStyle: 'rectRounded'},
    dots('trial', ok, c.accent)];
  if (noisy.length) sets.push(dots('noisy', noisy, c.sand));
  if (predicted.length) sets.push(dots('predicted', predicted, c.violet, {backgroundColor: 'transparent', borderWidth: .9}));
  if (slow.length) sets.push(dots('slower', slow, c.muted, {pointStyle: 'triangle', pointRadius: 3.4}));
  if (failed.length) sets.push(dots('failed', failed, c.bad, {pointStyle: 'crossRot', borderWidth: 1.1, pointRadius: 3}));
  return new Chart(canvas, {
    data: {datasets: sets},
    options: chartOptions({
      x: {type: 'linear', min: 0, max: last || 1, title: {text: unitX[by]},
        ticks: {callback: value => by === 'trial' ? countText(value) : durationText(value)}},
      y: Object.assign(valueAxis(task.metric, ''), {min: least / 1.15, max: top * (failed.length ? 1.5 : 1.1)})},
    {plugins: {tooltip: {callbacks: {label: item => {
      const x = by === 'trial' ? 'trial ' + item.parsed.x : durationText(item.parsed.x);
      const i = item.raw.i;
      const name = i === undefined ? '' : ' · ' + task.templates[p.template[i]];
      return item.dataset.label + (item.dataset.label === 'failed' ? '' : ' ' + shown(task.metric, item.raw.value || item.parsed.y)) + ', ' + x + name;
    }}}}}),
  });
}

/** A chart over trials or over time; draw: of a canvas and 'trial' or 'seconds'. */
function chartOverTrialsOrTime(title, hint, draw, options) {
  const state = stateOf(title, {time: options.time ? 1 : 0});
  const by = () => state.time ? 'seconds' : 'trial';
  let chart = null;
  return card(title, hint, canvas => {
    chart = draw(canvas, by());
    return {destroy: () => chart.destroy(), current: () => chart};
  }, Object.assign({far: choice(title + ' over', ['trials', 'time'], state.time, i => {
    state.time = i;
    if (!chart) return;
    const canvas = chart.canvas;
    chart.destroy();
    chart = draw(canvas, by());
  })}, options));
}

function searchCard(task) {
  const node = chartOverTrialsOrTime('Search', null, (canvas, by) => searchChart(canvas, task, by), {size: 'two-thirds', plot: 'tall'});
  if (task.points.trial.length < task.trials) {
    node.querySelector('header').after(element('p', {class: 'hint'},
        `The line is exact. The dots are ${countText(task.points.trial.length)} of ${countText(task.trials)} trials`));
  }
  return node;
}

function rooflineChart(canvas, task) {
  const c = colours(), roof = task.roofline;
  const intensity = roof.operations / roof.bytes;
  const rate = value => roof.operations / value;
  const peak = roof.peak_operations, far = roof.far_bytes;
  const near = roof.near_bytes || far;  // a VTA has one memory
  const ridge = Math.max(peak / far, peak / near, intensity);
  const low = Math.min(peak / near, peak / far, intensity) / 8, high = ridge * 8;
  const roofOf = bandwidth => [low, peak / bandwidth, high].map(x => ({x, y: Math.min(peak, x * bandwidth)}));
  const points = task.points.value.filter(value => value > 0).map(value => ({x: intensity, y: rate(value)}));
  const slowest = points.length ? roof.operations / points.reduce((a, b) => Math.min(a, b.y), Infinity) : task.default;
  const one = (label, value, colour, style) => ({type: 'scatter', label, data: value > 0 ? [{x: intensity, y: rate(value)}] : [],
    backgroundColor: colour, borderColor: c.card, borderWidth: 1.5, pointRadius: 6, pointStyle: style});
  const line = (label, bandwidth, dash) => ({type: 'line', label, data: roofOf(bandwidth), borderColor: c.muted,
    backgroundColor: c.muted, borderWidth: 1.6, borderDash: dash, pointRadius: 0, pointStyle: 'line'});
  const perSecond = value => { const [n, unit] = scaled(value, COUNTS); return digits(n, 3) + ' ' + unit + (roof.per === 'cycle' ? 'op/cycle' : roof.int8 ? 'op/s' : 'FLOP/s'); };
  return new Chart(canvas, {
    data: {datasets: [
      one('best', task.best, c.warm, 'rectRot'), one('default', task.default, c.violet, 'triangle'),
      {type: 'scatter', label: 'trials', data: points, backgroundColor: faded(c.accent, .3), borderWidth: 0, pointRadius: 2.6, pointStyle: 'circle'},
      ...(roof.near_bytes > 0 ? [line('near memory', near, []), line('far memory', far, [5, 4])] : [line('memory', far, [])])]},
    options: chartOptions({
      x: {type: 'logarithmic', min: low, max: high, title: {text: 'operations per byte'},
        ticks: {callback: (value, i, ticks) => tickOfDecade(value, ticks, () => digits(value, 3))}},
      y: {type: 'logarithmic', min: Math.min(low * far, rate(slowest)) / 1.5, max: peak * 1.6, title: {text: ''},
        ticks: {callback: (value, i, ticks) => tickOfDecade(value, ticks, () => perSecond(value))}}},
    {plugins: {tooltip: {callbacks: {label: item => item.dataset.label + ' ' + perSecond(item.parsed.y)}}}}),
  });
}

function tauChart(canvas, ranking) {
  const c = colours();
  return new Chart(canvas, {
    type: 'line',
    data: {datasets: [{label: 'tau', data: ranking.windows.map(w => ({x: (w.first + w.last) / 2, y: w.tau, w})),
      borderColor: c.accent, backgroundColor: c.accent, borderWidth: 2, tension: .25,
      pointRadius: ranking.windows.length < 30 ? 3 : 0}]},
    options: chartOptions({
      x: {type: 'linear', min: 0, max: ranking.trials, title: {text: 'trial with a prediction'}, ticks: {callback: value => countText(value)}},
      y: {min: -1, max: 1, ticks: {stepSize: .5}, grid: {color: item => item.tick.value === 0 ? c.faint : c.grid}}},
    {plugins: {legend: {display: false}, tooltip: {callbacks: {title: () => '', label: item =>
      'tau ' + item.parsed.y.toFixed(2) + ' in trials ' + item.raw.w.first + ' to ' + item.raw.w.last}}}}),
  });
}

function calibrationChart(canvas, task) {
  const c = colours(), bins = task.ranking.calibration;
  const ends = bins.flatMap(bin => [bin.predicted, bin.low, bin.high]);
  const low = Math.min(...ends) / 1.15, high = Math.max(...ends) * 1.15;
  const ranges = bins.map((bin, i) => ({type: 'line', label: 'middle half', data: [{x: bin.predicted, y: bin.low}, {x: bin.predicted, y: bin.high}],
    borderColor: faded(c.accent, .45), borderWidth: 4, pointRadius: 0, hidden: false, tooltip: i}));
  const axis = text => Object.assign(valueAxis(task.metric, text), {min: low, max: high});
  return new Chart(canvas, {
    data: {datasets: [
      {type: 'scatter', label: 'median', data: bins.map(bin => ({x: bin.predicted, y: bin.measured, bin})), backgroundColor: c.accent, pointRadius: 4.5},
      {type: 'line', label: 'as predicted', data: [{x: low, y: low}, {x: high, y: high}], borderColor: c.faint, borderDash: [5, 4], borderWidth: 1.3, pointRadius: 0},
      ...ranges]},
    options: chartOptions({x: axis('predicted'), y: axis('measured')}, {
      plugins: {legend: {display: false}, tooltip: {filter: item => item.raw.bin !== undefined, callbacks: {label: item => {
        const bin = item.raw.bin;
        return `predicted ${shown(task.metric, bin.predicted)}, measured ${shown(task.metric, bin.measured)} (${bin.trials} trials)`;
      }}}}}),
  });
}

/** A dot with its interval on a scale from low to high. */
function intervalBar(low, at, high, from, to, kind, mark) {
  const place = value => Math.max(0, Math.min(100, 100 * (value - from) / (to - from || 1)));
  return element('div', {class: 'interval ' + (kind || '')},
      mark === undefined ? null : styled(element('span', {class: 'one'}), {left: place(mark) + '%'}),
      styled(element('span', {class: 'span'}), {left: place(low) + '%', width: Math.max(.5, place(high) - place(low)) + '%'}),
      styled(element('span', {class: 'dot'}), {left: place(at) + '%'}));
}

function finalistTable(task) {
  const ends = task.finalists.flatMap(row => [row.value * (1 - row.noise), row.value * (1 + row.noise)]);
  const from = Math.min(...ends), to = Math.max(...ends);
  return sortedTable([
    {name: '', text: true, cell: row => [row.winner ? element('span', {class: 'tag good'}, 'winner') : null,
      row.tied ? element('span', {class: 'tag'}, 'tie') : null, row.default ? element('span', {class: 'tag'}, 'default') : null,
      row.disturbed ? element('span', {class: 'tag warm'}, 'noisy') : null]},
    {name: 'Value', sort: row => row.value, cell: row => [shown(task.metric, row.value), ' ± ', percent(row.noise)]},
    {name: '95 % interval', text: true, cell: row => intervalBar(row.value * (1 - row.noise), row.value, row.value * (1 + row.noise), from, to,
        row.winner ? 'good' : row.tied ? '' : 'same')},
    {name: 'Config', text: true, wrap: true, cell: row => configNodes(row.template, row.config)},
  ], task.finalists, {label: 'Finalists', stacked: true});
}

function frontTable(task) {
  return sortedTable([
    ...task.metrics.map(metric => ({name: metric, sort: row => row.values[metric], cell: row => shown(metric, row.values[metric])})),
    {name: 'Config', text: true, wrap: true, cell: row => configNodes(row.template, row.config)},
  ], task.front, {label: 'Pareto front', stacked: true});
}

function listing(label, text, first, last, other) {
  const lines = text.replace(/\n$/, '').split('\n');
  const known = other ? new Set(other.split('\n').map(line => line.trim())) : null;
  return element('pre', {tabindex: '0', role: 'region', 'aria-label': label}, lines.map((line, i) => {
    const hot = first > 0 && i + 1 >= first && i + 1 <= last;
    const differs = known && line.trim() && !known.has(line.trim());
    return element('span', {class: hot ? 'hot' : differs ? 'differs' : ''}, line || ' ');
  }));
}

function codeCards(task) {
  const cards = [];
  if (task.code.length) {
    cards.push(card('Loops', task.code.length > 1 ? 'Marked lines differ between the two' : null,
        element('div', {class: 'sides' + (task.code.length > 1 ? '' : ' one')}, task.code.map((code, i) =>
            element('div', {class: 'listing'},
                element('h4', {}, (code.title === 'winner' ? 'Winner' : 'Runner-up') + ', ' + shown(task.metric, code.value)),
                element('div', {class: 'config'}, configNodes(code.template, code.config)),
                listing('Loops of the ' + code.title, code.loops, 0, 0, task.code.length > 1 ? task.code[1 - i].loops : null)))), {size: 'wide'}));
  }
  const compiled = task.code.find(code => code.assembly);
  if (compiled) {
    const [first, last] = compiled.hot;
    const view = listing('Assembly of the winner', compiled.assembly, first, last, null);
    cards.push(card('Assembly of the winner', first > 0 ? `The hot loop is marked: lines ${first} to ${last}` : 'The code has no loop: it is unrolled',
        view, {size: 'wide'}));
    requestAnimationFrame(() => {
      const hot = view.querySelector('.hot');
      if (hot) view.scrollTop = hot.offsetTop - view.offsetTop - 60;
    });
  }
  return cards;
}

function outcomeStrip(task) {
  const colour = {ok: 'good', invalid: 'faint', build_failed: 'warm', build_timeout: 'sand', run_failed: 'bad', run_timeout: 'violet', wrong_result: 'bad', device_lost: 'ink'};
  const rows = Object.entries(task.outcomes).sort((a, b) => b[1] - a[1]);
  return [element('div', {class: 'segments'}, rows.map(([name, count]) =>
      styled(element('i', {title: outcomeName(name)}), {flex: String(count), background: `var(--${colour[name] || 'muted'})`}))),
    element('div', {class: 'legend'}, rows.map(([name, count]) =>
        styled(element('span', {}, `${outcomeName(name)} ${countText(count)}`), {'--swatch': `var(--${colour[name] || 'muted'})`})))];
}

function taskView(report, jobIndex, taskIndex) {
  const job = report.jobs[jobIndex], task = job.tasks[taskIndex];
  const link = i => `#/job/${jobIndex}/task/${i}`;
  const roof = task.roofline, ranking = task.ranking;
  const bound = roof.bound > 0 && task.best > 0 ? roof.bound / task.best : 0;
  const gain = gainOf(task);
  const cards = [searchCard(task),
    card('Roofline', roof.peak_operations > 0 && roof.operations > 0 ? 'Operations and bytes of the task; each tensor counts once' : null,
        roof.peak_operations > 0 && roof.operations > 0 && task.ok > 0 ? canvas => rooflineChart(canvas, task)
            : none(roof.operations > 0 ? 'The peaks of the device are unknown: ' + roof.peaks + '.' : 'This task has no arithmetic.'),
        {size: 'third', plot: 'tall'}),
    ...knobCards(task)];
  if (ranking.windows.length) {
    cards.push(card("Ranking by the cost model", "Kendall's tau of scores and measured values: 1 is the same order, 0 is chance",
        canvas => tauChart(canvas, ranking), {size: ranking.calibration.length > 1 ? '' : 'wide'}));
  } else {
    cards.push(card('Ranking by the cost model', null, none(ranking.trials ? 'Too few trials with a prediction.' : 'No predictions are stored.'), {size: 'wide'}));
  }
  if (ranking.calibration.length > 1) {
    cards.push(card('Predicted and measured', 'The time that a score predicts is computed from the trials before it', canvas => calibrationChart(canvas, task)));
  }
  if (task.finalists.length) {
    cards.push(card(task.raced ? 'Final race' : 'Fastest trials', task.raced
        ? (task.ties.length ? 'Differences between tied configs and the winner are below the resolution of the device' : 'The finalists were measured in turns until the differences were significant')
        : 'No race was run', finalistTable(task), {size: 'wide'}));
  }
  if (task.front.length) {
    cards.push(card('Pareto front', 'Verified configs that no other config beats in all metrics of the job', frontTable(task), {size: 'wide'}));
  }
  if (task.vta) cards.push(...vtaCards(task));
  if (Object.keys(task.gpu).length) cards.push(...gpuCards(task));
  cards.push(...codeCards(task));
  cards.push(card('Outcomes', null, outcomeStrip(task), {size: 'wide'}));
  const trials = card('Trials', null, null, {size: 'wide'});
  const table = element('div', {class: 'deferred'});
  trials.append(later(table, () => table.append(...trialTable(report, jobIndex, [task]).filter(Boolean))));
  cards.push(trials);
  return element('div', {class: 'task-page'},
      element('div', {class: 'crumbs'}, element('a', {href: jobIndex ? '#/job/' + jobIndex : '#/'}, '← Overview'),
          element('span', {class: 'far'}, taskIndex > 0 ? element('a', {href: link(taskIndex - 1)}, 'Previous') : null,
              job.tasks.length > 1 ? picker('Task', job.tasks.map((one, i) => `${i + 1} of ${job.tasks.length}: ${one.name}`), taskIndex,
                  i => { location.hash = link(i); }) : null,
              taskIndex + 1 < job.tasks.length ? element('a', {href: link(taskIndex + 1)}, 'Next') : null)),
      element('h1', {}, task.name), element('p', {class: 'sub'}, task.key + (task.epilogue ? ' + ' + task.epilogue : '')),
      element('div', {class: 'tiles'},
          tile('Best', shown(task.metric, task.best), task.noise > 0 ? '± ' + percent(task.noise) + (task.disturbed ? ', noisy' : '') : ''),
          tile('Gain', times(gain), 'default ' + shown(task.metric, task.default), gain > 1.005 ? 'good' : ''),
          tile('Of the roofline', bound ? percent(bound) : '–', bound ? 'bound ' + shown(task.metric, roof.bound) : ''),
          tile('Trials', countText(task.trials), task.trials - task.ok ? countText(task.trials - task.ok) + ' failed' : 'none failed'),
          tile('Ties', task.raced ? String(task.ties.length) : '–', task.raced ? 'with the winner' : 'no race'),
          tile("Kendall's tau", ranking.windows.length ? ranking.tau.toFixed(2) : '–', ranking.trials ? countText(ranking.trials) + ' predictions' : 'no predictions')),
      element('div', {class: 'grid'}, cards));
}
