// Table of scripts/bench.sh: measurements of the program itself, and regressions.

const benchValue = (row, value) => value === null ? '–' : digits(value, 4) + ' ' + row.unit;
const benchKind = verdict => verdict === 'slower' ? 'bad' : verdict === 'faster' ? 'good' : '';
/** Above 0: better than in the other table. */
const benchGain = row => row.change === null ? 0 : row.better === 'less' ? -row.change : row.change;

/** The rows that changed most, each with the noise of this table around it. */
function benchChart(canvas, rows) {
  const c = colours();
  canvas.parentNode.style.height = 58 + 24 * rows.length + 'px';
  const colour = row => row.verdict === 'slower' ? c.bad : row.verdict === 'faster' ? c.good : c.faint;
  const noise = row => [100 * (row.change - row.noise), 100 * (row.change + row.noise)];
  return new Chart(canvas, {
    type: 'bar',
    data: {labels: rows.map(row => row.name), datasets: [
      {data: rows.map(row => 100 * row.change), backgroundColor: rows.map(colour), borderRadius: 3, barPercentage: .7, categoryPercentage: 1, grouped: false},
      {data: rows.map(noise), backgroundColor: faded(c.ink, .3), barPercentage: .18, categoryPercentage: 1, grouped: false}]},
    options: chartOptions({
      x: {ticks: {callback: value => (value > 0 ? '+ ' : value < 0 ? '− ' : '') + Math.abs(value) + ' %'},
        grid: {color: item => item.tick.value === 0 ? c.faint : c.grid}},
      y: {grid: {display: false}, ticks: {color: c.ink, autoSkip: false,
        callback: (value, i) => shortened(rows[i].name, canvas.clientWidth < 560 ? 22 : 48)}}},
    {indexAxis: 'y', interaction: {mode: 'index', axis: 'y', intersect: false},
      plugins: {legend: {display: false}, tooltip: {filter: item => item.datasetIndex === 0, callbacks: {
        label: item => benchText(rows[item.dataIndex])}}}}),
  });
}

const benchText = row => `${row.group}: ${benchValue(row, row.value)}, before ${benchValue(row, row.before)}, noise ${percent(row.noise)}`;

function benchView(report) {
  const bench = report.bench, rows = bench.rows;
  const compared = rows.filter(row => row.change !== null);
  const most = compared.slice().sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, 24);
  const of = verdict => rows.filter(row => row.verdict === verdict).length;
  const slower = compared.filter(row => row.verdict === 'slower').sort((a, b) => benchGain(a) - benchGain(b));
  const index = new Map(rows.map((row, i) => [row, i]));
  const table = sortedTable([
    {name: '', text: true, sort: row => -index.get(row), cell: row => index.get(row) + 1},
    {name: 'Group', text: true, sort: row => row.group, cell: row => row.group},
    {name: 'Name', text: true, sort: row => row.name, cell: row => row.name},
    {name: 'Value', sort: row => row.value, cell: row => benchValue(row, row.value)},
    {name: 'Noise', hint: 'relative difference of the least and the largest round', sort: row => row.noise, cell: row => percent(row.noise)},
    {name: 'Before', sort: row => row.before || 0, cell: row => benchValue(row, row.before)},
    {name: 'Change', sort: row => row.change || 0, cell: row => row.change === null ? '–' : (row.change > 0 ? '+ ' : '− ') + percent(Math.abs(row.change))},
    {name: '', text: true, sort: row => row.verdict, cell: row => row.verdict === 'same' ? null : element('span', {class: 'tag ' + benchKind(row.verdict)}, row.verdict)},
  ], rows, {label: 'Measurements'});
  const list = texts => element('ul', {}, texts.map(text => element('li', {}, text)));
  return element('div', {},
      element('h1', {}, 'Benchmarks'),
      element('p', {class: 'sub'}, [bench.cpu, bench.cores + ' cores', bench.date, 'commit ' + bench.commit, 'version ' + bench.version, bench.file].join(' · ')),
      element('div', {class: 'tiles'},
          tile('Slower', String(of('slower')), 'by more than the noise', of('slower') ? 'bad' : 'good'),
          tile('Faster', String(of('faster')), 'by more than the noise', of('faster') ? 'good' : ''),
          tile('Same', String(of('same')), ''), tile('New', String(of('new')), bench.gone.length ? bench.gone.length + ' gone' : ''),
          tile('Rounds', String(bench.rounds), bench.load === null ? '' : 'load before ' + digits(bench.load, 3))),
      element('div', {class: 'grid'},
          card('Slower by more than the noise', bench.compared_with
              ? `Compared with ${bench.compared_with}, commit ${bench.compared_commit || 'unknown'}` : null,
          bench.compared_with ? slower.length ? list(slower.map(row => `${row.name}: + ${percent(Math.abs(row.change))} · ${benchText(row)}`)) : none('Nothing.')
              : none('This is the first table of this CPU; there is nothing to compare with.'), {size: 'wide'}),
          most.length ? card('Largest changes', 'Since the other table; the thin bar is the noise of this one', canvas => benchChart(canvas, most), {size: 'wide', plot: 'free'}) : null,
          card('All measurements', 'Median of the rounds', table, {size: 'wide'}),
          bench.gone.length ? card('Only in the other table', null, list(bench.gone), {size: 'wide'}) : null));
}
