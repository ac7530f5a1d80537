// Charts that Chart.js does not have: parallel coordinates, and timelines of engines.

/** Prepares a canvas for drawing in CSS pixels; returns its context and size. */
function sharp(canvas) {
  const box = canvas.parentNode.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  canvas.style.width = box.width + 'px';
  canvas.style.height = box.height + 'px';
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [context, box.width, box.height];
}

/** Paints a canvas now and when its size changes. paint: of a context and its size in CSS pixels. */
function redrawn(canvas, paint) {
  const draw = () => paint(...sharp(canvas));
  const observer = new ResizeObserver(draw);
  observer.observe(canvas.parentNode);
  draw();
  return {destroy: () => observer.disconnect(), draw, paint};
}

function mixed(a, b, share) {
  const part = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  return '#' + [0, 1, 2].map(i => Math.round(part(a, i) * (1 - share) + part(b, i) * share).toString(16).padStart(2, '0')).join('');
}

function parallelCoordinates(canvas, first, metric) {
  let table = first, over = null;
  const top = 34, bottom = 12, left = 16;
  function layout(width, height) {
    const axes = table.axes.map(axis => ({name: axis.name, values: axis.values}));
    const step = (width - left - 92) / Math.max(1, axes.length);
    axes.forEach((axis, i) => {
      axis.x = left + i * step;
      axis.y = level => axis.values.length < 2 ? (top + height - bottom) / 2
          : height - bottom - level * (height - top - bottom) / (axis.values.length - 1);
    });
    const logs = table.value.map(Math.log);
    const sorted = logs.slice().sort((a, b) => a - b);
    // The slowest tenth shares the lower end, so that one outlier does not compress the others.
    const low = sorted[0], high = sorted[Math.floor(.9 * (sorted.length - 1))];
    const speed = i => high > low ? Math.max(0, (high - logs[i]) / (high - low)) : 1;
    return {axes, step, end: {x: left + axes.length * step, y: i => height - bottom - speed(i) * (height - top - bottom)},
      low, high, speed, cut: sorted[sorted.length - 1] > high};
  }
  function paint(g, width, height) {
    const c = colours(), plan = layout(width, height);
    g.font = '11px sans-serif';
    const shownRow = row => !over || row[over.axis] === over.level;
    const order = table.rows.map((_, i) => i).sort((a, b) => table.value[b] - table.value[a]);
    for (const i of order) {
      const row = table.rows[i], speed = plan.speed(i) ** 2;
      g.strokeStyle = mixed(c.accent, c.warm, speed);
      g.globalAlpha = !shownRow(row) ? .03 : over ? .6 : .12 + .6 * speed ** 2;
      g.lineWidth = 1 + speed;
      g.beginPath();
      plan.axes.forEach((axis, k) => {
        const x = axis.x, y = axis.y(row[k]);
        if (k === 0) g.moveTo(x, y);
        else g.bezierCurveTo(x - plan.step / 2, axis0(plan, k - 1, row), x - plan.step / 2, y, x, y);
      });
      const lastX = plan.axes[plan.axes.length - 1].x;
      g.bezierCurveTo(lastX + plan.step / 2, axis0(plan, plan.axes.length - 1, row), lastX + plan.step / 2, plan.end.y(i), plan.end.x, plan.end.y(i));
      g.stroke();
    }
    g.globalAlpha = 1;
    plan.axes.forEach((axis, k) => {
      g.strokeStyle = c.line;
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(axis.x, top - 6);
      g.lineTo(axis.x, height - bottom + 4);
      g.stroke();
      g.fillStyle = c.ink;
      g.textAlign = 'left';
      g.fillText(fitted(g, axis.name, plan.step - 8), axis.x - (k ? 4 : 0), 13 + (k % 2 && plan.step < 70 ? 11 : 0));
      const every = Math.ceil(axis.values.length / Math.max(2, Math.floor((height - top - bottom) / 15)));
      axis.values.forEach((value, level) => {
        const chosen = over && over.axis === k && over.level === level;
        if (level % every && !chosen && level !== axis.values.length - 1) return;
        const text = fitted(g, value.replace(/^"|"$/g, ''), Math.min(86, plan.step - 8));
        g.fillStyle = faded(c.card, .8);
        g.fillRect(axis.x + 3, axis.y(level) - 6, g.measureText(text).width + 3, 12);
        g.fillStyle = chosen ? c.warm : c.muted;
        g.fillText(text, axis.x + 4, axis.y(level) + 4);
      });
    });
    g.strokeStyle = c.line;
    g.beginPath();
    g.moveTo(plan.end.x, top - 6);
    g.lineTo(plan.end.x, height - bottom + 4);
    g.stroke();
    g.fillStyle = c.ink;
    g.fillText(metric === 'seconds' ? 'time' : metric, plan.end.x + 5, 13);
    g.fillStyle = c.muted;
    g.fillText(shown(metric, Math.exp(plan.low)), plan.end.x + 5, top + 4);
    g.fillText((plan.cut ? '≥ ' : '') + shown(metric, Math.exp(plan.high)), plan.end.x + 5, height - bottom + 4);
  }
  const axis0 = (plan, k, row) => plan.axes[k].y(row[k]);
  canvas.onpointermove = event => {
    const box = canvas.getBoundingClientRect(), plan = layout(box.width, box.height);
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let found = null;
    plan.axes.forEach((axis, k) => {
      if (Math.abs(axis.x - x) > Math.min(40, plan.step / 2)) return;
      axis.values.forEach((_, level) => {
        const away = Math.abs(axis.y(level) - y);
        if (away < 12 && (!found || away < found.away)) found = {axis: k, level, away};
      });
    });
    if ((found && found.axis * 1e6 + found.level) === (over && over.axis * 1e6 + over.level)) return;
    over = found;
    kept.draw();
  };
  canvas.onpointerleave = () => { over = null; kept.draw(); };
  const kept = redrawn(canvas, paint);
  return {destroy: kept.destroy, paint, show: other => { table = other; over = null; kept.draw(); }};
}

function fitted(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && g.measureText(text.slice(0, end) + '…').width > width) --end;
  return text.slice(0, end) + '…';
}

function engineTimeline(canvas, vta) {
  return redrawn(canvas, (g, width, height) => {
    const c = colours();
    g.font = '11px sans-serif';
    const left = 78, right = 10, row = (height - 30) / vta.engines.length;
    const at = cycle => left + cycle / vta.cycles * (width - left - right);
    vta.engines.forEach((engine, i) => {
      const y = 4 + i * row;
      g.fillStyle = c.grid;
      g.fillRect(left, y, width - left - right, row - 8);
      g.fillStyle = c.list[i];
      for (const [begin, end] of engine.spans) g.fillRect(at(begin), y, Math.max(.6, at(end) - at(begin)), row - 8);
      g.fillStyle = c.ink;
      g.fillText(engine.name, 0, y + row / 2);
    });
    g.fillStyle = c.muted;
    g.fillText('0', left, height - 8);
    const text = shown('cycles', vta.cycles);
    g.fillText(text, width - right - g.measureText(text).width, height - 8);
  });
}

function vtaCards(task) {
  const vta = task.vta;
  const cards = [];
  if (vta.engines.some(engine => engine.spans.length)) {
    cards.push(card('Engines of the winner', 'Cycle model ' + vta.cycle_model + '; an engine waits where its row is empty', canvas => engineTimeline(canvas, vta), {size: 'wide', plot: 'short'}));
  }
  const bytes = Object.entries(vta.bytes);
  if (bytes.length) {
    cards.push(card('Bytes by memory', null, canvas => {
      const c = colours();
      return new Chart(canvas, {type: 'bar', data: {labels: bytes.map(one => one[0]), datasets: [{data: bytes.map(one => one[1]),
        backgroundColor: bytes.map((_, i) => c.list[i % c.list.length]), borderRadius: 3, barPercentage: .7}]},
      options: chartOptions({x: {ticks: {callback: value => bytesText(value)}, min: 0}, y: {grid: {display: false}, ticks: {color: c.ink}}},
          {indexAxis: 'y', plugins: {legend: {display: false}, tooltip: {callbacks: {label: item => bytesText(item.parsed.x)}}}})});
    }));
  }
  if (vta.points.length) {
    cards.push(card('Cycles and bytes', `${countText(vta.points.length)} configs of ${countText(vta.points_of)} trials, simulated for this page. No config is better in both metrics than one on the line`, canvas => {
      const c = colours(), point = one => ({x: one.cycles, y: one.bytes});
      const front = vta.points.filter(one => one.front).sort((a, b) => a.cycles - b.cycles);
      return new Chart(canvas, {data: {datasets: [
        {type: 'scatter', label: 'winner', data: vta.points.filter(one => one.best).map(point), backgroundColor: c.warm, pointRadius: 6, pointStyle: 'rectRot'},
        {type: 'line', label: 'Pareto front', data: front.map(point), borderColor: c.good, backgroundColor: c.good, borderWidth: 1.6, pointRadius: 3.5, stepped: 'after'},
        {type: 'scatter', label: 'trials', data: vta.points.map(point), backgroundColor: faded(c.accent, .45), pointRadius: 2.6}]},
      options: chartOptions({x: Object.assign(valueAxis('cycles', 'cycles'), around(vta.points, 'cycles')), y: Object.assign(valueAxis('bytes', 'bytes of DRAM'), around(vta.points, 'bytes'))},
          {plugins: {tooltip: {callbacks: {label: item => shown('cycles', item.parsed.x) + ', ' + bytesText(item.parsed.y)}}}})});
    }));
  }
  return cards;
}

/** Ends of a logarithmic axis, somewhat beyond the points. */
function around(points, name) {
  const values = points.map(one => one[name]);
  return {min: Math.min(...values) / 1.15, max: Math.max(...values) * 1.15};
}

function gpuCards(task) {
  const cards = [card('GPU resources', 'Of the winner on one multiprocessor', element('table', {}, element('tbody', {}, Object.entries(task.gpu).map(([name, value]) =>
      element('tr', {}, element('td', {class: 'text'}, name), element('td', {}, name.includes('share of') || name === 'occupancy' ? percent(value)
          : name.startsWith('bytes') ? bytesText(value) : countText(value)))))))];
  const points = task.gpu_points;
  if (points.length > 1) {
    cards.push(card('Occupancy, shared memory, bank conflicts', 'The winner and configs of the whole search; the area of a dot shows its shared memory', canvas => {
      const c = colours(), most = Math.max(1, ...points.map(one => one.shared_bytes));
      const free = points.filter(one => !one.best && one.bank_conflict_ways <= 1.01), clash = points.filter(one => !one.best && one.bank_conflict_ways > 1.01);
      const set = (label, list, colour, style) => ({type: 'scatter', label, data: list.map(one => ({x: 100 * one.occupancy, y: one.value, one})), backgroundColor: faded(colour, .6),
        borderColor: colour, pointStyle: style, pointRadius: list.map(one => 3 + 6 * Math.sqrt(one.shared_bytes / most))});
      return new Chart(canvas, {data: {datasets: [set('winner', points.filter(one => one.best), c.warm, 'rectRot'), set('no bank conflicts', free, c.accent, 'circle'),
        set('bank conflicts', clash, c.bad, 'circle')]},
      options: chartOptions({x: {type: 'linear', min: 0, max: 105, title: {text: 'occupancy'}, ticks: {callback: value => value > 100 ? null : value + ' %'}}, y: valueAxis(task.metric, '')},
          {plugins: {tooltip: {callbacks: {label: item => {
            const one = item.raw.one;
            return `${shown(task.metric, one.value)}, occupancy ${percent(one.occupancy)}, ${bytesText(one.shared_bytes)} shared, conflicts ${digits(one.bank_conflict_ways, 3)} ways`;
          }}}}})});
    }));
  }
  return cards;
}
