// Charts as files. A chart is drawn again on another context: one that writes SVG, or a canvas with
// twice the resolution.

/** A drawing context that writes SVG. Of the 2D context it has what charts use. */
class SvgContext {
  constructor(canvas, width, height) {
    Object.assign(this, {canvas, width, height, parts: [], clips: [], saved: [], path: ''});
    this.measure = document.createElement('canvas').getContext('2d');
    this.matrix = [1, 0, 0, 1, 0, 0];
    Object.assign(this, {fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, lineCap: 'butt', lineJoin: 'miter',
      globalAlpha: 1, font: '10px sans-serif', textAlign: 'start', textBaseline: 'alphabetic', dash: [], clipped: ''});
  }
  // ---- State
  save() {
    const {matrix, fillStyle, strokeStyle, lineWidth, lineCap, lineJoin, globalAlpha, font, textAlign, textBaseline, dash, clipped} = this;
    this.saved.push({matrix: matrix.slice(), fillStyle, strokeStyle, lineWidth, lineCap, lineJoin, globalAlpha, font, textAlign, textBaseline, dash, clipped});
  }
  restore() { Object.assign(this, this.saved.pop()); }
  setLineDash(dash) { this.dash = dash; }
  getLineDash() { return this.dash; }
  transform(a, b, c, d, e, f) {
    const m = this.matrix;
    this.matrix = [m[0] * a + m[2] * b, m[1] * a + m[3] * b, m[0] * c + m[2] * d, m[1] * c + m[3] * d,
      m[0] * e + m[2] * f + m[4], m[1] * e + m[3] * f + m[5]];
  }
  translate(x, y) { this.transform(1, 0, 0, 1, x, y); }
  scale(x, y) { this.transform(x, 0, 0, y, 0, 0); }
  rotate(angle) { this.transform(Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle), 0, 0); }
  setTransform(...m) { if (m.length === 6) this.matrix = m; }
  resetTransform() { this.matrix = [1, 0, 0, 1, 0, 0]; }
  clearRect() {}
  // ---- Paths
  at(x, y) {
    const m = this.matrix;
    return SvgContext.number(m[0] * x + m[2] * y + m[4]) + ' ' + SvgContext.number(m[1] * x + m[3] * y + m[5]);
  }
  static number(value) { return String(Math.round(100 * value) / 100); }
  beginPath() { this.path = ''; }
  closePath() { this.path += 'Z'; }
  moveTo(x, y) { this.path += 'M' + this.at(x, y); }
  lineTo(x, y) { this.path += (this.path ? 'L' : 'M') + this.at(x, y); }
  bezierCurveTo(a, b, c, d, x, y) { this.path += 'C' + this.at(a, b) + ' ' + this.at(c, d) + ' ' + this.at(x, y); }
  quadraticCurveTo(a, b, x, y) { this.path += 'Q' + this.at(a, b) + ' ' + this.at(x, y); }
  rect(x, y, width, height) {
    this.moveTo(x, y);
    this.lineTo(x + width, y);
    this.lineTo(x + width, y + height);
    this.lineTo(x, y + height);
    this.closePath();
  }
  arc(x, y, radius, from, to, backwards) { this.ellipse(x, y, radius, radius, 0, from, to, backwards); }
  ellipse(x, y, width, height, turned, from, to, backwards) {
    const span = Math.max(-2 * Math.PI, Math.min(2 * Math.PI, to - from));
    const sweep = backwards && span > 0 ? span - 2 * Math.PI : span;
    const steps = Math.max(1, Math.ceil(Math.abs(sweep) / (Math.PI / 2) - 1e-9)), step = sweep / steps;
    const bend = 4 / 3 * Math.tan(step / 4);  // a quarter of an ellipse as a Bezier curve
    const point = (c, s) => [x + width * c * Math.cos(turned) - height * s * Math.sin(turned),
      y + width * c * Math.sin(turned) + height * s * Math.cos(turned)];
    this.lineTo(...point(Math.cos(from), Math.sin(from)));
    for (let i = 0; i < steps; ++i) {
      const a = from + i * step, b = a + step;
      this.bezierCurveTo(...point(Math.cos(a) - bend * Math.sin(a), Math.sin(a) + bend * Math.cos(a)),
          ...point(Math.cos(b) + bend * Math.sin(b), Math.sin(b) - bend * Math.cos(b)), ...point(Math.cos(b), Math.sin(b)));
    }
  }
  clip() {
    const outer = this.clipped ? ` clip-path="url(#${this.clipped})"` : '';
    this.clipped = 'clip' + this.clips.length;
    this.clips.push(`<clipPath id="${this.clipped}"><path${outer} d="${this.path}"/></clipPath>`);
  }
  // ---- Painting
  add(tag, attributes, text) {
    if (this.clipped) attributes['clip-path'] = `url(#${this.clipped})`;
    if (this.globalAlpha < 1) attributes.opacity = this.globalAlpha;
    const list = Object.entries(attributes).map(([name, value]) => ` ${name}="${SvgContext.escaped(String(value))}"`).join('');
    this.parts.push(text === undefined ? `<${tag}${list}/>` : `<${tag}${list}>${SvgContext.escaped(text)}</${tag}>`);
  }
  static escaped(text) {
    return text.replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);
  }
  fill(path) {
    const d = path instanceof SvgContext ? path.path : this.path;
    if (d) this.add('path', {d, fill: this.fillStyle});
  }
  stroke(path) {
    const d = path instanceof SvgContext ? path.path : this.path;
    const scale = Math.hypot(this.matrix[0], this.matrix[1]);
    const attributes = {d, fill: 'none', stroke: this.strokeStyle, 'stroke-width': SvgContext.number(scale * this.lineWidth)};
    if (this.dash.length) attributes['stroke-dasharray'] = this.dash.join(' ');
    if (this.lineCap !== 'butt') attributes['stroke-linecap'] = this.lineCap;
    if (this.lineJoin !== 'miter') attributes['stroke-linejoin'] = this.lineJoin;
    if (d && this.lineWidth > 0) this.add('path', attributes);
  }
  /** Keeps the path of other drawings. */
  apart(make, paint) {
    const path = this.path;
    this.path = '';
    make();
    paint();
    this.path = path;
  }
  fillRect(...box) { this.apart(() => this.rect(...box), () => this.fill()); }
  strokeRect(...box) { this.apart(() => this.rect(...box), () => this.stroke()); }
  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }
  fillText(text, x, y) {
    const [, weight, pixels, family] = /^(.*?)([\d.]+)px\S* (.*)$/.exec(this.font), size = Number(pixels);
    const lower = {middle: .35, top: .8, hanging: .8, bottom: -.2}[this.textBaseline] || 0;
    const m = this.matrix, turned = m[1] !== 0 || m[2] !== 0;
    const attributes = {fill: this.fillStyle, 'font-size': size, 'font-family': family,
      'text-anchor': {center: 'middle', right: 'end', end: 'end'}[this.textAlign] || 'start'};
    if (turned) {
      Object.assign(attributes, {x: 0, y: lower * size, transform: `matrix(${[...m.slice(0, 4).map(SvgContext.number), this.at(x, y)].join(' ')})`});
    } else {
      const [left, top] = this.at(x, y).split(' ').map(Number);
      Object.assign(attributes, {x: left, y: SvgContext.number(top + lower * size)});
    }
    if (weight.includes('bold')) attributes['font-weight'] = 'bold';
    this.add('text', attributes, String(text));
  }
  strokeText() {}
  drawImage() {}
  /** The file. background: colour of the chart's card. */
  text(background) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">`
        + `<defs>${this.clips.join('')}</defs><rect width="100%" height="100%" fill="${background}"/>${this.parts.join('\n')}</svg>\n`;
  }
}

/** Draws a chart of Chart.js on another context. */
function paintChart(chart, context) {
  const controllers = chart.getSortedVisibleDatasetMetas();
  const holders = [chart, chart.legend, ...Object.values(chart.scales)].filter(Boolean).map(holder => [holder, 'ctx'])
      .concat(controllers.map(meta => [meta.controller, '_ctx']));
  const before = holders.map(([holder, name]) => holder[name]);
  holders.forEach(([holder, name]) => { holder[name] = context; });
  // Lines keep their path as an object that only a canvas can read.
  const lines = controllers.map(meta => meta.dataset).filter(line => line && line.path && context instanceof SvgContext);
  for (const line of lines) {
    line._path = new SvgContext(chart.canvas, 0, 0);
    if (line.path(line._path, 0, line.points.length)) line._path.closePath();
  }
  chart.draw();
  for (const line of lines) delete line._path;
  holders.forEach(([holder, name], i) => { holder[name] = before[i]; });
}

function paintOn(canvas, context, width, height) {
  const chart = charts.live.get(canvas);
  const own = chart.current ? chart.current() : chart;
  if (own.paint) own.paint(context, width, height);
  else paintChart(own, context);
}

function download(name, blob) {
  const link = element('a', {href: URL.createObjectURL(blob), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A file name from the texts of the page. */
const fileName = (title, extension) => [document.title.replace(/ · Tilewright$/, ''), title].join(' ')
    .replace(/[^\w.-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '').slice(-120) + '.' + extension;

function svgOf(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const context = new SvgContext(canvas, width, height);
  paintOn(canvas, context, width, height);
  return context.text(colours().card);
}

function pngOf(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = 2;
  const large = element('canvas', {width: scale * width, height: scale * height});
  const context = large.getContext('2d');
  context.scale(scale, scale);
  paintOn(canvas, context, width, height);
  context.resetTransform();
  context.globalCompositeOperation = 'destination-over';
  context.fillStyle = colours().card;
  context.fillRect(0, 0, large.width, large.height);
  return new Promise(done => large.toBlob(done, 'image/png'));
}

function saveButtons(canvas, title) {
  const save = (name, make) => element('button', {type: 'button', class: 'plain save', title: 'Save this chart as ' + name,
    'aria-label': `Save ${title} as ${name}`, onclick: make}, name);
  return [
    save('SVG', () => {
      complete(canvas);
      download(fileName(title, 'svg'), new Blob([svgOf(canvas)], {type: 'image/svg+xml'}));
    }),
    save('PNG', () => {
      complete(canvas);
      pngOf(canvas).then(blob => download(fileName(title, 'png'), blob));
    })];
}
