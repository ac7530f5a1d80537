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
          (job.tasks_without_time ? ', without ' + job.tasks_without_time + ' tasks that have no time' : '')),
      tile('Gain', times(gain), job.tasks.length + (job.tasks.length === 1 ? ' task' : ' tasks'),
          gain > 1.005 ? 'good' : ''),
      tile('Trials', countText(job.trials), job.trials_per_second > 0
          ? digits(job.trials_per_second, 3) + ' per second' : ''),
      tile('Failed', countText(failed), job.trials ? percent(failed / job.trials) + ' of trials' : '',
          failed ? '' : 'good'),
      tile('Noisy', countText(job.disturbed), job.trials
          ? percent(job.disturbed / job.trials) + ' of trials' : ''),
      tile('Time', durationText(job.wall_seconds), job.pauses
          ? 'without ' + job.pauses + (job.pauses === 1 ? ' pause' : ' pauses') : dateText(job.ended_unix)));
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
  if (gains.length > most) steps.push({name: (gains.length - most) + (gains.length - most === 1 ? ' other task' : ' other tasks'), gain: rest});
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

const timeAxis = () => ({type: 'linear', min: 0, title: {text: 'time since the start of the job'},
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
      {type: 'bar', label: 'noisy trials', yAxisID: 'disturbed', backgroundColor: faded(c.warm, .55),
        pointStyle: 'rectRounded', barPercentage: 1, categoryPercentage: .94, barThickness: 'flex',
        data: points(pace.disturbed.map((n, i) => pace.trials[i] ? 100 * n / pace.trials[i] : 0))}]},
    options: chartOptions({
      x: Object.assign(timeAxis(), {max: step * pace.trials.length, offset: false}),
      y: {min: 0, suggestedMax: 2, title: {text: '± of the value'}, ticks: {callback: value => value + ' %'}},
      disturbed: {position: 'right', min: 0, max: 100, grid: {drawOnChartArea: false},
        title: {text: 'noisy trials'}, ticks: {callback: value => value + ' %'}}},
    {interaction: {mode: 'index', intersect: false},
      plugins: {tooltip: {callbacks: {title: items => durationText(items[0].parsed.x),
        label: item => item.dataset.label + ' ' + digits(item.parsed.y, 3) + ' %'}}}}),
  });
}

function failureTable(job) {
  if (!job.failures.length) return none('No trial failed.');
  const failed = job.trials - job.ok;
  return sortedTable([
    {name: 'Trials', sort: row => row.trials, cell: row => [countText(row.trials), bar(row.trials / Math.max(1, failed), 'var(--bad)')]},
    {name: 'Outcome', text: true, sort: row => row.outcome, cell: row => outcomeName(row.outcome)},
    {name: 'Reason, and the command that reproduces one', text: true, wrap: true, cell: row => [row.reason || '(no reason given)', ...(row.reproduce ? [command(row.reproduce)] : [])]},
  ], job.failures, {label: 'Failures', stacked: true});
}

function taskTable(job, jobIndex) {
  const all = job.tasks.reduce((sum, task) => sum + task.occurrences * task.best, 0);
  const share = task => all > 0 ? task.occurrences * task.best / all : 0;
  const roof = task => task.roofline.bound > 0 && task.best > 0 ? task.roofline.bound / task.best : 0;
  const tags = task => [
    task.ties.length ? element('span', {class: 'tag', title: 'configs as fast as the winner, within the resolution of the device'},
        'tie of ' + (task.ties.length + 1)) : null,
    task.disturbed ? element('span', {class: 'tag warm'}, 'noisy') : null];
  const columns = [
    {name: 'Task', text: true, sort: task => task.name,
      cell: task => [element('a', {href: `#/job/${jobIndex}/task/${job.tasks.indexOf(task)}`}, task.name), tags(task)]},
    {name: 'Uses', sort: task => task.occurrences, cell: task => task.occurrences},
    {name: 'Default', sort: task => task.default, cell: task => shown(task.metric, task.default)},
    {name: 'Best', sort: task => task.best, cell: task => shown(task.metric, task.best)},
    {name: 'Gain', sort: gainOf, cell: task => times(gainOf(task))},
    {name: 'Share of network', sort: share, cell: task => [percent(share(task)), bar(share(task))]},
    {name: 'Of the roofline', sort: roof, cell: task => roof(task) ? percent(roof(task)) : '–'},
    {name: 'Trials', sort: task => task.trials, cell: task => countText(task.trials)},
    {name: 'Failed', sort: task => task.trials - task.ok, cell: task => countText(task.trials - task.ok)},
    {name: 'Tau', hint: "Kendall's tau of the cost model's ranking", sort: task => task.ranking.tau,
      cell: task => task.ranking.windows.length ? task.ranking.tau.toFixed(2) : '–'},
  ];
  return sortedTable(columns, job.tasks, {label: 'Tasks', sort: 5,
    open: task => { location.hash = `#/job/${jobIndex}/task/${job.tasks.indexOf(task)}`; }});
}

// ---- Best time of the network over the job
function networkChart(canvas, job, by) {
  const c = colours(), metric = metricOf(job), steps = job.network_best_so_far;
  const at = by === 'trial' ? steps.trial : steps.seconds;
  const end = by === 'trial' ? job.trials : job.wall_seconds;
  const line = steps.value.map((y, i) => ({x: at[i], y}));
  line.push({x: Math.max(end, line[line.length - 1].x), y: line[line.length - 1].y});
  const raced = job.tasks.some(task => task.raced);
  const values = line.map(point => point.y).concat(raced && job.best_total > 0 ? [job.best_total] : []);
  const low = Math.min(...values), high = Math.max(...values), room = .08 * (high - low) || .01 * high;
  const sets = [
    {type: 'line', label: 'best so far', data: line, stepped: 'before', borderColor: c.warm, backgroundColor: faded(c.warm, .12), fill: 'start',
      borderWidth: 2, pointRadius: 0, pointStyle: 'rectRounded'},
    {type: 'line', label: 'default configs', data: [{x: 0, y: line[0].y}, {x: line[line.length - 1].x, y: line[0].y}], borderColor: c.faint,
      borderDash: [5, 4], borderWidth: 1.4, pointRadius: 0, pointStyle: 'line'}];
  if (raced && job.best_total > 0) {
    sets.push({type: 'scatter', label: 'after the final races', data: [{x: line[line.length - 1].x, y: job.best_total}], backgroundColor: c.good,
      borderColor: c.card, borderWidth: 1.5, pointRadius: 6, pointStyle: 'rectRot', clip: false});
  }
  return new Chart(canvas, {
    data: {datasets: sets},
    options: chartOptions({
      x: {type: 'linear', min: 0, max: line[line.length - 1].x || 1, title: {text: unitX[by]},
        ticks: {callback: value => by === 'trial' ? countText(value) : durationText(value)}},
      y: {type: 'linear', min: low - room, max: high + room, ticks: {callback: value => shown(metric, value, 4)}}},
    {plugins: {tooltip: {callbacks: {label: item => item.dataset.label + ' ' + shown(metric, item.parsed.y, 4) +
        (item.parsed.y > 0 ? ' (' + times(line[0].y / item.parsed.y) + ')' : '') + ', ' +
        (by === 'trial' ? 'trial ' + countText(item.parsed.x) : durationText(item.parsed.x))}}}}),
  });
}

function networkBestCard(job) {
  const title = job.tasks.length > 1 ? 'Best time of the network' : 'Best time of the task';
  if (job.network_best_so_far.value.length === 0) return null;
  return chartOverTrialsOrTime(title,
      'The best value of each task so far, or its default value, as often as the network uses the task. The final races measure the best configs again. The axis does not begin at 0',
      (canvas, by) => networkChart(canvas, job, by), {size: 'wide', time: true});
}

// ---- A running job
function progressCard(report, jobIndex) {
  const now = report.progress;
  if (!report.live || !now) return null;
  const job = report.jobs[jobIndex];
  const place = job.tasks.findIndex(task => task.key === now.task && task.epilogue === now.epilogue && task.target === now.target);
  const name = place >= 0 ? element('a', {href: `#/job/${jobIndex}/task/${place}`}, job.tasks[place].name) : now.task;
  const end = new Date(Date.now() + 1000 * now.eta_seconds).toLocaleTimeString('en-GB');
  const fact = (label, ...value) => element('div', {class: 'fact' + (label === 'Newest trial' ? ' whole' : '')}, element('dt', {}, label), element('dd', {}, value));
  return card('Progress', null, [
    element('div', {class: 'progress', role: 'progressbar', 'aria-label': 'Progress of the job', 'aria-valuemin': '0', 'aria-valuemax': '100',
      'aria-valuenow': String(Math.round(100 * now.share))}, styled(element('i', {}), {width: 100 * now.share + '%'})),
    element('dl', {class: 'facts'},
        fact('Done', now.share > 0 ? percent(now.share) : '–'),
        fact('Time left', now.eta_seconds > 0 ? durationText(now.eta_seconds) + ', until ' + end : 'unknown'),
        fact('This run', durationText(now.elapsed_seconds) + ', ' + digits(now.trials_per_second, 3) + ' trials per second'),
        fact('Trials', countText(now.trials)),
        fact('Tasks', `${now.finished_tasks} of ${now.tasks} finished`),
        fact('Newest trial', name, ': ', now.value > 0 ? shown(job.tasks.length && place >= 0 ? job.tasks[place].metric : metricOf(job), now.value) : outcomeName(now.outcome),
            element('div', {class: 'small'}, configNodes(now.template, now.config))))], {size: 'wide'});
}

// ---- How the job was made
function jobCard(job, running) {
  const limits = [job.limits.trials ? countText(job.limits.trials) + ' trials' : '', job.limits.budget_seconds ? 'budget ' + durationText(job.limits.budget_seconds) : '',
    job.limits.deadline ? 'deadline ' + job.limits.deadline : ''].filter(Boolean).join(', ');
  const fact = (label, value) => value ? element('div', {class: 'fact' + (value.length > 60 ? ' whole' : '')}, element('dt', {}, label), element('dd', {}, value)) : null;
  const settings = Object.entries(job.settings);
  const store = quoted(job.store), graph = quoted(job.graph.replace(/#\d+$/, '')), name = graph.replace(/^.*\//, '').replace(/\.\w+'?$/, '') || 'network';
  const imported = job.name === 'imported';
  const state = stateOf('settings', {open: false});
  return card('Job', null, [
    element('h4', {}, 'Command'),
    job.command ? command(job.command, 'the command of the job') : none(imported ? 'These records were imported; no job of tilewright made them.' : 'The version that tuned this job did not store its command.'),
    element('dl', {class: 'facts'}, fact('Seed', imported ? '' : String(job.seed)), fact('Limits', limits), fact('Strategy', job.strategy), fact('Name', job.name),
        fact('State', imported ? '' : running ? 'running' : job.finished ? 'finished' : 'not finished; the same command resumes it'), fact('Record store', job.store), fact('Device', job.device), fact('Target', job.target)),
    imported || !job.graph ? null : [element('h4', {}, 'Next steps'),
      command(`tilewright compile ${graph} --records ${store} -o ${name}.so`, 'the compile command'),
      command(`tilewright report ${store} --job ${quoted(job.name)} --graph ${graph} -o report.html`, 'the report command')],
    settings.length ? element('details', {open: state.open, ontoggle: event => { state.open = event.target.open; }}, element('summary', {}, 'All settings'),
        element('dl', {class: 'facts'}, settings.map(([key, value]) => fact(key, value)))) : null], {size: 'wide'});
}

function overview(report, jobIndex) {
  const job = report.jobs[jobIndex];
  const gained = job.tasks.some(task => gainOf(task) > 0);
  return element('div', {},
      element('h1', {}, job.graph || report.title),
      element('p', {class: 'sub', title: job.target}, [job.device, shortTarget(job.target), job.strategy && 'strategy ' + job.strategy,
        'job ' + job.name, job.store].filter(Boolean).join(' · ')),
      jobTiles(job),
      notesOf(report),
      element('div', {class: 'grid'},
          progressCard(report, jobIndex),
          networkBestCard(job),
          gained ? card('Gain by task', 'Time of the network with default configs and with tuned ones; each task counts as often as the network uses it' +
                  (waterfallStart(job) > 0 ? '. The axis does not begin at 0' : ''),
              canvas => waterfall(canvas, job), {size: 'wide', plot: 'free'})
                 : card('Gain by task', null, none('No task has both a default and a tuned time.'), {size: 'wide'}),
          card('Tasks', null, taskTable(job, jobIndex), {size: 'wide', far: element('a', {href: `#/job/${jobIndex}/trials`}, 'All trials')}),
          card('Time by activity', 'Building, running and learning overlap',
              job.time ? timeMeters(job.time) : none('The version that tuned this job did not store it.'), {size: 'third'}),
          job.time ? card('Activity over time', null, canvas => timeLines(canvas, job.time), {size: 'two-thirds'}) : null,
          card('Trials per second', null, canvas => paceBars(canvas, job)),
          job.pace.noise.some(noise => noise > 0) || job.disturbed
              ? card('Noise', 'Median uncertainty of the values, and the share of trials with too few clean samples', canvas => noiseLines(canvas, job))
              : card('Noise', null, none(metricOf(job) === 'seconds' ? 'No trial has enough samples to estimate it.' : 'None: a simulator counts, and each run counts the same.')),
          card('Failures', null, failureTable(job), {size: 'wide'}),
          jobCard(job, Boolean(report.live && report.progress))));
}
