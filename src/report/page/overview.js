// Overview of a job: gain, time budget, failures.

const OUTCOME_NAMES = {
  ok: 'ok', invalid: 'invalid', build_failed: 'build failed', build_timeout: 'build too long',
  run_failed: 'run failed', run_timeout: 'run too long', wrong_result: 'wrong result',
  device_lost: 'device lost',
};
const outcomeName = name => OUTCOME_NAMES[name] || name;

const gainOf = task => task.default > 0 && task.best > 0 ? task.default / task.best : 0;
const metricOf = job => job.tasks.length ? job.tasks[0].metric : 'seconds';

function jobTiles(job) {
  const metric = metricOf(job);
  const gain = job.best_total > 0 ? job.default_total / job.best_total : 0;
  const failed = job.trials - job.ok;
  return element('div', {class: 'tiles'},
      tile('Tuned network', shown(metric, job.best_total), 'default ' + shown(metric, job.default_total) +
          (job.tasks_without_time ? ', ' + job.tasks_without_time + ' tasks without a time left out' : '')),
      tile('Gain', times(gain), job.tasks.length + (job.tasks.length === 1 ? ' task' : ' tasks'),
          gain > 1.005 ? 'good' : ''),
      tile('Trials', countText(job.trials), job.trials_per_second > 0
          ? digits(job.trials_per_second, 3) + ' per second' : ''),
      tile('Failed', countText(failed), job.trials ? percent(failed / job.trials) + ' of trials' : '',
          failed ? '' : 'good'),
      tile('In noise', countText(job.disturbed), job.trials
          ? percent(job.disturbed / job.trials) + ' of trials' : ''),
      tile('Time', durationText(job.wall_seconds), job.pauses
          ? job.pauses + ' pauses left out' : dateText(job.ended_unix)));
}

/** Where the axis of the waterfall begins: at 0 unless the gain would be a sliver. */
function waterfallStart(job) {
  const gain = Math.abs(job.default_total - job.best_total);
  if (gain < .001 * job.default_total) return 0;  // nothing to look at closely
  return gain > .25 * job.default_total ? 0 : Math.max(0, Math.min(job.default_total, job.best_total) - 2 * gain);
}

/** Default to tuned, task by task; the small ones together. */
function waterfall(canvas, job) {
  const c = colours(), metric = metricOf(job);
  const gains = job.tasks.filter(task => task.default > 0 && task.best > 0)
      .map(task => ({name: task.name, gain: task.occurrences * (task.default - task.best)}))
      .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain));
  const most = 12;
  const rest = gains.slice(most).reduce((sum, one) => sum + one.gain, 0);
  const steps = gains.slice(0, most);
  if (gains.length > most) steps.push({name: (gains.length - most) + ' others', gain: rest});
  const rows = [{name: 'default', span: [0, job.default_total], colour: c.faint}];
  let level = job.default_total;
  for (const step of steps) {
    rows.push({name: step.name, span: [level - step.gain, level], gain: step.gain,
      colour: step.gain >= 0 ? c.good : c.bad});
    level -= step.gain;
  }
  rows.push({name: 'tuned', span: [0, job.best_total], colour: c.accent});
  canvas.parentNode.style.height = 58 + 25 * rows.length + 'px';
  return new Chart(canvas, {
    type: 'bar',
    data: {
      labels: rows.map(row => row.name),
      datasets: [{data: rows.map(row => row.span), backgroundColor: rows.map(row => row.colour),
        borderRadius: 3, borderSkipped: false, barPercentage: .74, categoryPercentage: 1}],
    },
    options: chartOptions({
      x: {min: waterfallStart(job), ticks: {callback: value => value === 0 ? '0' : shown(metric, value)}},
      y: {grid: {display: false}, ticks: {color: c.ink, autoSkip: false,
        callback: (value, i) => shortened(rows[i].name, canvas.clientWidth < 560 ? 22 : 44)}},
    }, {
      indexAxis: 'y', interaction: {mode: 'index', axis: 'y', intersect: false},
      plugins: {legend: {display: false}, tooltip: {callbacks: {label: item => {
        const row = rows[item.dataIndex];
        if (row.gain === undefined) return shown(metric, row.span[1]);
        return (row.gain >= 0 ? '− ' : '+ ') + shown(metric, Math.abs(row.gain)) + ' (' +
            percent(Math.abs(row.gain) / job.default_total) + ' of the network)';
      }}}},
    }),
  });
}

const shortened = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

const TIME_PARTS = [
  ['timing', 'Timing', 'accent'], ['running', 'Running', 'teal'], ['building', 'Building', 'warm'],
  ['learning', 'Learning', 'violet'], ['idle', 'Idle', 'faint'],
];

function timeMeters(time) {
  return element('div', {class: 'meters'}, TIME_PARTS.map(([key, name, colour]) =>
      meter(name, time[key + '_seconds'] / time.wall_seconds,
          percent(time[key + '_seconds'] / time.wall_seconds), colour)));
}

const timeAxis = () => ({type: 'linear', min: 0, title: {text: 'time of the job'},
  ticks: {callback: value => durationText(value)}});

function timeLines(canvas, time) {
  const c = colours();
  return new Chart(canvas, {
    type: 'line',
    data: {datasets: TIME_PARTS.map(([key, name, colour]) => ({
      label: name, data: time.seconds.map((x, i) => ({x, y: 100 * time[key][i]})),
      borderColor: c[colour], backgroundColor: c[colour], pointRadius: 0, borderWidth: 1.8, tension: .25,
      pointStyle: 'rectRounded',
    }))},
    options: chartOptions({x: timeAxis(),
      y: {min: 0, max: 100, ticks: {callback: value => value + ' %'}}},
    {plugins: {tooltip: {mode: 'index', callbacks: {title: items => durationText(items[0].parsed.x),
      label: item => item.dataset.label + ' ' + digits(item.parsed.y, 3) + ' %'}}}}),
  });
}

function paceBars(canvas, job) {
  const c = colours(), pace = job.pace, step = pace.step_seconds;
  const at = pace.trials.map((_, i) => (i + .5) * step);
  const bars = (label, values, colour) => ({label, data: values.map((y, i) => ({x: at[i], y: y / step})),
    backgroundColor: colour, barPercentage: 1, categoryPercentage: .94, pointStyle: 'rectRounded',
    barThickness: 'flex'});
  return new Chart(canvas, {
    type: 'bar',
    data: {datasets: [
      bars('ok', pace.trials.map((n, i) => n - pace.failed[i]), c.accent),
      bars('failed', pace.failed, c.bad)]},
    options: chartOptions({
      x: Object.assign(timeAxis(), {stacked: true, max: step * at.length, offset: false}),
      y: {stacked: true, beginAtZero: true, title: {text: 'trials per second'}}},
    {interaction: {mode: 'index', intersect: false},
      plugins: {tooltip: {callbacks: {title: items => durationText(items[0].parsed.x),
        label: item => item.dataset.label + ' ' + digits(item.parsed.y, 3) + ' per second'}}}}),
  });
}

function noiseLines(canvas, job) {
  const c = colours(), pace = job.pace, step = pace.step_seconds;
  const points = values => values.map((y, i) => ({x: (i + .5) * step, y}));
  return new Chart(canvas, {
    data: {datasets: [
      {type: 'line', label: 'noise (median)', yAxisID: 'y', borderColor: c.accent, backgroundColor: c.accent,
        pointRadius: 0, borderWidth: 1.8, tension: .25, pointStyle: 'rectRounded',
        data: points(pace.noise.map(noise => noise > 0 ? 100 * noise : null)), spanGaps: true},
      {type: 'bar', label: 'trials in noise', yAxisID: 'disturbed', backgroundColor: faded(c.warm, .55),
        pointStyle: 'rectRounded', barPercentage: 1, categoryPercentage: .94, barThickness: 'flex',
        data: points(pace.disturbed.map((n, i) => pace.trials[i] ? 100 * n / pace.trials[i] : 0))}]},
    options: chartOptions({
      x: Object.assign(timeAxis(), {max: step * pace.trials.length, offset: false}),
      y: {min: 0, suggestedMax: 2, title: {text: '± of the value'}, ticks: {callback: value => value + ' %'}},
      disturbed: {position: 'right', min: 0, max: 100, grid: {drawOnChartArea: false},
        title: {text: 'trials in noise'}, ticks: {callback: value => value + ' %'}}},
    {interaction: {mode: 'index', intersect: false},
      plugins: {tooltip: {callbacks: {title: items => durationText(items[0].parsed.x),
        label: item => item.dataset.label + ' ' + digits(item.parsed.y, 3) + ' %'}}}}),
  });
}

function failureTable(job) {
  if (!job.failures.length) return none('No trial failed.');
  const failed = job.trials - job.ok;
  return element('div', {class: 'scroll'}, element('table', {},
      element('thead', {}, element('tr', {}, element('th', {}, 'Trials'), element('th', {class: 'text'}, 'Outcome'),
          element('th', {class: 'text'}, 'Reason, and the command that does one again'))),
      element('tbody', {}, job.failures.map(failure => element('tr', {},
          element('td', {}, countText(failure.trials), bar(failure.trials / Math.max(1, failed), 'var(--bad)')),
          element('td', {class: 'text'}, outcomeName(failure.outcome)),
          element('td', {class: 'text wrap'}, failure.reason || '(no reason given)',
              element('div', {class: 'again'}, element('code', {}, failure.reproduce),
                  copyButton(failure.reproduce))))))));
}

function taskTable(job, jobIndex) {
  const all = job.tasks.reduce((sum, task) => sum + task.occurrences * task.best, 0);
  const share = task => all > 0 ? task.occurrences * task.best / all : 0;
  const roof = task => task.roofline.bound > 0 && task.best > 0 ? task.roofline.bound / task.best : 0;
  const tags = task => [
    task.ties.length ? element('span', {class: 'tag', title: 'configs that cannot be told from the winner'},
        'tie of ' + (task.ties.length + 1)) : null,
    task.disturbed ? element('span', {class: 'tag warm'}, 'in noise') : null];
  const columns = [
    {name: 'Task', text: true, sort: task => task.name,
      cell: task => [element('a', {href: `#/job/${jobIndex}/task/${job.tasks.indexOf(task)}`}, task.name), tags(task)]},
    {name: 'Uses', sort: task => task.occurrences, cell: task => task.occurrences},
    {name: 'Default', sort: task => task.default, cell: task => shown(task.metric, task.default)},
    {name: 'Best', sort: task => task.best, cell: task => shown(task.metric, task.best)},
    {name: 'Gain', sort: gainOf, cell: task => times(gainOf(task))},
    {name: 'Share of network', sort: share, cell: task => [percent(share(task)), bar(share(task))]},
    {name: 'Of roofline', sort: roof, cell: task => roof(task) ? percent(roof(task)) : '–'},
    {name: 'Trials', sort: task => task.trials, cell: task => countText(task.trials)},
    {name: 'Failed', sort: task => task.trials - task.ok, cell: task => countText(task.trials - task.ok)},
    {name: 'Tau', hint: "Kendall's tau of the model's ranking", sort: task => task.ranking.tau,
      cell: task => task.ranking.windows.length ? task.ranking.tau.toFixed(2) : '–'},
  ];
  return sortedTable(columns, job.tasks, {sort: 5,
    open: task => { location.hash = `#/job/${jobIndex}/task/${job.tasks.indexOf(task)}`; }});
}

function overview(report, jobIndex) {
  const job = report.jobs[jobIndex];
  const gained = job.tasks.some(task => gainOf(task) > 0);
  const lack = text => none(text);
  return element('div', {},
      element('h1', {}, job.graph || report.title),
      element('p', {class: 'sub', title: job.target}, [job.device, shortTarget(job.target), job.strategy && 'strategy ' + job.strategy,
        'job ' + job.name, job.store].filter(Boolean).join(' · ')),
      jobTiles(job),
      report.missing.length ? element('ul', {class: 'notes'}, report.missing.map(text => element('li', {}, text))) : null,
      element('div', {class: 'grid'},
          gained ? card('What was gained where', 'Time of the network from default configs to tuned ones; each task as often as it is used' +
                  (waterfallStart(job) > 0 ? '. The axis does not begin at 0' : ''),
              canvas => waterfall(canvas, job), {size: 'wide', plot: 'free'})
                 : card('What was gained where', null, lack('No task has both a default and a tuned time.'), {size: 'wide'}),
          card('Tasks', null, taskTable(job, jobIndex), {size: 'wide'}),
          card('Where the time went', 'Building, running and learning go on beside each other',
              job.time ? timeMeters(job.time) : lack('Not stored by the version that tuned this job.'), {size: 'third'}),
          job.time ? card('Where the time went, over time', null, canvas => timeLines(canvas, job.time), {size: 'two-thirds'}) : null,
          card('Trials per second', null, canvas => paceBars(canvas, job)),
          job.pace.noise.some(noise => noise > 0) || job.disturbed
              ? card('Noise and disturbed moments', 'How well values are known, and trials that met no quiet moment', canvas => noiseLines(canvas, job))
              : card('Noise and disturbed moments', null, lack(metricOf(job) === 'seconds' ? 'No trial was measured often enough to tell.' : 'None: a simulator counts, and counts the same each time.')),
          card('Failures', null, failureTable(job), {size: 'wide'})));
}
