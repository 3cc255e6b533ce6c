// The page of nvtally view: draws tiles that the server computes. Names are data: they only ever become text.
'use strict';
const $ = id => document.getElementById(id);
const HEAD = 18, ROW = 16, CURVE = 36, GAP = 6, ROWS_MOST = 8;
// Okabe and Ito's colours for all kinds of sight, lighter so that dark text reads on them.
const COLORS = ['#8ecdf0', '#f2c14e', '#6fd0ae', '#f0a27a', '#d9a6c8', '#a9b8f0', '#cfd36b', '#9fd8d8', '#e8b7a0', '#b7d99a'];
// Classes of operations have the colours of the charts (plots/looks.c): GEMM, attention, elementwise, copy, communication, others.
const CLASSES = ['#0072b2', '#882255', '#cc79a7', '#f0e442', '#d55e00', '#bbbbbb'], DARK = ['#0072b2', '#882255'];
const CAUSES = {'launch latency': '#9a9a9a', 'the host had waited': '#f2c14e', 'launch-bound': '#f0a27a', 'a launch that loads code': '#d9a6c8', 'another API call': '#8ecdf0', 'host code': '#c8603c', 'cause unknown': '#dcdcdc'};
// Copies of a side that are shown, one or two: moments of one lie on the shown axis once its shift is taken from them.
const COPIES = {A: '#8ecdf0', B: '#f2c14e'};
let copies = [{side: 0, shift: 0, letter: ''}], pinned = null;
let all, from = 0, to = 1, names = [], classes = [], tiles = new Map(), places = [], under = null, chosen = null, marked = null, side = 184;
let busy = false, stale = false, wanted = '', drawing = false, pointer = null, links = [];
// A moment that a finding is about; and of iterations that are laid over each other where they begin, and the length of each.
let here = null, origin = 0, lengths = [];

// In a document everything that can be asked is there already (analyze/view/embed.c).
const data = $('data') && JSON.parse($('data').textContent);
const merged = parts => all.traces.map((_, trace) => Object.assign({}, ...parts.map(part => part[trace])));
const local = {
  lanes: () => data.lanes,
  findings: () => data.findings,
  // What begins in the window is taken from its own tile where that is there and wanted, the rest from those around it.
  parts(side, fine) { const {window: at, tiles: [before, middle, after, window]} = data.sides[side]; return [[before, -Infinity], [fine && window || middle, before ? at[0] : -Infinity], [after, at[1]]].filter(([tile]) => tile); },
  tiles({from, to, lanes}) {
    const side = sideOf(laneOf({lane: parseInt(lanes)}).trace), {window} = data.sides[side];
    const parts = local.parts(side, (to - from) / 2 < 10 * (window[1] - window[0])), out = {};
    for (const id of lanes.split(',')) {
      if (parts[0][0].lanes[id].curve) { out[id] = {curve: parts.flatMap(([tile, begin]) => { const {curve} = tile.lanes[id]; let i = 0; while (curve[i] < begin) i += 4; return curve.slice(i); })}; continue; }
      out[id] = {tracks: parts[0][0].lanes[id].tracks.map((_, number) => parts.flatMap(([tile, begin]) => {
        const track = tile.lanes[id].tracks[number], list = [];
        for (let i = 0; i < track.length; i += 6) if (track[i] >= begin && track[i] <= to && track[i] + track[i + 1] >= from) for (let k = i; k < i + 6; k++) list.push(track[k]);
        return list;
      }))};
    }
    return {names: merged(parts.map(([tile]) => tile.names)), classes: merged(parts.map(([tile]) => tile.classes)), lanes: out};
  },
  *spans(side) {
    for (const [tile, begin] of local.parts(side, true)) for (const lane of all.lanes) {
      if (sideOf(lane.trace) !== side) continue;
      const {tracks} = tile.lanes[lane.id];
      for (let track = 0; tracks && track < tracks.length; track++) for (let i = 0; i < tracks[track].length; i += 6) {
        const [start, length, ns, count, name, row] = tracks[track].slice(i, i + 6);
        if (start >= begin) yield {lane, track, start, end: start + length, ns, count, row, name: tile.names[lane.trace][name] ?? ''};
      }
    }
  },
  event: () => ({fields: [], path: [], links: [], neighbours: []}),
  window({from, to, side, with: other, with_from, with_to}) {
    const sums = {ranges: new Map(), operations: new Map(), 'API calls': new Map(), 'MPI calls': new Map(), 'OS calls': new Map()}, zeros = other === undefined ? [0, 0] : [0, 0, 0, 0];
    const weight = row => other === undefined ? row[2] : Math.abs(row[4] - row[2]), rows = kind => [...sums[kind].values()].sort((a, b) => weight(b) - weight(a));
    let coarse = false;
    const add = (side, from, to, at) => {
      for (const span of local.spans(side)) {
        const of = sums[all.kinds[span.lane.kind]];
        if (!of || span.start < from || span.start > to) continue;
        coarse ||= span.count > 1;
        const row = of.get(span.name) || [span.name, ...zeros];
        row[at] += span.count;
        row[at + 1] += span.ns;
        of.set(span.name, row);
      }
    };
    add(side, from, to, 1);
    if (other !== undefined) add(other, with_from, with_to, 3);
    if (coarse) return {ranges: [], operations: [], calls: [], mpi: [], os: [], more: 0, coarse};
    return {ranges: rows('ranges').map(([name, ...rest]) => [name, '', ...rest]), operations: rows('operations'), calls: rows('API calls'), mpi: rows('MPI calls'), os: rows('OS calls'), more: 0};
  },
  find({text, moment, lane = Infinity, track = 0, back}) {
    const order = (a, b) => a[6] - b[6] || a[3] - b[3] || a[4] - b[4], place = [0, '', 0, lane, track, 0, moment];
    const isAhead = row => back ? order(row, place) < 0 : order(row, place) > 0;
    const comesBefore = (a, b) => isAhead(a) !== isAhead(b) ? isAhead(a) : back ? order(a, b) > 0 : order(a, b) < 0;
    const found = new Map();
    let spans = 0, passed = 0, next;
    for (const span of all.sides.flatMap((_, side) => [...local.spans(side)])) {
      if (span.count > 1 || all.kinds[span.lane.kind] === 'iterations' || !span.name.toLowerCase().includes(text.toLowerCase())) continue;
      const row = [span.lane.trace, span.name, 1, span.lane.id, span.track, span.row, span.start, span.end], key = span.lane.trace + ' ' + span.name, had = found.get(key);
      spans++;
      passed += isAhead(row) === !!back;
      if (!next || comesBefore(row, next)) next = row;
      row[2] += had ? had[2] : 0;
      if (had && !comesBefore(row, had)) had[2]++; else found.set(key, [...row]);
    }
    const ahead = next && isAhead(next);
    return {spans, next, place: back ? ahead ? passed : spans : ahead ? passed + 1 : 1, names: [...found.values()].sort((a, b) => b[2] - a[2]).slice(0, 200)};
  },
};
const ask = async (what, values = {}) => {
  if (data) return local[what](values);
  const reply = await fetch(what + '?' + new URLSearchParams(values));
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
};
const note = text => { $('note').hidden = !text; $('note').textContent = text || ''; };
const failed = error => silent >= SILENT ? ended() : note('The server does not answer (' + error.message.trim() + '): is nvtally view still running?');

function time(ns, step = ns) {
  const size = Math.abs(step), [unit, by] = size >= 1e9 ? ['s', 1e9] : size >= 1e6 ? ['ms', 1e6] : size >= 1e3 ? ['µs', 1e3] : ['ns', 1];
  return Number((ns / by).toPrecision(ns === step ? 4 : 12)) + ' ' + unit;
}
const count = n => n.toLocaleString('en');
// Control characters are shown as their pictures.
const visible = text => text.replace(/[\u0000-\u001f]/g, c => String.fromCharCode(0x2400 + c.charCodeAt(0))).replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');
const brief = (text, most = 1000) => text.length > most ? text.slice(0, most) + '… (' + count(text.length) + ' characters)' : text;
const make = (kind, text, parent, className) => {
  const element = document.createElement(kind);
  if (text !== undefined) element.textContent = visible(brief(String(text)));
  if (className) element.className = className;
  if (parent) parent.append(element);
  return element;
};
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name);
const colorOf = new Map();
const classOf = (lane, id) => all.kinds[lane.kind] === 'operations' ? classes[lane.trace][id] : undefined;
function color(lane, id, name) {
  if (all.kinds[lane.kind] === 'GPU idle') return CAUSES[name] || '#9a9a9a';
  if (classOf(lane, id) !== undefined) return CLASSES[classOf(lane, id)];
  let found = colorOf.get(name);
  if (!found) {
    let hash = 0;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
    colorOf.set(name, found = COLORS[(hash >>> 0) % COLORS.length]);
  }
  return found;
}
const narrow = matchMedia('(max-width: 760px)'); // as in the style
const width = () => Math.max(50, $('scroll').clientWidth - side);
const x = moment => side + (moment - from) / (to - from) * width();
const moment = px => from + (px - side) / width() * (to - from);

const isOf = (trace, side) => trace >= side.first && trace < side.first + side.traces;
const sideOf = trace => all.sides.findIndex(side => isOf(trace, side));
// What a lane is called in any run: without the numbers of processes and threads; `loosely` the first, second … of its kind in its process.
function keysOf(entries, loosely) {
  const processes = new Map(), seen = new Map(), keys = new Map();
  for (const entry of entries) {
    const {lane} = entry, process = lane.trace + ' ' + lane.process;
    if (!processes.has(process)) processes.set(process, processes.size);
    if (entry.partner) continue;
    const key = [processes.get(process), lane.kind, loosely || lane.label.replace(/^\d+ ?/, '')].join();
    seen.set(key, (seen.get(key) || 0) + 1);
    keys.set(key + ',' + seen.get(key), entry);
  }
  return keys;
}
// Lanes in the order in which they stand: those of two copies in pairs.
function inOrder() {
  const [first, second] = copies.map((copy, number) => all.lanes.filter(lane => isOf(lane.trace, all.sides[copy.side])).map(lane => ({lane, copy: number, key: number + ' ' + lane.id})));
  if (!second) return first;
  for (const loosely of ['', '*']) {
    const others = keysOf(second, loosely);
    for (const [key, entry] of keysOf(first, loosely)) if (others.has(key)) { entry.partner = others.get(key); entry.partner.partner = entry; }
  }
  return first.flatMap(entry => entry.partner ? [entry, entry.partner] : [entry]).concat(second.filter(entry => !entry.partner));
}
// Processes whose lanes are folded.
const folded = new Set(), groupOf = (lane, copy) => copy + ' ' + lane.trace + ' ' + lane.process;
// Lanes of many rows show the first ones until all are asked for.
const unfolded = new Set(), isLong = lane => lane.tracks > ROWS_MOST + 2, lineOf = (lane, copy) => [groupOf(lane, copy), lane.kind, lane.label].join();
const rowsOf = (lane, copy) => Math.max(1, isLong(lane) && !unfolded.has(lineOf(lane, copy)) ? ROWS_MOST : lane.tracks || 1);
function putButton(item, key, isOpen, name, toggle) {
  const button = make('button', isOpen ? '\u25be' : '\u25b8');
  button.dataset.group = key;
  button.setAttribute('aria-expanded', String(isOpen));
  button.setAttribute('aria-label', name);
  button.title = name;
  button.onclick = () => { toggle(); layOut(); draw(); load(); focusOn(key); };
  item.prepend(button);
}
const focusOn = key => [...$('labels').querySelectorAll('button')].find(one => one.dataset.group === key)?.focus();
// Labels of many lanes are there around what is seen alone: ten thousand took seconds.
const LABELS_MOST = 600;
let labels = [], labelled = '';
function putLabels() {
  const list = $('labels'), {scrollTop, clientHeight} = $('scroll'), some = labels.length > LABELS_MOST;
  const shown = some ? labels.filter(({at}) => at > scrollTop - clientHeight && at < scrollTop + 2 * clientHeight) : labels;
  const key = some ? shown.length && shown[0].at + ' ' + shown.length : 'all', had = list.contains(document.activeElement) && document.activeElement.dataset.group;
  if (key === labelled) return;
  labelled = key;
  list.replaceChildren();
  for (const {put} of shown) put();
  if (had) focusOn(had);
}
// Where lanes stand, from top to bottom: a line for each process, then its lanes.
function layOut() {
  side = narrow.matches ? 0 : copies.length > 1 ? 206 : 184;
  $('labels').style.setProperty('--side', side ? side + 'px' : '100%');
  const head = side ? 0 : HEAD, lasts = [];
  let y = 0;
  places = [];
  labels = [];
  labelled = '';
  const label = (text, at, kind, extra, letter) => {
    const item = make('li', undefined, $('labels'), kind);
    if (letter) make('b', letter, item, 'copy' + letter);
    item.append(visible(text));
    item.style.top = at + 'px';
    if (extra) make('small', ' ' + extra, item);
    return item;
  };
  for (const {lane, copy, key} of inOrder()) {
    const group = groupOf(lane, copy), letter = copies[copy].letter;
    if (group !== lasts[copy] && (lane.process || all.traces.length > 1)) {
      const name = [all.traces.length > 1 && all.traces[lane.trace], lane.process].filter(text => text).join(': ');
      const at = y + 2;
      labels.push({at, put: () => putButton(label(name, at, 'process', '', letter), group, !folded.has(group), 'lanes of ' + visible(name), () => folded.delete(group) || folded.add(group))});
      y += HEAD + 4;
    }
    lasts[copy] = group;
    if (folded.has(group)) continue;
    const rows = rowsOf(lane, copy), height = lane.unit === undefined ? rows * ROW : CURVE;
    // Not what the label says; bytes have KiB, MiB or GiB behind each value.
    const kind = all.kinds[lane.kind], extra = lane.unit === 'B' ? '' : lane.unit || (kind === lane.label || kind === 'GPU idle' ? '' : kind);
    const line = lineOf(lane, copy), at = y;
    labels.push({at, put() {
      const item = label(lane.label, at, '', isLong(lane) && rows < lane.tracks ? extra + ', ' + rows + ' of ' + lane.tracks + ' rows' : extra, letter);
      if (isLong(lane)) putButton(item, line, unfolded.has(line), 'all ' + lane.tracks + ' rows of ' + visible(lane.label) + ' ' + extra, () => unfolded.delete(line) || unfolded.add(line));
    }});
    places.push({lane, copy, key, y: y + head, height, rows});
    y += head + height + GAP;
  }
  $('tall').style.height = Math.max(y, $('scroll').clientHeight) + 'px';
  putLabels();
}
const placeOf = spot => places.find(one => one.lane.id === spot.lane && one.copy === (spot.copy || 0));
const seen = () => {
  const top = $('scroll').scrollTop, bottom = top + $('scroll').clientHeight;
  return places.filter(place => place.y + place.height >= top && place.y <= bottom);
};

// Tiles of half a screen more on either side; one question at a time, the last one wins.
async function tilesOf(copy, asked) {
  const shift = copies[copy].shift, reply = await ask('tiles', {...asked, from: asked.from + shift, to: asked.to + shift});
  reply.names.forEach((of, trace) => Object.assign(names[trace], of));
  reply.classes.forEach((of, trace) => Object.assign(classes[trace], of));
  for (const id in reply.lanes) {
    const {tracks, curve} = reply.lanes[id];
    if (tracks) for (const track of tracks) for (let i = 0; i < track.length; i += 6) track[i] -= shift;
    if (curve) for (let i = 0; i < curve.length; i += 4) curve[i] -= shift;
    tiles.set(copy + ' ' + id, reply.lanes[id]);
  }
}
async function load() {
  const space = (to - from) / 2, shown = seen(), columns = Math.min(8000, Math.round(2 * width()));
  const values = copies.map((_, copy) => ({from: Math.floor(from - space), to: Math.ceil(to + space) + 1, columns, lanes: shown.filter(place => place.copy === copy).map(place => place.lane.id).join()}));
  const key = JSON.stringify([values, copies]);
  if (!shown.length || key === wanted) return;
  if (busy) { stale = true; return; }
  busy = true;
  wanted = key;
  try {
    await Promise.all(values.map((asked, copy) => asked.lanes && tilesOf(copy, asked)));
    document.documentElement.dataset.ready = key;
  } catch (error) { wanted = ''; failed(error); }
  busy = false;
  draw();
  if (stale) { stale = false; load(); }
}
const low = () => Math.min(...copies.map(copy => all.sides[copy.side].begin - copy.shift));
const high = () => Math.max(...copies.map(copy => all.sides[copy.side].end - copy.shift));
function show(a, b) {
  const least = 10, begin = low(), end = high(), room = Math.max(end - begin, least);
  if (b - a < least) { const middle = (a + b) / 2; a = middle - least / 2; b = middle + least / 2; }
  if (b - a > 2 * room) { a = begin - room / 2; b = end + room / 2; }
  if (b < begin) { b -= a - begin; a = begin; }
  if (a > end) { a -= b - end; b = end; }
  from = a;
  to = b;
  if (!data) history.replaceState(null, '', '#' + Math.round(from) + '-' + Math.round(to));
  draw();
  load();
}
const zoom = (by, at = (from + to) / 2) => show(at - (at - from) * by, at + (to - at) * by);
const move = by => show(from + (to - from) * by, to + (to - from) * by);
const everything = () => { const space = (high() - low()) * .01; show(low() - space, high() + space + 1); };
const lookAt = (start, end) => { const space = Math.max(end - start, 100) * 2; show(start - space, end + space); };

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; paintRuler(); paint(); });
}
function canvasOf(id, height) {
  const canvas = $(id), ratio = devicePixelRatio || 1, wide = $('scroll').clientWidth;
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = wide + 'px';
    canvas.style.height = height + 'px';
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, wide, height);
  pen.font = '11px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  return [pen, wide];
}
function steps() {
  const rough = (to - from) / Math.max(2, width() / 110), ten = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(by => by * ten).find(step => step >= rough);
}
// The lengths of iterations that are laid over each other: the shorter one's flag to the left of its end, the longer one's to the right,
// but within the page and beside each other.
function flags(pen, wide) {
  const list = lengths.map(one => { const said = one.letter + ' ' + time(one.length); return {...one, said, room: pen.measureText(said).width + 8, place: x(one.at)}; }).filter(({place}) => place >= side && place <= wide).sort((a, b) => a.place - b.place);
  list.forEach((one, i) => { one.left = Math.max(side, Math.min(wide - one.room, one.place - (i ? 0 : one.room))); });
  const [first, second] = list;
  if (second) {
    first.left = Math.max(side, Math.min(first.left, second.left - first.room - 2));
    second.left = Math.max(second.left, first.left + first.room + 2);
  }
  return list;
}
function paintRuler() {
  const [pen, wide] = canvasOf('ruler', lengths.length ? 44 : 26), step = steps();
  if (!all.lanes.length) return;
  pen.fillStyle = css('--faint');
  pen.strokeStyle = css('--line');
  for (let at = Math.ceil((from - origin) / step) * step; at <= to - origin; at += step) {
    const place = Math.round(x(at + origin)) + .5;
    pen.beginPath(); pen.moveTo(place, 16); pen.lineTo(place, 26); pen.stroke();
    const said = time(at, Math.max(step, Math.abs(at) >= 1e9 ? 1e9 : Math.abs(at) >= 1e6 ? 1e6 : step));
    if (place + 3 + pen.measureText(said).width <= wide) pen.fillText(said, place + 3, 10);
  }
  for (const {letter, said, left, room} of flags(pen, wide)) {
    pen.fillStyle = COPIES[letter];
    pen.fillRect(left, 28, room, 14);
    pen.fillStyle = '#1a1a1a';
    pen.fillText(said, left + 4, 35);
  }
  if (side) { pen.fillStyle = css('--paper'); pen.fillRect(0, 0, side, 44); pen.fillStyle = css('--ink'); pen.fillText(time(to - from) + ' shown', 6, 13); }
}
function text(pen, what, left, top, right, ink) {
  const room = right - left - 6;
  if (room < 24) return;
  let said = what.slice(0, Math.floor(room / 2)), wide = pen.measureText(said).width;
  if (wide > room || said.length < what.length) {
    let length = Math.min(said.length, Math.ceil(said.length * room / wide));
    do said = what.slice(0, --length) + '…'; while (length > 1 && pen.measureText(said).width > room);
  }
  if (said.length < 6 && said.length < what.length) return; // three letters say nothing
  pen.fillStyle = ink;
  pen.fillText(said, left + 3, top + ROW / 2);
}
function paintSpans(pen, place, top) {
  const tile = tiles.get(place.key), right = side + width();
  if (!tile || !tile.tracks) return;
  tile.tracks.slice(0, place.rows).forEach((track, number) => {
    const y = place.y + number * ROW - top;
    for (let i = 0; i < track.length; i += 6) {
      const [start, length, ns, many, name] = track.slice(i, i + 5);
      let a = x(start), b = Math.max(x(start + length), a + 1);
      if (b < side || a > right) continue;
      a = Math.max(a, side); b = Math.min(b, right);
      const called = visible((names[place.lane.trace][name] ?? '').slice(0, 1000));
      const fill = color(place.lane, name, called), alpha = many > 1 ? .35 + .65 * Math.min(1, length ? ns / length : 1) : 1;
      pen.fillStyle = fill;
      pen.globalAlpha = alpha;
      pen.fillRect(a, y + 1, b - a, ROW - 2);
      pen.globalAlpha = 1;
      if (b - a > 28) text(pen, many > 1 ? called + ' and others × ' + count(many) : called, a, y, b, alpha < .7 ? css('--ink') : DARK.includes(fill) ? '#fefefe' : '#1a1a1a');
    }
  });
}
function paintCurve(pen, place, top) {
  const tile = tiles.get(place.key), curve = tile && tile.curve, y = place.y - top, right = side + width();
  if (!curve || !curve.length || x(all.spans[place.lane.trace][1] - copies[place.copy].shift) < side) return;
  let low = 0, high = -Infinity;
  for (let i = 0; i < curve.length; i += 4) if (x(curve[i]) >= side - 5 && x(curve[i]) <= right) { low = Math.min(low, curve[i + 1]); high = Math.max(high, curve[i + 2]); }
  if (high === -Infinity) return;
  const end = x(all.spans[place.lane.trace][1] - copies[place.copy].shift);
  const scale = value => y + CURVE - 2 - (value - low) / (high - low || 1) * (CURVE - 6);
  const shade = new Path2D(), band = new Path2D(); // each filled once: columns that overlap by half a pixel are no stripes
  for (let i = 0; i < curve.length; i += 4) {
    const a = Math.max(side, x(curve[i])), b = Math.min(right, end, i + 4 < curve.length ? x(curve[i + 4]) : end);
    if (b <= side || a >= right || b <= a) continue;
    shade.rect(a, scale(curve[i + 2]), b - a + .5, scale(low) - scale(curve[i + 2]));
    band.rect(a, scale(curve[i + 2]), b - a + .5, Math.max(1.5, scale(curve[i + 1]) - scale(curve[i + 2])));
  }
  pen.fillStyle = '#8ecdf0';
  pen.globalAlpha = .45;
  pen.fill(shade);
  pen.globalAlpha = 1;
  pen.fill(band);
  pen.fillStyle = css('--ink');
  pen.fillText((low < 0 ? quantity(low, place.lane.unit) + ' … ' : '') + quantity(high, place.lane.unit), side + 4, y + 7);
}
// Bytes by 1024; what has no unit of its own with a prefix of SI.
function quantity(value, unit) {
  const size = Math.abs(value), [by, prefix] = [[1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1, '']].find(([least]) => size >= least) || [1, ''];
  if (unit === 'B' || unit === 'bytes') return size >= 2 ** 30 ? (value / 2 ** 30).toFixed(2) + ' GiB' : size >= 2 ** 20 ? (value / 2 ** 20).toFixed(1) + ' MiB' : size >= 1024 ? (value / 1024).toFixed(1) + ' KiB' : value + ' B';
  return unit === 'ns' ? time(value) : unit ? Number(value.toPrecision(4)) + ' ' + unit : Number((value / by).toPrecision(4)) + (prefix && ' ' + prefix);
}
function box(pen, spot, top, ink) {
  const place = placeOf(spot);
  if (!place || (spot.track || 0) >= place.rows) return;
  const a = Math.max(side, x(spot.start)), b = Math.min(side + width(), Math.max(x(spot.end), x(spot.start) + 2));
  if (b < a) return;
  pen.strokeStyle = ink;
  pen.lineWidth = 2;
  pen.strokeRect(a, place.y + (spot.track || 0) * ROW - top + 1, b - a, ROW - 2);
  pen.lineWidth = 1;
}
function paintLinks(pen, top) {
  const start = chosen && placeOf(chosen);
  pen.save();
  pen.beginPath(); pen.rect(side, 0, width(), $('scroll').clientHeight); pen.clip();
  for (const link of start ? links : []) {
    const end = placeOf(link);
    if (!end) continue;
    box(pen, link, top, css('--mark'));
    const goes = link.what === 'launches', y1 = start.y + chosen.track * ROW + ROW / 2 - top, y2 = end.y + ROW / 2 - top;
    const x1 = x(goes ? chosen.end : chosen.start), x2 = x(goes ? link.start : link.end);
    pen.beginPath(); pen.moveTo(x1, y1); pen.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2); pen.stroke();
  }
  pen.restore();
}
function paint() {
  const height = $('scroll').clientHeight, top = $('scroll').scrollTop;
  const [pen, wide] = canvasOf('lanes', height);
  if (!all.lanes.length) return;
  pen.strokeStyle = css('--line');
  const step = steps();
  for (let at = Math.ceil((from - origin) / step) * step + origin; at <= to; at += step) { const place = Math.round(x(at)) + .5; pen.globalAlpha = .4; pen.beginPath(); pen.moveTo(place, 0); pen.lineTo(place, height); pen.stroke(); pen.globalAlpha = 1; }
  for (const place of seen()) {
    pen.strokeStyle = css('--line');
    pen.strokeRect(-1, Math.round(place.y + place.height - top + GAP / 2) + .5, wide + 2, 0);
    place.lane.unit === undefined ? paintSpans(pen, place, top) : paintCurve(pen, place, top);
  }
  if (marked) {
    const a = Math.max(side, x(Math.min(...marked))), b = Math.min(wide, x(Math.max(...marked)));
    pen.fillStyle = css('--mark'); pen.globalAlpha = .15; pen.fillRect(a, 0, Math.max(0, b - a), height); pen.globalAlpha = 1;
  }
  const line = (at, ink) => { const place = Math.round(x(at)) + .5; if (place < side) return; pen.strokeStyle = ink; pen.setLineDash([4, 3]); pen.beginPath(); pen.moveTo(place, 0); pen.lineTo(place, height); pen.stroke(); pen.setLineDash([]); };
  for (const {letter, at} of lengths) line(at, COPIES[letter]);
  if (here !== null) line(here, css('--mark'));
  paintLinks(pen, top);
  if (under) box(pen, under, top, css('--ink'));
  if (chosen) box(pen, chosen, top, css('--mark'));
}

// What is at a point of the window.
function spotAt(clientX, clientY) {
  const frame = $('scroll').getBoundingClientRect(), px = clientX - frame.left, y = clientY - frame.top + $('scroll').scrollTop;
  const place = places.find(one => y >= one.y && y < one.y + one.height);
  if (!place || px < side) return null;
  const tile = tiles.get(place.key), track = Math.floor((y - place.y) / ROW), at = moment(px);
  if (tile && tile.curve) {
    if (at + copies[place.copy].shift > all.spans[place.lane.trace][1]) return null;
    let i = tile.curve.length - 4;
    while (i > 0 && tile.curve[i] > at) i -= 4;
    return i < 0 ? null : {lane: place.lane.id, copy: place.copy, curve: true, least: tile.curve[i + 1], most: tile.curve[i + 2], start: at, end: at, track: 0};
  }
  const list = tile && tile.tracks && tile.tracks[track] || [], slack = (to - from) / width();
  let best = -1;
  for (let i = 0; i < list.length; i += 6)
    if (list[i] <= at + slack && list[i] + Math.max(list[i + 1], slack) >= at - slack && (best < 0 || Math.abs(list[i] + list[i + 1] / 2 - at) < Math.abs(list[best] + list[best + 1] / 2 - at))) best = i;
  return best < 0 ? null : spotOf(place, track, list, best);
}
const spotOf = ({lane, copy}, track, list, i) => ({lane: lane.id, copy, track, start: list[i], end: list[i] + list[i + 1], ns: list[i + 2], count: list[i + 3], name: names[lane.trace][list[i + 4]] ?? '', class: classOf(lane, list[i + 4]), row: list[i + 5]});
const raw = (spot, at = spot.start) => at + copies[spot.copy || 0].shift;
const laneOf = spot => all.lanes.find(lane => lane.id === spot.lane);
function says(spot) {
  const lane = laneOf(spot);
  if (spot.curve) return lane.label + ': ' + quantity(spot.most, lane.unit) + (spot.least !== spot.most ? ', at least ' + quantity(spot.least, lane.unit) : '') + ' at ' + time(raw(spot));
  const what = brief(spot.name || 'no name', 300);
  return (spot.count > 1 ? count(spot.count) + ' events, mostly ' + what + ', ' + time(spot.ns) + ' in ' + time(spot.end - spot.start) : what + ', ' + time(spot.end - spot.start)) + ' from ' + time(raw(spot)) + ', ' + (spot.class === undefined ? '' : all.classes[spot.class] + ', ') + all.kinds[lane.kind] + ' of ' + lane.label;
}
let asked = 0;
// Below the pointer, or above it where there is more room.
const keepInside = (tip, y) => { tip.style.top = (y + 16 + tip.offsetHeight <= innerHeight ? y + 16 : Math.max(0, y - tip.offsetHeight - 10)) + 'px'; };
function point(spot, clientX, clientY) {
  const same = under && spot && under.lane === spot.lane && under.copy === spot.copy && under.track === spot.track && under.row === spot.row && under.start === spot.start;
  under = spot;
  const tip = $('tip');
  tip.hidden = !spot || clientX === undefined;
  $('scroll').style.cursor = spot ? 'pointer' : 'crosshair';
  if (!tip.hidden) { tip.style.left = Math.max(0, Math.min(clientX + 14, innerWidth - Math.min(430, innerWidth * .9))) + 'px'; keepInside(tip, clientY); }
  if (same) return;
  draw();
  const ticket = ++asked;
  $('under').textContent = spot ? visible(says(spot)) : '';
  if (!spot) return;
  tip.replaceChildren();
  make('b', spot.curve ? laneOf(spot).label : spot.name || 'no name', tip);
  make('span', says(spot), tip);
  if (spot.curve || spot.count !== 1) return;
  setTimeout(async () => {
    if (ticket !== asked) return;
    const event = await ask('event', {lane: spot.lane, track: spot.track, row: spot.row}).catch(() => null);
    if (!event || ticket !== asked) return;
    for (const [key, value] of event.fields) make('div', key + ': ' + value, tip);
    if (event.path.length) make('div', 'in ' + event.path.map(range => range.name).join(' < '), tip);
    for (const link of event.links.slice(0, 3)) make('div', link.what + ' ' + link.name + ', ' + time(link.end - link.start), tip);
    if (clientX !== undefined) keepInside(tip, clientY);
  }, 150);
}

const toPanel = id => { const aside = document.querySelector('aside'); aside.scrollTop = $(id).offsetTop - aside.offsetTop; };
function open(id, on = true) { $(id).hidden = !on; if (on) $(id).open = true; const inside = $(id).lastElementChild, had = inside.contains(document.activeElement); inside.replaceChildren(); if (had) $(id).firstElementChild.focus(); return inside; }
const go = (parent, label, action) => { const button = make('button', label, parent); button.onclick = action; return button; };
function table(parent, heads, rows) {
  const element = make('table', undefined, parent), head = make('tr', undefined, element);
  heads.forEach((name, i) => make('th', name, head, i ? 'number' : ''));
  for (const row of rows) { const line = make('tr', undefined, element); row.forEach((cell, i) => make('td', i ? cell : undefined, line, i ? 'number' : '')); make('div', row[0], line.cells[0]).title = visible(brief(String(row[0]))); }
}
// Heard, not seen: what is selected, which is drawn.
const say = text => { $('said').textContent = visible(text); };
async function choose(spot) {
  if (spot || chosen) say(spot ? 'Selected: ' + says(spot) : 'Nothing is selected');
  chosen = spot;
  links = [];
  draw();
  const out = open('event', !!spot);
  if (!spot || spot.curve) { $('event').hidden = !spot; if (spot) make('p', says(spot), out); return; }
  make('h3', spot.name || 'no name', out);
  make('p', says(spot), out);
  go(out, 'Zoom (f)', () => lookAt(spot.start, spot.end));
  if (spot.count === 1 && !isPinned(spot) && !data) {
    go(out, 'Pin (p)', pin);
    if (pinned) go(out, 'Compare with ' + pinned.name + ' (c)', compare);
  }
  if (spot.count > 1) { make('p', 'Merged at this zoom: ' + count(spot.count) + ' events, which take ' + time(spot.ns) + '. Zoom in to see each.', out); return; }
  try {
    const event = await ask('event', {lane: spot.lane, track: spot.track, row: spot.row}), shift = copies[spot.copy || 0].shift;
    if (chosen !== spot) return;
    for (const one of event.path.concat(event.links)) { one.start -= shift; one.end -= shift; one.copy = spot.copy; }
    if (event.fields.length) { const list = make('table', undefined, out, 'fields'); for (const [name, value] of event.fields) { const line = make('tr', undefined, list); make('th', name, line).scope = 'row'; make('td', value, line); } }
    if (event.path.length) make('h3', 'Ranges around it', out);
    for (const range of event.path) go(make('p', undefined, out), range.name + ', ' + time(range.end - range.start), () => lookAt(range.start, range.end));
    if (event.neighbours.length) make('h3', 'Neighbours', out);
    for (const one of event.neighbours) {
      const at = {...spot, row: one.row, name: one.name, start: one.start - shift, end: one.end - shift, ns: one.end - one.start, count: 1, class: undefined};
      go(make('p', undefined, out), one.what + ': ' + (one.name || 'no name') + ', ' + time(one.end - one.start) + ', ' + time(one.what === 'before' ? Math.max(0, spot.start - at.end) : Math.max(0, at.start - spot.end)) + ' between', () => { reveal(at); choose(at); });
    }
    links = event.links;
    if (links.length) make('h3', 'Links', out);
    for (const link of links) go(make('p', undefined, out), link.what + ' ' + link.name + ' at ' + time(raw(link)), () => reveal(link));
  } catch (error) { failed(error); }
  draw();
}
function reveal(spot) {
  const lane = laneOf(spot), copy = spot.copy || 0;
  const wasFolded = folded.delete(groupOf(lane, copy)), isBelow = (spot.track || 0) >= rowsOf(lane, copy);
  if (isBelow) unfolded.add(lineOf(lane, copy));
  if (wasFolded || isBelow) layOut();
  const place = placeOf(spot), scroll = $('scroll'), y = place ? place.y + (spot.track || 0) * ROW : 0;
  if (place && (y < scroll.scrollTop || y + Math.min(place.height, 2 * ROW) > scroll.scrollTop + scroll.clientHeight)) scroll.scrollTop = Math.max(0, y - scroll.clientHeight / 3);
  lookAt(spot.start, spot.end);
  point(spot); // not what the pointer was over before
}
// Two events on one axis: of two sides, or of one side that is then shown twice.
const isPinned = spot => pinned && spot.lane === pinned.lane && spot.track === pinned.track && spot.row === pinned.row;
function pin() {
  if (!chosen || chosen.count !== 1 || chosen.curve) return;
  const of = copies[chosen.copy || 0];
  pinned = {lane: chosen.lane, track: chosen.track, row: chosen.row, name: chosen.name || 'no name', side: of.side, start: raw(chosen), end: raw(chosen, chosen.end)};
  note('Pinned: ' + pinned.name + ' at ' + time(pinned.start) + '. Select another event, then press c to see both on one axis.');
  choose(chosen);
}
function compare() {
  if (!pinned || !chosen || chosen.count !== 1 || chosen.curve) return;
  const other = {side: copies[chosen.copy || 0].side, start: raw(chosen), end: raw(chosen, chosen.end)};
  const [a, b] = other.side < pinned.side ? [other, pinned] : [pinned, other];
  tie([a.side, b.side], b.start - a.start);
  note('A from ' + time(a.start) + ' and B from ' + time(b.start) + ' on one axis.');
  $('tie').value = 'pins';
  stand(a, b);
}
// Show sides, of which the second lies so much later.
function tie(sides, shift) {
  copies = sides.map((of, number) => ({side: of, shift: number ? shift : 0, letter: sides.length > 1 ? 'AB'[number] : ''}));
  tiles.clear();
  wanted = '';
  marked = chosen = under = here = null;
  origin = 0;
  links = [];
  lengths = [];
  $('window').hidden = $('event').hidden = true;
  layOut();
}
// Two spans of time that begin at the same place: the longer one fills the page, the table is of each in its own length.
function stand(a, b) {
  const length = Math.max(a.end - a.start, b.end - b.start);
  origin = a.start;
  lengths = [{letter: 'A', at: a.end, length: a.end - a.start}, {letter: 'B', at: a.start + b.end - b.start, length: b.end - b.start}];
  show(a.start - length * .02, a.start + length * 1.02 + 1);
  mark(a.start, a.start + length, [a.end, b.end - b.start + a.start]);
}

// The ways in which two sides, or two iterations of one, are laid over each other; what cannot be done is not offered.
const ways = () => {
  const [a, b] = all.sides, start = (key, side) => side[key] ? side[key][0] : side.begin;
  const both = (key, text) => [key, text, () => { tie([0, 1], start(key, b) - start(key, a)); loop(); }];
  if (b) return (a.iterations && b.iterations ? [both('loop', 'first iterations aligned'), both('median', 'median iterations aligned')] : []).concat([['begin', 'beginnings aligned', () => { tie([0, 1], b.begin - a.begin); loop(); }]]);
  return a.iterations > 1 ? [['none', 'no overlay', () => { tie([0], 0); note(''); loop(); }], ['longest', 'median and longest iteration', () => { tie([0, 0], a.longest[0] - a.median[0]); stand({start: a.median[0], end: a.median[1]}, {start: a.longest[0], end: a.longest[1]}); }]] : [];
};
// `again`: what is shown stays as it is.
function offer(again) {
  const list = ways(), select = $('tie'), kept = select.value;
  select.hidden = !list.length || data && all.sides.length < 2;
  select.replaceChildren();
  for (const [key, text] of list.concat(data ? [] : [['pins', 'chosen events aligned (p, c)']])) make('option', text, select).value = key;
  select.onchange = () => { const way = list.find(([key]) => key === select.value); if (way) way[2](); else if (pinned) compare(); else note('Select an event and press p, select another and press c.'); };
  if (again) select.value = kept;
  else if (all.sides.length > 1) list[0][2]();
}
// What matters first: the loop, not the start-up.
function loop() {
  const loops = copies.filter(copy => all.sides[copy.side].loop).map(copy => all.sides[copy.side].loop.map(at => at - copy.shift));
  if (!loops.length && !farTraces().length) { everything(); return; }
  if (!loops.length) loops.push(...copies.map(copy => all.sides[copy.side].near.map(at => at - copy.shift)));
  const begin = Math.min(...loops.map(of => of[0])), end = Math.max(...loops.map(of => of[1])), space = (end - begin) * .02;
  show(begin - space, end + space + 1);
}
// Traces that were recorded long before or after the first one of their side.
const farTraces = () => all.traces.map((_, trace) => trace).filter(trace => { const {near} = all.sides[sideOf(trace)]; return all.spans[trace][0] > near[1] || all.spans[trace][1] < near[0]; });
// Says where they are, and leads there.
function noteFar() {
  const most = 3, far = farTraces();
  for (const trace of far.slice(0, most)) {
    const [begin, end] = all.spans[trace], {near} = all.sides[sideOf(trace)], shift = () => copies[Math.max(0, copies.findIndex(one => isOf(trace, all.sides[one.side])))].shift;
    const text = begin > near[1] ? 'begins ' + time(begin - near[1]) + ' after what is shown ends' : 'ends ' + time(near[0] - end) + ' before what is shown begins';
    $('note').append(($('note').textContent ? ' · ' : '') + visible(all.traces[trace]) + ' ' + text + '. ');
    go($('note'), 'Show ' + all.traces[trace], () => { const place = places.find(one => one.lane.trace === trace); if (place) $('scroll').scrollTop = Math.max(0, place.y - 2 * HEAD); show(begin - shift(), end - shift()); });
  }
  if (far.length === 1 && all.traces.length === 2 && !data) $('note').append(' Both from their beginnings: nvtally view ' + visible(all.traces.join(' vs ')) + '.');
  if (far.length > most) $('note').append(' ' + count(far.length - most) + ' more traces are as far away: 0 shows all.');
  $('note').hidden = !$('note').textContent;
}
const signed = ns => (ns > 0 ? '+' : ns < 0 ? '\u2212' : '') + time(Math.abs(ns));
// A window's table; of two copies what differs most comes first.
function windowRows(rows, skip) {
  return rows.map(row => {
    const [n, ns, m, ms] = row.slice(1 + skip);
    return copies.length < 2 ? [row[0], count(n), time(ns)] : [row[0] + ' × ' + count(n) + (n === m ? '' : ', ' + count(m)), time(ns), time(ms), signed(ms - ns)];
  });
}
// `ends` are those of two copies, where they are not the same.
async function mark(a, b, ends) {
  marked = [Math.round(Math.min(a, b)), Math.round(Math.max(a, b))];
  draw();
  const out = open('window'), [begin, end] = marked, [one, other] = copies, [first, second] = ends || [end, end];
  make('p', time(first - begin) + ' from ' + time(begin + one.shift) + (other ? ' of A, ' + time(second - begin) + ' from ' + time(begin + other.shift) + ' of B' : '') + ': what begins in it', out);
  go(out, 'Zoom (f)', () => show(begin, end));
  try {
    const reply = await ask('window', {from: begin + one.shift, to: first + one.shift, side: one.side, ...other ? {with: other.side, with_from: begin + other.shift, with_to: second + other.shift} : {}});
    if (!marked || marked[0] !== begin || marked[1] !== end) return;
    for (const [title, rows] of [['Ranges', windowRows(reply.ranges, 1)], ['Operations', windowRows(reply.operations, 0)], ['API calls', windowRows(reply.calls, 0)], ['MPI calls', windowRows(reply.mpi, 0)], ['OS calls', windowRows(reply.os, 0)]])
      if (rows.length) { make('h3', title, out); table(out, other ? ['name', 'A', 'B', 'B \u2212 A'] : ['name', 'count', 'time'], rows); }
    if (!out.querySelector('table') && !reply.coarse) make('p', 'No range, operation or call begins in it; CPU samples, the critical path and curves are not in this table.', out);
    say('Selected: ' + time(end - begin) + ' from ' + time(begin + one.shift));
    if (reply.more) make('p', count(reply.more) + ' more names', out);
    if (reply.coarse) make('p', 'At this place the document has merged events alone. nvtally view has the figures.', out);
    toPanel('window');
    $('window').dataset.ready = begin + '-' + end;
  } catch (error) { failed(error); }
}
function spotOfHit([trace, name, , lane, track, row, begins, ends]) {
  const copy = copies.findIndex(one => isOf(trace, all.sides[one.side]));
  return copy < 0 ? null : {lane, copy, track, row, start: begins - copies[copy].shift, end: ends - copies[copy].shift, ns: ends - begins, count: 1, name};
}
// Names that hold a text, as one types; `way` 1 goes to the next of their events, −1 to the one before.
let looks = 0, typing = 0, jumps = Promise.resolve();
async function find(what, way = 0, now = '') {
  const ticket = ++looks;
  if (!what) { open('found', false); $('hits').textContent = ''; return; }
  const place = chosen && !chosen.curve ? {moment: Math.round(raw(chosen)), lane: chosen.lane, track: chosen.track} : {moment: Math.round(from + copies[0].shift) - (way >= 0)};
  try {
    const reply = await ask('find', {text: what, ...place, ...way < 0 ? {back: 1} : {}});
    if (ticket !== looks) return;
    const next = way && reply.next && spotOfHit(reply.next);
    if (next) {
      reveal(next);
      choose(next);
      await find(what, 0, count(reply.place) + ' of ');
      return;
    }
    const out = open('found');
    make('p', now + count(reply.spans) + (reply.spans === 1 ? ' event' : ' events') + ' of ' + count(reply.names.length) + (reply.names.length === 1 ? ' name' : ' names') + (data ? ', of those that the document has' : ''), out);
    for (const row of reply.names) {
      const spot = spotOfHit(row);
      if (!spot) continue;
      const line = make('p', undefined, out);
      go(line, row[1] || 'no name', () => { reveal(spot); choose(spot); find(what); });
      make('span', count(row[2]) + (all.traces.length > 1 ? ' in ' + all.traces[row[0]] : ''), line);
    }
    $('hits').textContent = now + count(reply.spans);
    $('found').dataset.ready = what;
    $('found').dataset.place = now;
  } catch (error) { failed(error); }
}
const jump = way => { clearTimeout(typing); jumps = jumps.then(() => find($('text').value, way)); };
// What is opened above a button leaves it where it is.
async function still(button, action) {
  const aside = document.querySelector('aside'), top = () => button.getBoundingClientRect().top, before = top(), back = () => { aside.scrollTop += top() - before; };
  const done = action();
  back();
  await done;
  back();
}
// Lanes of findings are numbered without those of critical paths, which come later.
async function visit(finding, moment) {
  const copy = Math.max(0, copies.findIndex(one => one.side === finding.side)), start = moment.at - copies[copy].shift;
  const lane = all.lanes.filter(one => all.kinds[one.kind] !== 'critical path')[moment.lane];
  here = start;
  if (lane) {
    const spot = {lane: lane.id, copy, track: moment.track, row: moment.row, start, end: start + moment.end - moment.at, ns: moment.end - moment.at, count: 1, name: moment.name};
    reveal(spot);
    const done = choose(spot);
    toPanel('event');
    await done;
    return;
  }
  const place = places.find(one => one.copy === copy && one.lane.trace === finding.trace);
  if (place && all.traces.length > 1) $('scroll').scrollTop = Math.max(0, place.y - 2 * HEAD);
  show(start - 2e6, start + 8e6);
  point(null);
  await choose(null);
}
async function findings() {
  if (isPart) { open('findings').textContent = 'They are of the whole recording.'; return; }
  const out = open('findings');
  out.textContent = 'Looking …';
  try {
    const reply = await ask('findings'), side = number => all.sides.length > 1 ? 'AB'[number] + ': ' : '';
    out.textContent = reply.findings.length ? '' : 'Nothing was found.';
    for (const finding of reply.findings) {
      make('h3', side(finding.side) + finding.title, out);
      make('p', finding.what, out);
      for (const key of ['where', 'evidence', 'remedy']) if (finding[key]) make('p', key + ': ' + finding[key], out);
      const line = make('p', undefined, out), of = all.traces.length > 1 && finding.trace !== undefined ? ' of ' + all.traces[finding.trace] : '';
      for (const moment of finding.moments) { const button = go(line, 'at ' + moment.text + of, () => moment.lane === undefined ? still(button, () => visit(finding, moment)) : visit(finding, moment)); }
    }
    reply.looked.forEach((lines, number) => { for (const line of lines) make('p', side(number) + line, out, 'looked'); });
    $('findings').dataset.ready = 'yes';
  } catch (error) { out.textContent = error.message; }
}

// Select the time of an event, or all from what is selected to it.
function markEvent(more) {
  const spot = under || chosen;
  if (spot) more && marked ? mark(Math.min(marked[0], spot.start), Math.max(marked[1], spot.end)) : mark(spot.start, spot.end);
}
// From event to event by the arrows.
function step(right, down) {
  const now = under || chosen, place = now ? placeOf(now) : seen()[0];
  if (!place) return;
  let at = places.indexOf(place), track = (now ? now.track : 0) + down;
  if (track < 0 || track >= place.rows) { at = Math.max(0, Math.min(places.length - 1, at + down)); track = down < 0 ? places[at].rows - 1 : 0; }
  const {lane, copy} = places[at], tile = tiles.get(places[at].key), list = tile && tile.tracks && tile.tracks[track] || [];
  const middle = now ? now.start : (from + to) / 2;
  let best = -1;
  for (let i = 0; i < list.length; i += 6) {
    if (right > 0 && !down && now && list[i] > now.start) { best = i; break; }
    if (right < 0 && !down && now && list[i] < now.start) best = i;
    if ((down || !now) && (best < 0 || Math.abs(list[i] - middle) < Math.abs(list[best] - middle))) best = i;
  }
  const scroll = $('scroll'), y = places[at].y + track * ROW;
  if (y < scroll.scrollTop) scroll.scrollTop = y - 20;
  if (y + ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = y + ROW - scroll.clientHeight + 20;
  if (best >= 0) { point(spotOf(places[at], track, list, best)); if (under.start > to || under.end < from) show(under.start - (to - from) / 2, under.start + (to - from) / 2); }
  else if (down) point({lane: lane.id, copy, track, start: middle, end: middle, ns: 0, count: 0, name: 'nothing here', row: -1});
}
function key(event) {
  if (event.target === $('tie')) return;
  if (event.target === $('text')) { if (event.key === 'Escape') $('scroll').focus(); if (event.key === 'Enter') { event.preventDefault(); jump(event.shiftKey ? -1 : 1); } return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {w: () => zoom(.7), s: () => zoom(1 / .7), a: () => move(-.2), d: () => move(.2), '0': everything, '+': () => zoom(.7), '-': () => zoom(1 / .7), '/': () => $('text').focus(), p: pin, c: compare, m: () => markEvent(), M: () => markEvent(true), '?': () => { $('keys').open = true; $('keys').scrollIntoView(); },
    f: () => marked ? show(...marked) : chosen && lookAt(chosen.start, chosen.end), Escape: () => { marked = here = null; $('window').hidden = true; choose(null); point(null); },
    ArrowRight: () => step(1, 0), ArrowLeft: () => step(-1, 0), ArrowDown: () => step(0, 1), ArrowUp: () => step(0, -1), Enter: () => under && choose(under)};
  if (event.target.closest('aside, nav') && /Arrow/.test(event.key) || event.target.closest('button, summary') && event.key === 'Enter') return;
  if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
}
function wheel(event) {
  const onRuler = event.currentTarget === $('ruler'), by = event.deltaMode ? event.deltaY * 20 : event.deltaY;
  if (event.ctrlKey || event.metaKey || onRuler) zoom(Math.exp(by / 300), moment(event.clientX - $('scroll').getBoundingClientRect().left));
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move((event.deltaX || by) / width());
  else return;
  event.preventDefault();
}
// A mouse selects a time, or moves on the ruler and with Shift. Fingers move and pinch, a tap selects; held, one shows what is below it
// and then selects time, and two select what is between them.
const fingers = new Map(), HELD_MS = 450;
let drag = null, held = 0;
function hold(event) {
  if (!drag || drag.far) return;
  drag.held = true;
  drag.moves = false;
  if (fingers.size === 2) { marked = [...fingers.values()].map(moment); draw(); }
  else point(spotAt(event.clientX, event.clientY), event.clientX, event.clientY);
}
function down(event) {
  if (event.target.closest('button')) return; // it gets its click, which a captured pointer would take from it
  const px = event.clientX - $('scroll').getBoundingClientRect().left;
  fingers.set(event.pointerId, px);
  clearTimeout(held);
  if (event.pointerType === 'touch') held = setTimeout(hold, HELD_MS, event);
  drag = {began: new Map(fingers), x: px, from, to, moves: event.pointerType === 'touch' || event.shiftKey || event.currentTarget === $('ruler'), far: false, at: moment(px), apart: fingers.size === 2 ? Math.abs([...fingers.values()][0] - [...fingers.values()][1]) : 0};
  if (fingers.size === 2) drag.at = moment(([...fingers.values()][0] + [...fingers.values()][1]) / 2);
  try { event.currentTarget.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ }
}
function moved(event) {
  const px = event.clientX - $('scroll').getBoundingClientRect().left;
  if (!fingers.has(event.pointerId)) { if (event.currentTarget !== $('ruler')) point(spotAt(event.clientX, event.clientY), event.clientX, event.clientY); return; }
  fingers.set(event.pointerId, px);
  if (!drag) return;
  if (drag.held && fingers.size === 2) { marked = [...fingers.values()].map(moment); draw(); return; }
  if (fingers.size === 2 && drag.apart) {
    if (!drag.far && Math.abs(px - drag.began.get(event.pointerId)) < 6) return;
    const [a, b] = [...fingers.values()], by = drag.apart / Math.max(20, Math.abs(a - b));
    drag.far = true;
    show(drag.at - (drag.at - drag.from) * by, drag.at + (drag.to - drag.at) * by);
  } else if (Math.abs(px - drag.x) > 4 || drag.far) {
    drag.far = $('tip').hidden = true;
    const by = (drag.x - px) / width() * (drag.to - drag.from);
    if (drag.moves) show(drag.from + by, drag.to + by);
    else { marked = [drag.at, moment(px)]; draw(); }
  }
}
function up(event) {
  const had = fingers.delete(event.pointerId);
  clearTimeout(held);
  if (!had || !drag) return;
  if (drag.held && fingers.size) { mark(...marked); drag = null; return; }
  if (fingers.size) return;
  if (event.type === 'pointerup' && !drag.far && !drag.held && event.currentTarget !== $('ruler')) { const spot = spotAt(event.clientX, event.clientY); point(spot); choose(spot); if (spot) toPanel('event'); }
  else if (event.type === 'pointerup' && drag.far && !drag.moves) mark(...marked);
  drag = null;
}

// What there is to know of all of it; where a file was cut or is damaged, that.
function noteAll() {
  const most = 3, said = all.warnings.slice(0, most);
  if (all.warnings.length > most) said.push(count(all.warnings.length - most) + ' more warnings are on the terminal.');
  if (all.unaligned) said.push('Clocks of ' + all.unaligned + ' of ' + all.traces.length + ' traces are unknown: these begin when the first one does.');
  if (all.sides.some(of => of.is_window && of.begin >= of.end)) said.push('Nothing begins in this window.');
  else if (!all.lanes.length) said.push('This trace has no events.');
  note(visible(said.join(' · ')));
  noteFar();
}
async function getLanes() {
  all = await ask('lanes');
  names = all.traces.map(() => ({}));
  classes = all.traces.map(() => ({}));
}
// A trace that is being recorded grows: the page follows, at its end if it shows that, or else where it is. Of a large one the
// beginning comes first, and what is shown stays when the rest is there, unless nobody has moved yet. The critical path comes last.
let edition = 0, watching = false, isBeginning = false, isPart = false, lacksPath = false, placed = '';
const bytes = n => n >= 1e9 ? (n / 1e9).toFixed(2) + ' GB' : (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + ' MB';
const progress = now => now.bytes && now.read >= now.bytes ? bytes(now.bytes) + ' are read, lanes follow' : bytes(now.read || 0) + (now.bytes ? ' of ' + bytes(now.bytes) + ' are read' : ' are read');
// The same events in lanes of other numbers: those of a critical path have come between them.
function renumber(before) {
  const rest = lanes => lanes.filter(lane => all.kinds[lane.kind] !== 'critical path'), after = rest(all.lanes), now = new Map(rest(before).map((lane, i) => [lane.id, after[i].id]));
  for (const spot of [chosen, under, pinned, ...links]) if (spot) spot.lane = now.get(spot.lane) ?? spot.lane;
}
function status(now) {
  isPart = !!now.is_beginning;
  isBeginning = isPart && !now.failed;
  lacksPath = !!now.lacks_path;
  $('live').className = '';
  $('live').hidden = !now.is_beginning && !lacksPath && !all.sides.some(of => of.goes_on);
  $('live').textContent = now.failed ? 'the beginning only' : isBeginning ? 'reading the rest: ' + progress(now) : lacksPath ? 'following the critical path' : 'recording';
  if (now.failed) note('The rest cannot be read: ' + visible(now.failed));
  edition = now.edition;
  document.documentElement.dataset.edition = isBeginning || lacksPath ? '' : edition;
}
// It does not answer, although nobody asks for anything.
const SILENT = 2;
let silent = 0;
function ended() {
  $('live').hidden = false;
  $('live').className = 'ended';
  $('live').textContent = 'server ended';
  note('nvtally view has ended, or the connection to it. What is shown stays, but nothing more can be asked for: start nvtally view again, and open the address that it prints.');
  document.documentElement.dataset.ended = 'yes';
}
async function watch() {
  if (watching || document.hidden) return;
  watching = true;
  try {
    const now = await ask('edition');
    if (now.edition !== edition) {
      const wasBeginning = isBeginning, before = now.same && edition === now.edition - 1 && all.lanes;
      const length = to - from, atEnd = to >= high(), whole = atEnd && from <= low(), end = high();
      await getLanes();
      tiles.clear();
      wanted = '';
      if (before) renumber(before);
      else {
        chosen = under = pinned = null;
        links = [];
        $('event').hidden = true;
      }
      layOut();
      isPart = !!now.is_beginning;
      if (before) { draw(); load(); }
      else {
        offer(!wasBeginning || placed !== location.hash);
        noteAll();
        if (wasBeginning) placed === location.hash ? place() : show(from, to);
        else whole ? everything() : atEnd ? show(to - length + high() - end, to + high() - end) : show(from, to);
        findings();
      }
    }
    status(now);
    if (silent >= SILENT) { noteAll(); delete document.documentElement.dataset.ended; }
    silent = 0;
  } catch { if (++silent === SILENT) ended(); }
  watching = false;
  if (isBeginning || lacksPath) setTimeout(watch, 200);
}
let hash = '';
function place() {
  const asked = /^#(-?\d+)-(-?\d+)$/.exec(hash);
  asked && +asked[2] > +asked[1] ? show(+asked[1], +asked[2]) : loop();
  placed = location.hash;
}
// Until there is something to show: how far reading is. The last state, which is asked for first: lanes may be newer, but not older.
async function wait() {
  for (;;) {
    const now = await ask('edition');
    if (now.edition || now.failed) return now;
    note('Reading: ' + progress(now));
    await new Promise(done => setTimeout(done, 200));
  }
}
async function begin() {
  let now = null;
  try {
    if (!data) now = await wait();
    if (now && !now.edition) { note('It cannot be read: ' + visible(now.failed)); $('findings').hidden = true; return; }
    note('');
    await getLanes();
  } catch (error) { failed(error); return; }
  $('title').textContent = visible(all.sides.map((of, number) => (all.sides.length > 1 ? 'AB'[number] + ' ' : '') + all.traces.slice(of.first, of.first + of.traces).join(', ')).join(' vs '));
  document.title = $('title').textContent + ' – nvtally view';
  noteAll();
  if (now) status(now);
  const legend = (name, fill) => { const item = make('li', undefined, $('colors')); make('i', undefined, item).style.background = fill; item.append(name); };
  all.classes.forEach((name, i) => legend(name, CLASSES[i]));
  for (const cause in CAUSES) legend('GPU idle: ' + cause, CAUSES[cause]);
  hash = location.hash;
  layOut();
  offer();
  place();
  $('scroll').addEventListener('scroll', () => { putLabels(); draw(); load(); });
  for (const id of ['scroll', 'ruler']) {
    const on = $(id);
    on.addEventListener('wheel', wheel, {passive: false});
    on.addEventListener('pointerdown', down);
    on.addEventListener('pointermove', moved);
    on.addEventListener('pointerup', up);
    on.addEventListener('pointercancel', up);
    on.addEventListener('contextmenu', event => { if (drag && drag.held) event.preventDefault(); });
    on.addEventListener('pointerleave', () => { if (!fingers.size) point(null); });
  }
  addEventListener('keydown', key);
  const again = () => { layOut(); draw(); load(); };
  new ResizeObserver(again).observe($('scroll'));
  narrow.addEventListener('change', again);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  $('in').onclick = () => zoom(.5);
  $('out').onclick = () => zoom(2);
  $('all').onclick = everything;
  $('help').onclick = () => { $('keys').open = true; $('keys').scrollIntoView(); };
  $('search').onsubmit = event => { event.preventDefault(); jump(1); };
  $('text').oninput = () => { clearTimeout(typing); typing = setTimeout(() => find($('text').value), 150); };
  findings();
  if (data) return;
  watch();
  setInterval(watch, 1000);
}
begin();
