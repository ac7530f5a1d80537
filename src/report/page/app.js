// Selects the view by the address after #, and handles links, the theme, printing, and, while a job
// runs, new data.

let report = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');

function say(text) {
  document.body.dataset.error = text;
  document.body.prepend(element('div', {class: 'failed', role: 'alert'}, 'This page could not be drawn: ' + text));
}
window.addEventListener('error', event => say(event.message));

function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean);
  const number = (text, count) => /^\d+$/.test(text || '') && Number(text) < count ? Number(text) : 0;
  if (report.formats.length && (parts[0] === 'formats' || !report.jobs.length && parts[0] !== 'bench')) {
    return {view: 'formats', job: 0, formats: number(parts[1], report.formats.length)};
  }
  if (report.bench && (parts[0] === 'bench' || !report.jobs.length)) return {view: 'bench', job: 0};
  if (!report.jobs.length) return {view: 'waiting', job: 0};
  const job = parts[0] === 'job' ? number(parts[1], report.jobs.length) : 0;
  if (parts[0] === 'network' && report.network) return {view: 'network', job};
  if (parts[0] === 'comparison' && report.comparison) return {view: 'comparison', job};
  if (parts[0] === 'all') return {view: 'all', job};
  if (parts[2] === 'trials') return {view: 'trials', job};
  if (parts[2] === 'task' && report.jobs[job].tasks.length) {
    return {view: 'task', job, task: number(parts[3], report.jobs[job].tasks.length)};
  }
  return {view: 'overview', job};
}

/** All views below each other. Those of tasks are made when they come near. */
function everything() {
  const taskLater = (i, task, k) => later(element('div', {class: 'deferred page'}, element('h2', {}, task.name)),
      node => node.replaceChildren(taskView(report, i, k)));
  const views = report.jobs.flatMap((job, i) => [overview(report, i), ...job.tasks.map((task, k) => taskLater(i, task, k))]);
  report.formats.forEach((page, i) => views.push(formatsView(report, i)));
  if (report.network) views.push(networkView(report));
  if (report.comparison) views.push(comparisonView(report));
  if (report.bench) views.push(benchView(report));
  return element('div', {}, views);
}

function viewOf(at) {
  if (at.view === 'waiting') {
    return element('div', {}, element('h1', {}, report.title), notesOf(report),
        none(report.live ? 'The job has started and has no trials yet.' : 'There are no trials.'));
  }
  if (at.view === 'network') return networkView(report);
  if (at.view === 'comparison') return comparisonView(report);
  if (at.view === 'formats') return formatsView(report, at.formats);
  if (at.view === 'bench') return benchView(report);
  if (at.view === 'all') return everything();
  if (at.view === 'trials') return trialsView(report, at.job);
  return at.view === 'task' ? taskView(report, at.job, at.task) : overview(report, at.job);
}

/** Draws the view of the address. Controls keep their state, and the focus. */
function show() {
  const at = route(), focused = document.activeElement;
  const key = main.contains(focused) ? focused.dataset.focus : undefined;
  const selection = key && focused.selectionStart !== undefined && focused.type === 'search' ? [focused.selectionStart, focused.selectionEnd] : null;
  document.title = (at.view === 'task' ? report.jobs[at.job].tasks[at.task].name + ' · ' : '') + report.title + ' · Tilewright';
  forgetCharts();
  main.replaceChildren(viewOf(at));
  countCharts();
  if (at.view !== 'waiting') showViews(at);
  document.getElementById('foot').textContent = `Made ${dateText(report.made_unix)} by ${report.program}`;
  window.drawnAt = performance.now();
  const again = key && [...main.querySelectorAll('[data-focus]')].find(node => node.dataset.focus === key);
  if (!again) return;
  again.focus({preventScroll: true});
  if (selection) again.setSelectionRange(...selection);
}

/** Links to the other views, and the jobs there are. */
function showViews(at) {
  const overviewLink = at.job ? '#/job/' + at.job : '#/';
  const views = !report.jobs.length ? [] : [['Overview', overviewLink, at.view === 'overview'], ['Tasks', `#/job/${at.job}/task/0`, at.view === 'task'], ['Trials', `#/job/${at.job}/trials`, at.view === 'trials']];
  if (report.formats.length) views.push(['Formats', '#/formats', at.view === 'formats']);
  if (report.network) views.push(['Network', '#/network', at.view === 'network']);
  if (report.comparison) views.push(['Comparison', '#/comparison', at.view === 'comparison']);
  if (report.bench) views.push(['Benchmarks', '#/bench', at.view === 'bench']);
  if (report.jobs.length) views.push(['All', '#/all', at.view === 'all']);
  document.getElementById('views').replaceChildren(...views.map(([name, href, here]) =>
      element('a', {href, 'aria-current': here ? 'page' : null}, name)));
  const pick = document.getElementById('job');
  document.getElementById('job-choice').hidden = report.jobs.length < 2;
  pick.replaceChildren(...report.jobs.map((job, i) => {
    const option = element('option', {value: i}, `${job.graph || 'job'} ${job.name.slice(0, 8)}, ${dateText(job.ended_unix)}`);
    option.selected = i === at.job;
    return option;
  }));
}

document.getElementById('job').addEventListener('change', event => { location.hash = '#/job/' + event.target.value; });
window.addEventListener('hashchange', () => {
  show();
  window.scrollTo(0, 0);
  main.focus({preventScroll: true});
});
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);

const themePicker = document.getElementById('theme');
themePicker.replaceChildren(...THEMES.map(name => element('option', {value: name}, name)));
themePicker.value = theme.choice();
themePicker.addEventListener('change', () => {
  theme.choose(themePicker.value);
  show();
});

document.querySelector('.skip').addEventListener('click', event => {
  event.preventDefault();  // the address is the view
  main.focus();
});

const printing = on => {
  document.documentElement.classList.toggle('print', on);
  show();
  if (on) completeAll();
};
window.addEventListener('beforeprint', () => printing(true));
window.addEventListener('afterprint', () => printing(false));

/** While a job runs, requests the data again, and draws it if it has changed. */
function follow() {
  const state = element('span', {class: 'live', id: 'live'}, 'live');
  document.querySelector('.top').append(state);
  let seen = '';
  const ask = async () => {
    let wait = 100;  // the server answers after two seconds, or as soon as the job ends
    try {
      const answer = await fetch('data.json' + location.search + '&wait=1', {cache: 'no-store'});
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      state.classList.remove('lost');
      state.textContent = 'live';
      if (text !== seen) {
        seen = text;
        report = JSON.parse(text);
        const top = window.scrollY;
        show();
        window.scrollTo(0, top);
      }
      if (!report.live) {
        state.remove();
        return;
      }
    } catch (error) {
      state.classList.add('lost');
      state.textContent = 'no answer from the job';
      wait = 5000;
    }
    setTimeout(ask, wait);
  };
  setTimeout(ask, 100);
}

show();
// A page in a file has no server: of a saved page, or of a store that was copied while its job ran.
if (report.live && location.protocol !== 'file:') follow();
