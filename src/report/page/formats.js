// Search for number formats: the front of times against errors, the sites, the cost of bounds.

const FORMAT_NAMES = {f: 'float32', b: 'bfloat16', i: 'int8'};
const decibels = value => value === null ? 'equal' : digits(value, 3) + ' dB';
const ratioText = value => value === null ? '–' : value.toFixed(3);
/** Relative noise of decibels; null stands for no error. */
const noiseOf = value => value === null ? 0 : 10 ** (-value / 10);

function formatCounts(code) {
  return Object.entries(FORMAT_NAMES).map(([letter, name]) => [[...code].filter(one => one === letter).length, name])
      .filter(([count]) => count).map(([count, name]) => count + ' ' + name).join(', ');
}

/** The option of a site that it has in the chosen library. */
const optionOf = site => site.formats.find(one => one.format === site.format) || site.formats[0];

function formatsTiles(page) {
  const chosen = page.combinations[page.chosen], held = chosen.held_out;
  return element('div', {class: 'tiles'},
      tile('Time', shown('seconds', page.seconds), 'float32 ' + shown('seconds', page.float32_seconds)),
      tile('Gain', times(1 / chosen.time_ratio), '± ' + percent(chosen.time_spread), chosen.time_ratio < 1 ? 'good' : ''),
      tile('Held-out error', held ? decibels(held.sqnr_db) : '–', 'predicted ' + decibels(chosen.predicted_sqnr_db)),
      held && held.score !== null ? tile('Score', digits(held.score, 5), 'on the held-out part') : null,
      tile('Bound', page.bound, page.score || ''),
      tile('Samples', String(page.samples.held_out.length), `held out; ${page.samples.search.length} search, ${page.samples.calibration.length} calibrate`));
}

/** Times against errors: what was predicted, and what was measured. */
function frontChart(canvas, page) {
  const c = colours();
  const finite = list => list.filter(one => one.y !== null && Number.isFinite(one.y));
  const points = page.combinations.map((one, i) => ({x: one.time_ratio, y: one.search.sqnr_db, one, i}));
  const set = (label, list, colour, style, radius) => ({type: 'scatter', label, data: finite(list), backgroundColor: colour, borderColor: colour,
    pointStyle: style, pointRadius: radius});
  const predicted = finite(page.predicted_front.map(one => ({x: one.time_ratio, y: one.sqnr_db}))).sort((a, b) => a.x - b.x);
  return new Chart(canvas, {
    data: {datasets: [
      set('chosen', points.filter(point => point.i === page.chosen), c.warm, 'rectRot', 7),
      set('front', points.filter(point => point.i !== page.chosen && point.one.front), c.good, 'circle', 4.5),
      set('others', points.filter(point => point.i !== page.chosen && !point.one.front), c.faint, 'triangle', 4.5),
      {type: 'line', label: 'predicted', data: predicted, borderColor: faded(c.accent, .6), backgroundColor: faded(c.accent, .6), borderWidth: 1.6, pointRadius: 0}]},
    options: chartOptions({
      x: {type: 'linear', title: {text: 'time, float32 is 1'}, ticks: {callback: value => digits(value, 3)}},
      y: {type: 'linear', title: {text: 'signal to noise, dB'}, ticks: {callback: value => digits(value, 3)}},
    }, {plugins: {tooltip: {callbacks: {label: item => `${ratioText(item.parsed.x)}, ${decibels(item.parsed.y)}` +
        (item.raw.one ? ', ' + formatCounts(item.raw.one.formats) : '')}}}}),
  });
}

/** Noise powers of the sites in the chosen library, as shares of their sum. */
function noiseMeters(page) {
  const shares = page.sites.map(site => ({site, noise: noiseOf(optionOf(site).sqnr_db)})).filter(one => one.noise > 0);
  const all = shares.reduce((sum, one) => sum + one.noise, 0);
  if (!all) return none('No site adds an error: all of them are float32.');
  const most = 12;
  shares.sort((a, b) => b.noise - a.noise);
  const rest = shares.slice(most).reduce((sum, one) => sum + one.noise, 0);
  return element('div', {class: 'meters named'}, shares.slice(0, most).map(one =>
      meter(shortened(one.site.value, 40), one.noise / all, percent(one.noise / all), one.site.format === 'int8' ? 'warm' : 'accent')),
  rest ? meter(`${shares.length - most} others`, rest / all, percent(rest / all), 'faint') : null);
}

function boundTable(page) {
  return sortedTable([
    {name: 'Bound', text: true, cell: row => row.bound},
    {name: 'Time', hint: 'of the fastest measured library that keeps the bound on the held-out samples; float32 is 1', cell: row => ratioText(row.time_ratio)},
    {name: 'Seconds', cell: row => row.time_ratio === null ? '–' : shown('seconds', row.time_ratio * page.float32_seconds)},
    {name: 'Predicted', hint: 'time on the predicted front', cell: row => ratioText(row.predicted_time_ratio)},
    {name: 'Formats', text: true, wrap: true, cell: row => row.combination === null ? 'not measured' : formatCounts(page.combinations[row.combination].formats)},
  ], page.bounds, {label: 'Bounds', stacked: true});
}

function siteTable(page) {
  const cell = name => site => {
    const option = site.formats.find(one => one.format === name);
    if (!option) return '–';
    return shown('seconds', option.seconds) + (name === 'float32' ? '' : ', ' + decibels(option.sqnr_db));
  };
  const index = new Map(page.sites.map((site, i) => [site, i]));
  const seconds = name => site => (site.formats.find(one => one.format === name) || {seconds: 0}).seconds;
  return sortedTable([
    {name: '', text: true, sort: site => -index.get(site), cell: site => index.get(site) + 1},
    {name: 'Value', text: true, sort: site => site.value, cell: site => shortened(site.value, 40)},
    {name: 'Operator', text: true, sort: site => site.operator, cell: site => site.operator},
    {name: 'Format', text: true, sort: site => site.format, cell: site => element('span', {class: 'tag ' + (site.format === 'float32' ? '' : site.format === 'int8' ? 'warm' : 'good')}, site.format)},
    {name: 'float32', sort: seconds('float32'), cell: cell('float32')},
    {name: 'bfloat16', hint: 'time, and the error if only this site has the format', sort: seconds('bfloat16'), cell: cell('bfloat16')},
    {name: 'int8', hint: 'time, and the error if only this site has the format', sort: seconds('int8'), cell: cell('int8')},
    {name: 'Why', text: true, wrap: true, cell: site => site.why},
  ], page.sites, {label: 'Sites', stacked: true});
}

function combinationTable(page) {
  const index = new Map(page.combinations.map((one, i) => [one, i]));
  const scored = page.combinations.some(one => one.search.score !== null);
  const held = one => one.held_out ? decibels(one.held_out.sqnr_db) : '–';
  const score = one => one.refused ? 'refused: ' + one.refused : one.search.score === null ? '–' : digits((one.held_out || one.search).score, 5);
  return sortedTable([
    {name: '', text: true, cell: one => index.get(one) === page.chosen ? element('span', {class: 'tag warm'}, 'chosen') : one.front ? element('span', {class: 'tag good'}, 'front') : null},
    {name: 'Formats', text: true, wrap: true, cell: one => formatCounts(one.formats)},
    {name: 'Time', hint: 'float32 is 1', sort: one => one.time_ratio, cell: one => ratioText(one.time_ratio)},
    {name: 'Predicted', sort: one => one.predicted_time_ratio, cell: one => ratioText(one.predicted_time_ratio)},
    {name: 'Error', hint: 'on the search part', sort: one => noiseOf(one.search.sqnr_db), cell: one => decibels(one.search.sqnr_db)},
    {name: 'Error predicted', sort: one => noiseOf(one.predicted_sqnr_db), cell: one => decibels(one.predicted_sqnr_db)},
    {name: 'Held out', cell: held},
    scored ? {name: 'Score', text: true, wrap: true, cell: score} : null,
  ].filter(Boolean), page.combinations, {label: 'Combinations', stacked: true});
}

function formatsView(report, i) {
  const page = report.formats[i];
  const calibrations = page.calibrations.map(one => element('li', {}, one.calibration + ': ' + decibels(one.sqnr_db)));
  const links = report.formats.length < 2 ? null : element('div', {class: 'crumbs'}, report.formats.map((one, k) =>
      element('a', {href: '#/formats/' + k, 'aria-current': k === i ? 'page' : null}, `${one.graph || 'job'} ${one.job.slice(-8)}`)));
  return element('div', {}, links,
      element('h1', {}, 'Number formats of ' + (page.graph || page.job)),
      element('p', {class: 'sub'}, [page.device, shortTarget(page.target), 'job ' + page.job, page.store].filter(Boolean).join(' · ')),
      element('p', {}, page.reason + '.'), notesOf(report), formatsTiles(page),
      element('div', {class: 'grid'},
          card('Time against error', 'Libraries as measured on the search part, and the predicted front; float32 is at 1, without an error', canvas => frontChart(canvas, page), {size: 'two-thirds', plot: 'tall'}),
          card('Where the error comes from', 'Noise power of each site alone, as a share of their sum in the chosen library', noiseMeters(page), {size: 'third'}),
          card('What each bound costs', 'The fastest measured library that keeps a bound on the held-out samples; `optimize --prefer seconds,BOUND` writes it', boundTable(page), {size: 'wide'}),
          card('Libraries', 'Each combination of formats that was built and run', combinationTable(page), {size: 'wide'}),
          card('Sites', 'Convolutions and matrix products: time in each format, and the error if only this site has it', siteTable(page), {size: 'wide'}),
          calibrations.length ? card('Calibrations', 'Error if every site is int8; the first one with the least error is used', element('ul', {}, calibrations), {size: 'wide'}) : null));
}
