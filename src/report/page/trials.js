// Table of all trials of a job or of one task: search, filters, sort order, pages, and a CSV file.

const TRIALS_PER_PAGE = 50;

/** The trials of some tasks as rows; texts of configs are made when they are needed. */
function trialRows(job, tasks) {
  const rows = [];
  for (const task of tasks) {
    const table = task.trial_table;
    for (let i = 0; i < table.trial.length; ++i) rows.push({task, i});
  }
  const seconds = row => row.task.trial_table.seconds[row.i];
  rows.sort((a, b) => seconds(a) - seconds(b));
  rows.forEach((row, number) => { row.number = number + 1; });
  return rows;
}

const trialOf = {
  value: row => row.task.trial_table.value[row.i],
  noise: row => row.task.trial_table.noise[row.i],
  noisy: row => row.task.trial_table.disturbed[row.i] === 1,
  seconds: row => row.task.trial_table.seconds[row.i],
  trial: row => row.task.trial_table.trial[row.i],
  attempt: row => row.task.trial_table.attempt[row.i],
  outcome: row => row.task.trial_table.outcomes[row.task.trial_table.outcome[row.i]],
  knobs: row => row.task.knobs[row.task.trial_table.knobs[row.i]],
  template: row => trialOf.knobs(row).template,
  gain: row => row.task.default > 0 && trialOf.value(row) > 0 ? row.task.default / trialOf.value(row) : 0,
  /** Knobs as pairs of name and text. */
  pairs(row) {
    const axes = trialOf.knobs(row).axes;
    return row.task.trial_table.levels[row.i].map((level, k) => [axes[k].name, axes[k].values[level].replace(/^"|"$/g, '')]);
  },
  config(row) {
    if (row.config === undefined) row.config = pairsText(trialOf.pairs(row));
    return row.config;
  },
  /** What the search box looks at. */
  text(row) {
    if (row.text === undefined) {
      row.text = [row.task.name, row.task.key, trialOf.template(row), outcomeName(trialOf.outcome(row)), trialOf.config(row)].join(' ').toLowerCase();
    }
    return row.text;
  },
};

const TRIAL_KINDS = [['All results', () => true], ['Successful', row => trialOf.value(row) > 0], ['Failed', row => !(trialOf.value(row) > 0)],
  ['Noisy', trialOf.noisy], ['Search only', row => trialOf.attempt(row) === 0], ['Final races only', row => trialOf.attempt(row) > 0]];

function trialColumns(report, jobIndex, several) {
  const job = report.jobs[jobIndex];
  const result = row => trialOf.value(row) > 0
      ? [shown(row.task.metric, trialOf.value(row)), trialOf.noise(row) > 0 ? element('span', {class: 'faint'}, ' ± ' + percent(trialOf.noise(row))) : null]
      : element('span', {class: 'tag bad'}, outcomeName(trialOf.outcome(row)));
  const marks = row => [trialOf.attempt(row) > 0 ? element('span', {class: 'tag'}, 'race') : null,
    trialOf.noisy(row) ? element('span', {class: 'tag warm'}, 'noisy') : null];
  const columns = [
    {name: '#', hint: 'in the order of their ends', sort: row => row.number, cell: row => countText(row.number)},
    {name: 'Task', text: true, sort: row => row.task.name,
      cell: row => element('a', {href: `#/job/${jobIndex}/task/${job.tasks.indexOf(row.task)}`}, row.task.name)},
    {name: 'Trial', hint: 'number within the search of the task', sort: trialOf.trial, cell: row => trialOf.trial(row) || '–'},
    {name: 'At', hint: 'time since the start of the job, without pauses', sort: trialOf.seconds, cell: row => durationText(trialOf.seconds(row))},
    {name: 'Result', sort: row => trialOf.value(row) || Infinity, cell: result},
    {name: 'Gain', hint: 'default config / this config', sort: trialOf.gain, cell: row => times(trialOf.gain(row))},
    {name: '', text: true, cell: marks},
    {name: 'Config', text: true, wrap: true, sort: trialOf.config,
      cell: row => [element('span', {class: 'template'}, trialOf.template(row)), ' ', knobList(trialOf.pairs(row))]}];
  return several ? columns : columns.filter(column => column.name !== 'Task');
}

const CSV_COLUMNS = [['number', row => row.number], ['task', row => row.task.name], ['workload', row => row.task.key], ['epilogue', row => row.task.epilogue],
  ['trial', trialOf.trial], ['race', trialOf.attempt], ['seconds_of_job', trialOf.seconds], ['outcome', trialOf.outcome],
  ['value', row => trialOf.value(row) || ''], ['metric', row => row.task.metric], ['noise', trialOf.noise], ['disturbed', row => trialOf.noisy(row) ? 1 : 0],
  ['template', trialOf.template], ['config', trialOf.config]];

/** Rows as CSV (RFC 4180). Texts that a spreadsheet would take for formulas begin with an apostrophe. */
function trialsCsv(rows) {
  const cell = value => typeof value === 'number' ? String(value)
      : /["\n\r,]|^[=+@\t-]/.test(value) ? '"' + value.replace(/^(?=[=+@\t-])/, "'").replaceAll('"', '""') + '"' : value;
  return [CSV_COLUMNS.map(([name]) => name), ...rows.map(row => CSV_COLUMNS.map(([, of]) => cell(of(row))))]
      .map(line => line.join(',') + '\r\n').join('');
}

/** The table with its controls. tasks: the tasks of the job that it lists. */
function trialTable(report, jobIndex, tasks) {
  const job = report.jobs[jobIndex], rows = trialRows(job, tasks);
  const several = tasks.length > 1;
  const columns = trialColumns(report, jobIndex, several);
  const state = stateOf('trials', {text: '', task: 0, kind: 0, template: '', order: 0, down: false, page: 0});
  const templates = [...new Set(rows.map(trialOf.template))].sort();
  const body = element('tbody', {}), count = element('span', {class: 'count', role: 'status'});
  const heads = columns.map((column, i) => element('th', {class: column.text ? 'text' : '', scope: 'col', title: column.hint},
      column.sort ? element('button', {type: 'button', 'data-focus': 'trials' + column.name, onclick: () => {
        state.down = state.order === i ? !state.down : false;
        state.order = i;
        state.page = 0;
        fill();
      }}, column.name) : column.name));
  function matching() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = TRIAL_KINDS[state.kind][1], task = several && state.task > 0 ? tasks[state.task - 1] : null;
    const list = rows.filter(row => (!task || row.task === task) && kind(row) && (!state.template || trialOf.template(row) === state.template) &&
        words.every(word => trialOf.text(row).includes(word)));
    sortBy(list, columns[state.order].sort, state.down);
    return list;
  }
  const step = (name, by) => element('button', {type: 'button', class: 'button', 'data-focus': name, onclick: () => {
    state.page += by;
    fill();
  }}, name);
  const before = step('Previous', -1), after = step('Next', 1);
  function fill() {
    const list = matching(), pages = Math.max(1, Math.ceil(list.length / TRIALS_PER_PAGE));
    state.page = Math.max(0, Math.min(state.page, pages - 1));
    const first = state.page * TRIALS_PER_PAGE, some = list.slice(first, first + TRIALS_PER_PAGE);
    markOrder(heads, state);
    body.replaceChildren(...some.map(row => tableRow(columns, row, null)));
    if (!some.length) body.append(element('tr', {}, element('td', {class: 'text', colspan: columns.length}, 'No trial matches.')));
    count.textContent = some.length ? `${countText(first + 1)}–${countText(first + some.length)} of ${countText(list.length)}` +
        (list.length < rows.length ? ` (${countText(rows.length)} in all)` : '') : `0 of ${countText(rows.length)}`;
    before.disabled = state.page === 0;
    after.disabled = state.page === pages - 1;
  }
  const change = (name, value) => {
    state[name] = value;
    state.page = 0;
    fill();
  };
  const search = element('input', {type: 'search', placeholder: 'Search: task, template, knob=value', 'aria-label': 'Search the trials',
    'data-focus': 'search', oninput: event => change('text', event.target.value)});
  search.value = state.text;
  const controlsOfTable = element('div', {class: 'controls'}, search,
      several ? picker('Task', ['All tasks', ...tasks.map(task => task.name)], state.task, i => change('task', i)) : null,
      picker('Result', TRIAL_KINDS.map(([name]) => name), state.kind, i => change('kind', i)),
      templates.length > 1 ? picker('Template', ['All templates', ...templates], 1 + templates.indexOf(state.template), i => change('template', i ? templates[i - 1] : '')) : null,
      element('button', {type: 'button', class: 'button', onclick: () =>
        download(fileName('trials', 'csv'), new Blob([trialsCsv(matching())], {type: 'text/csv'}))}, 'Download CSV'));
  fill();
  const all = tasks.reduce((sum, task) => sum + task.trial_table.all, 0);
  return [controlsOfTable,
    all > rows.length ? element('p', {class: 'hint'}, `This page has ${countText(rows.length)} of ${countText(all)} trials: every improvement, all failures and races, and a sample of the rest. tilewright records export-csv writes all.`) : null,
    scrollBox('Trials', element('table', {class: 'stacked trials'}, element('thead', {}, element('tr', {}, heads)), body)),
    element('div', {class: 'pages'}, before, count, after)];
}

function trialsView(report, jobIndex) {
  const job = report.jobs[jobIndex];
  return element('div', {}, element('h1', {}, 'Trials'),
      element('p', {class: 'sub'}, [job.graph || report.title, 'job ' + job.name].join(' · ')),
      element('div', {class: 'grid'}, card('All trials', 'Those of the search and those of the final races. Search for several words to narrow the list; the CSV file has the rows that match',
          trialTable(report, jobIndex, job.tasks), {size: 'wide'})));
}
