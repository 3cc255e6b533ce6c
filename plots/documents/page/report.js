// What the HTML report does where scripts run: sorts, filters and folds tables, shows the timeline and flame graphs. Names are text.
'use strict';
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(part => { part.open = true; }));
const make = (kind, text, parent, className) => {
  const element = document.createElement(kind);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  if (parent) parent.append(element);
  return element;
};

// Sorting by a click, Enter or Space on a heading: numbers by their value, numbers in texts too, what has none last.
for (const table of document.querySelectorAll('table')) table.querySelectorAll('th').forEach((th, column) => {
  const sort = () => {
    const down = th.getAttribute('aria-sort') === 'ascending', body = table.tBodies[0];
    const key = row => {
      const cell = row.cells[column], value = cell.dataset.v, text = cell.textContent.trim();
      if (value === undefined) return /^[-\u2013\u2014]?$/.test(text) ? null : text;
      return value === '' || isNaN(value) ? null : Number(value);
    };
    const order = (a, b) => typeof a === 'string' ? a.localeCompare(b, 'en', {numeric: true}) : a < b ? -1 : a > b ? 1 : 0;
    const rows = [...body.rows].map(row => [key(row), row]);
    rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : order(a, b) * (down ? -1 : 1));
    table.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
    th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    for (const [, row] of rows) body.append(row);
  };
  th.tabIndex = 0;
  th.title = 'sort by this column';
  th.onclick = sort;
  th.onkeydown = event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); sort(); } };
});

// Rows of a tree fold what is below them; a table of some length has a filter. Printed is what is seen.
const SOME = 8;
for (const frame of document.querySelectorAll('.scroll')) {
  const table = frame.querySelector('table'), rows = table ? [...table.tBodies[0].rows] : [], isTree = frame.classList.contains('tree');
  const above = new Map(), folded = new Set();
  let wanted = '', count = null;
  const update = () => {
    let shown = 0;
    for (const row of rows) {
      let hidden = wanted !== '' && !row.textContent.toLowerCase().includes(wanted);
      for (let at = above.get(row); at && !wanted; at = above.get(at)) hidden ||= folded.has(at);
      row.hidden = hidden;
      shown += !hidden;
    }
    if (count) count.textContent = wanted ? shown + ' of ' + rows.length + ' rows' : '';
  };
  if (isTree) {
    const open = [];
    rows.forEach((row, i) => {
      const cell = row.cells[0], deep = of => /^ */.exec(of.cells[0].textContent)[0].length, depth = deep(row);
      while (open.length && open.at(-1)[0] >= depth) open.pop();
      if (open.length) above.set(row, open.at(-1)[1]);
      open.push([depth, row]);
      if (i + 1 === rows.length || deep(rows[i + 1]) <= depth) return;
      const button = make('button', '\u25be', undefined, 'fold'), name = cell.textContent.trim();
      const set = () => { const is = folded.has(row); button.textContent = is ? '\u25b8' : '\u25be'; button.setAttribute('aria-expanded', String(!is)); button.setAttribute('aria-label', 'what is in ' + name); };
      button.onclick = () => { folded.has(row) ? folded.delete(row) : folded.add(row); set(); update(); };
      set();
      cell.prepend(button);
    });
  }
  if (rows.length < SOME) continue;
  const bar = make('p', undefined, undefined, 'filter'), input = make('input', undefined, bar);
  input.type = 'search';
  input.placeholder = 'Filter rows';
  input.setAttribute('aria-label', 'Filter rows');
  count = make('span', '', bar);
  count.setAttribute('role', 'status');
  input.oninput = () => { wanted = input.value.trim().toLowerCase(); update(); };
  frame.before(bar);
}

// Flame graphs: each box is as wide as its share of what is shown; a click on one shows what is in it, on one above it that again.
const amount = (value, unit) => {
  const steps = unit === 'ns' ? [['s', 1e9], ['ms', 1e6], ['\u00b5s', 1e3], ['ns', 1]] : unit === 'B' ? [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 1024], ['B', 1]] : [[unit, 1]];
  const [name, by] = steps.find(([, by]) => value >= by) || steps.at(-1);
  return Number((value / by).toPrecision(4)) + ' ' + name;
};
const ink = color => { const [red, green, blue] = [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16)); return .2126 * red + .7152 * green + .0722 * blue < 110 ? '#fefefe' : '#101010'; };
for (const place of document.querySelectorAll('.flame')) {
  const {title, unit, total, rows} = JSON.parse(place.querySelector('script').textContent), below = [[]];
  const list = rows.map(([parent, value, color, name], i) => { (below[parent + 1] ||= []).push(i); return {parent, value, color, name}; });
  const bar = make('p', undefined, place, 'filter'), heading = make('b', title, bar), input = make('input', undefined, bar), found = make('span', '', bar);
  const boxes = make('div', undefined, place, 'boxes'), line = make('p', '', place, 'under');
  let root = -1, wanted = '', elements = new Map();
  heading.after(' ');
  input.type = 'search';
  input.placeholder = 'Search names';
  input.setAttribute('aria-label', 'Search names of ' + title);
  for (const status of [found, line]) status.setAttribute('role', 'status');
  const share = (value, of) => Number((100 * value / of).toPrecision(3)) + ' %';
  const says = row => row.name + ': ' + amount(row.value, unit) + ', ' + share(row.value, total) + (root >= 0 ? ', ' + share(row.value, list[root].value) + ' of ' + list[root].name : '');
  const zoom = to => { root = to; draw(); (elements.get(to) || boxes.firstChild)?.focus(); };
  const put = (i, left, width, depth) => {
    const row = list[i], box = make('button', row.name, boxes, wanted && row.name.toLowerCase().includes(wanted) ? 'hit' : '');
    box.style.cssText = 'left:' + left + '%;width:' + width + '%;top:' + depth * 21 + 'px;background:' + row.color + ';color:' + ink(row.color) + (width < 1 ? ';padding:0' : '');
    box.title = says(row);
    box.tabIndex = elements.size ? -1 : 0;
    box.onmouseenter = box.onfocus = () => { line.textContent = says(row); };
    box.onclick = () => zoom(i === root ? row.parent : i);
    box.onkeydown = event => {
      const beside = below[row.parent + 1], to = {ArrowDown: (below[i + 1] || [])[0], ArrowUp: row.parent, ArrowRight: beside[beside.indexOf(i) + 1], ArrowLeft: beside[beside.indexOf(i) - 1]}[event.key];
      if (!event.key.startsWith('Arrow')) return;
      event.preventDefault();
      elements.get(to)?.focus();
    };
    elements.set(i, box);
  };
  function draw() {
    const around = [], whole = root < 0 ? total : list[root].value;
    let deepest = 0;
    boxes.replaceChildren();
    elements = new Map();
    for (let at = root; at >= 0; at = list[at].parent) around.unshift(at);
    around.forEach((i, depth) => put(i, 0, 100, depth));
    const inside = (of, left, depth) => {
      for (const i of below[of + 1] || []) {
        const width = 100 * list[i].value / whole;
        if (width < .12) break; /* the widest come first */
        deepest = Math.max(deepest, depth + 1);
        put(i, left, width, depth);
        inside(i, left, depth + 1);
        left += width;
      }
    };
    inside(root, 0, around.length);
    boxes.style.height = Math.max(deepest, around.length) * 21 + 'px';
  }
  input.oninput = () => {
    wanted = input.value.trim().toLowerCase();
    /* What lies in a found one is not counted again. */
    const hit = list.map(row => wanted !== '' && row.name.toLowerCase().includes(wanted)), within = [];
    let sum = 0;
    list.forEach((row, i) => { within[i] = row.parent >= 0 && (within[row.parent] || hit[row.parent]); if (hit[i] && !within[i]) sum += row.value; });
    found.textContent = wanted ? share(sum, total) + ' in ' + hit.filter(Boolean).length + (hit.filter(Boolean).length === 1 ? ' place' : ' places') : '';
    draw();
  };
  draw();
}

// The timeline is a page in a frame of its own, made when it comes into sight.
for (const place of document.querySelectorAll('.timeline')) {
  place.classList.add('tile');
  new IntersectionObserver(([entry], watch) => {
    if (!entry.isIntersecting) return;
    watch.disconnect();
    const text = id => document.getElementById(id).textContent, page = JSON.parse(text('view')), frame = document.createElement('iframe'), end = '</scr' + 'ipt>';
    frame.title = 'Timeline';
    frame.srcdoc = '<!DOCTYPE html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width"><style>' + page.css + '</style>' + page.html +
      '<scr' + 'ipt type="application/json" id=data>' + text('timeline') + end + '<scr' + 'ipt>' + page.js + end;
    place.append(frame);
  }, {rootMargin: '200px'}).observe(place);
}
