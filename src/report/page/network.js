// A network as a whole, and the comparison of two stores.

const ANSWERS = [['hit', 'good'], ['near hit', 'teal'], ['near', 'teal'], ['model', 'violet'], ['default', 'warm'], ['miss', 'bad'], ['no task', 'faint']];
const answerColour = name => (ANSWERS.find(one => one[0] === name) || ['', 'faint'])[1];

function memoryChart(canvas, network) {
  const c = colours();
  // If some steps have no time: by their number.
  const timed = network.steps.every(step => step.cost > 0);
  let at = 0;
  const points = [];
  for (const step of network.steps) {
    points.push({x: at, y: step.live_bytes, step});
    at += timed ? step.cost : 1;
  }
  points.push({x: at, y: 0});
  const where = value => timed ? shown(network.metric, value) : Number.isInteger(value) ? 'step ' + (value + 1) : null;
  return new Chart(canvas, {
    type: 'line',
    data: {datasets: [{label: 'alive', data: points, stepped: 'before', fill: true, borderColor: c.accent, borderWidth: 1.6,
      backgroundColor: faded(c.accent, .16), pointRadius: 0}]},
    options: chartOptions({
      x: {type: 'linear', min: 0, max: at, ticks: {callback: value => timed && value === 0 ? '0' : value >= at && !timed ? null : where(value)}},
      y: {min: 0, suggestedMax: network.arena_bytes, ticks: {callback: value => value === 0 ? '0' : bytesText(value)}}},
    {plugins: {legend: {display: false}, tooltip: {callbacks: {title: () => '',
      label: item => item.raw.step ? bytesText(item.parsed.y) + ' while ' + item.raw.step.op : ''}}}}),
  });
}

/** The same strip by layout: where the colour changes, the layout of the data changes. */
function layoutStrip(network, widthOf) {
  const layouts = [...new Set(network.steps.map(step => step.layout).filter(Boolean))];
  if (!layouts.length) return null;
  const colour = layout => layout ? `var(--${['good', 'violet', 'warm', 'accent', 'sand', 'teal'][layouts.indexOf(layout) % 6]})` : 'var(--grid)';
  return [element('div', {class: 'strip thin'}, network.steps.map(step => styled(element('i', {class: step.layout_change ? 'change' : '',
    title: `${step.op}\n${step.layout || 'no layout of its own'}${step.layout_change ? '\nchanges the layout' : ''}`}),
  {flex: widthOf(step), 'background-color': step.layout_change ? 'var(--bad)' : colour(step.layout)}))),
  element('div', {class: 'legend'}, layouts.map(layout => styled(element('span', {}, layout), {'--swatch': colour(layout)})),
      network.layout_changes ? styled(element('span', {}, countText(network.layout_changes) + (network.layout_changes === 1 ? ' layout change' : ' layout changes')), {'--swatch': 'var(--bad)'}) : null)];
}

/** Link to the task of a step; plain text if the newest job does not have it. */
function stepLink(report, step, text) {
  const place = step.workload && report.jobs.length ? report.jobs[0].tasks.findIndex(task => task.key === step.workload) : -1;
  return place < 0 ? text : element('a', {href: `#/job/0/task/${place}`, title: report.jobs[0].tasks[place].name}, text);
}

function networkView(report) {
  const network = report.network;
  const total = network.steps.reduce((sum, step) => sum + step.cost, 0);
  const missed = network.steps.reduce((sum, step) => sum + step.miss_cost, 0);
  const measured = network.steps.reduce((sum, step) => sum + (step.estimated ? 0 : step.cost), 0);
  const families = [...new Set(network.steps.map(step => step.op.split(' ')[0]))];
  const colour = step => `var(--${['accent', 'teal', 'violet', 'sand', 'good', 'warm'][families.indexOf(step.op.split(' ')[0]) % 6]})`;
  const widthOf = step => String(1000 * Math.max(step.cost / (total || 1), 1e-4));
  const strip = element('div', {class: 'strip'}, network.steps.map(step => styled(element('i', {
    class: step.answer !== 'hit' && step.template ? 'untuned' : '',
    title: `${step.layer}\n${step.op}\n${step.shape}\n${shown(network.metric, step.cost)}${step.estimated ? ' (estimated)' : ''}\n${step.answer}`}),
  {flex: widthOf(step), 'background-color': colour(step)})));
  const unknown = network.steps.filter(step => !(step.cost > 0)).length;
  const untuned = network.steps.some(step => step.template && step.answer !== 'hit');
  const coverage = Object.entries(network.coverage).sort((a, b) => b[1] - a[1]);
  const timeOf = answer => network.steps.reduce((sum, step) => sum + (step.answer === answer ? step.cost : 0), 0);
  const rows = network.steps.map((step, index) => ({step, index}));
  const table = sortedTable([
    {name: '#', sort: row => row.index, cell: row => row.index + 1},
    {name: 'Layer', text: true, wrap: true, sort: row => row.step.layer, cell: row => [stepLink(report, row.step, row.step.layer),
      row.step.layout_change ? element('span', {class: 'tag'}, 'layout change') : null, element('div', {class: 'small'}, row.step.op)]},
    {name: 'Shape', text: true, cell: row => row.step.shape},
    {name: 'Layout', text: true, sort: row => row.step.layout, cell: row => row.step.layout || '–'},
    {name: 'Time', sort: row => row.step.cost, cell: row => [row.step.estimated ? '≈ ' : '', shown(network.metric, row.step.cost), bar(row.step.cost / (total || 1) * 5, colour(row.step))]},
    {name: 'Answer', text: true, sort: row => row.step.answer, cell: row => styled(element('span', {class: 'tag', title: row.step.explanation}, row.step.answer), {color: `var(--${answerColour(row.step.answer)})`})},
    {name: 'Untuned', hint: 'expected time in addition to that of a tuned kernel', sort: row => row.step.miss_cost, cell: row => row.step.miss_cost > 0 ? '+ ' + shown(network.metric, row.step.miss_cost) : '–'},
    {name: 'Bytes', sort: row => row.step.bytes, cell: row => bytesText(row.step.bytes)},
    {name: 'Config', text: true, wrap: true, cell: row => row.step.template ? configNodes(row.step.template, row.step.config) : '–'},
  ], rows, {label: 'Steps', stacked: true});
  return element('div', {},
      element('h1', {}, network.graph), element('p', {class: 'sub', title: network.target}, shortTarget(network.target)),
      element('div', {class: 'tiles'},
          tile('Network', shown(network.metric, total), percent(total ? measured / total : 0) + ' measured' + (unknown ? `, ${unknown} steps unknown` : '')),
          tile('Steps', countText(network.steps.length), network.layout_changes + (network.layout_changes === 1 ? ' layout change' : ' layout changes')),
          tile('Cost of untuned steps', missed > 0 ? shown(network.metric, missed) : untuned ? 'unknown' : 'nothing', missed > 0 ? percent(missed / total) + ' of the time' : untuned ? 'no task was tuned' : 'every task has a record', missed > 0 ? 'bad' : untuned ? '' : 'good'),
          tile('Memory', bytesText(network.arena_bytes), bytesText(network.constant_bytes) + ' of constants'),
          tile('Layouts', network.layouts_changed + ' of ' + network.layout_choices, network.layout_rule_seconds > 0
              ? 'differ from the rule, ' + percent(1 - network.layout_seconds / network.layout_rule_seconds) + ' saved (estimate)' : 'differ from the rule')),
      element('div', {class: 'grid'},
          card('Time by operator', 'In the order of execution. Hatched operators have no record of their own' + (unknown ? '; narrow ones have no known time' : ''), [strip,
            element('div', {class: 'legend'}, families.map(family => styled(element('span', {}, family), {'--swatch': colour({op: family})}))), layoutStrip(network, widthOf)].filter(Boolean), {size: 'wide'}),
          card('Coverage', 'Operators by the source of their config, and their share of the time', element('div', {class: 'meters'}, coverage.map(([name, count]) =>
              meter(name, timeOf(name) / (total || 1), count + ' · ' + percent(timeOf(name) / (total || 1)), answerColour(name)))), {size: 'third'}),
          card('Memory in use', 'While the network runs', canvas => memoryChart(canvas, network), {size: 'two-thirds'}),
          card('Steps', null, table, {size: 'wide'})));
}

function comparisonView(report) {
  const comparison = report.comparison, tasks = comparison.tasks;
  const count = verdict => tasks.filter(task => task.verdict === verdict).length;
  const logs = tasks.flatMap(task => [task.low, task.high].map(Math.log2)).filter(Number.isFinite);
  const reach = Math.max(.1, ...logs.map(Math.abs));
  const kind = {faster: 'good', slower: 'bad', same: 'same'};
  const change = task => task.occurrences * (task.other_value - task.value);
  const ratio = comparison.total > 0 ? comparison.other_total / comparison.total : 0;
  const table = sortedTable([
    {name: 'Task', text: true, sort: task => task.name, cell: task => [element('span', {title: task.key}, task.name),
      task.device !== task.other_device ? element('span', {class: 'tag'}, task.device + ' / ' + task.other_device) : null]},
    {name: 'Uses', sort: task => task.occurrences, cell: task => task.occurrences},
    {name: 'This', sort: task => task.value, cell: task => shown(task.metric, task.value)},
    {name: 'Other', sort: task => task.other_value, cell: task => shown(task.metric, task.other_value)},
    {name: 'Faster by', sort: task => task.ratio, cell: task => task.ratio.toFixed(3) + '×'},
    {name: '95 %', text: true, cell: task => intervalBar(Math.log2(task.low), Math.log2(task.ratio), Math.log2(task.high), -reach, reach, kind[task.verdict], 0)},
    {name: '', text: true, sort: task => task.verdict, cell: task => element('span', {class: 'tag ' + (task.verdict === 'faster' ? 'good' : task.verdict === 'slower' ? 'bad' : '')}, task.verdict)},
    {name: 'In the network', sort: task => Math.abs(change(task)), cell: task => change(task) === 0 ? '–' : (change(task) > 0 ? '− ' : '+ ') + shown(task.metric, Math.abs(change(task)))},
  ], tasks, {label: 'Compared tasks', sort: 7, stacked: true});
  const only = (names, where) => names.length ? card(`Only in ${where}`, null, element('ul', {}, names.map(name => element('li', {}, name)))) : null;
  return element('div', {},
      element('h1', {}, 'Comparison'), element('p', {class: 'sub'}, `${comparison.store} against ${comparison.other}`),
      element('div', {class: 'tiles'},
          tile('All common tasks', ratio ? ratio.toFixed(3) + '×' : '–', ratio ? `between ${comparison.low.toFixed(3)} and ${comparison.high.toFixed(3)}` : '',
              comparison.low > 1 ? 'good' : comparison.high < 1 ? 'bad' : ''),
          tile('Faster', String(count('faster')), 'tasks', count('faster') ? 'good' : ''), tile('Slower', String(count('slower')), 'tasks', count('slower') ? 'bad' : ''),
          tile('Same', String(count('same')), 'the interval contains 1'),
          tile('This', shown(comparison.metric, comparison.total), 'all uses'), tile('Other', shown(comparison.metric, comparison.other_total), 'all uses')),
      element('div', {class: 'grid'}, tasks.length
          ? card('Task by task', 'Time of the other store / time of this one; the bar is the 95 % interval, the line marks 1', table, {size: 'wide'})
          : card('Task by task', null, none('The stores have no task in common.'), {size: 'wide'}),
      only(comparison.only_here, comparison.store), only(comparison.only_there, comparison.other)));
}
