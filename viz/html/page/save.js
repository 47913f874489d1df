// Saves the visible view as SVG or PNG.

const mostVectorCells = 20000;

function escaped(text) {
  return String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
function cssColour(pixel) {
  return `rgb(${pixel & 0xff},${pixel >> 8 & 0xff},${pixel >> 16 & 0xff})`;
}

/** Whether the view shows only cells and gaps. */
function isPlain({view, visible, theme}) {
  const {path, selected, microbatch} = view;
  return theme === themes.light && !path && !selected && microbatch < 0 &&
      visible.every(
          ({run, second}) => !second && !run.recompute && run.reductions.length === 0 && run.optimizer.length === 0);
}

/** The view as an SVG document: cells as shapes with titles, or as an image if there are other elements or too many. */
function viewAsSvg(chart) {
  const {width, height, theme} = chart;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${
        height}" font-family="sans-serif">`,
    `<title>${escaped(chart.data.title)}</title>`, `<rect width="${width}" height="${height}" fill="${theme.ground}"/>`
  ];
  const lanes = chart.visible.filter(({kind}) => kind === 'tasks')
                    .map((lane) => ({lane, seen: chart.seen(lane.run, lane.stage)}));
  const cells = lanes.reduce((sum, {seen}) => sum + seen[1] - seen[0] + 1, 0);
  if (!isPlain(chart) || cells > mostVectorCells || lanes.some(({seen}) => chart.isDense(...seen)) ||
      lanes.length < chart.visible.length)
    out.push(`<image x="0" y="0" width="${width}" height="${height}" href="${chart.canvas.toDataURL('image/png')}"/>`);
  else {
    out.push(
        `<clipPath id="plot"><rect x="${gutter}" y="${axisHeight}" width="${chart.plotWidth()}" height="${
            height - axisHeight}"/></clipPath>`,
        ...hatchPatterns(chart.data), '<g clip-path="url(#plot)">');
    for (const {lane, seen} of lanes) laneAsSvg(chart, lane, seen, out);
    out.push('</g>');
    namesAsSvg(chart, out);
  }
  out.push('</svg>');
  return out.join('\n');
}
function hatchPatterns({labels, palette}) {
  return Object.entries(palette.hatches).map(([label, tile]) => {
    const size = /width="(\d+)"/.exec(tile)[1];
    return `<pattern id="hatch-${labels.indexOf(label)}" width="${size}" height="${
        size}" patternUnits="userSpaceOnUse">${tile}</pattern>`;
  });
}
function laneAsSvg(chart, lane, [first, last], out) {
  const {run, stage} = lane;
  const top = axisHeight + lane.y - chart.scroll, bar = Math.max(1, lane.height / 7);
  for (let i = run.idleOffsets[stage]; i < run.idleOffsets[stage + 1]; ++i) {
    if (run.idleEnd[i] < chart.view.start || run.idleStart[i] > chart.view.end) continue;
    const x = chart.x(run.idleStart[i]);
    const words =
        `stage ${stage} idle: ${chart.data.labels[run.idleLabel[i]]}, ${spanWords(run.idleStart[i], run.idleEnd[i])}`;
    out.push(
        `<rect x="${x.toFixed(2)}" y="${top.toFixed(2)}" width="${(chart.x(run.idleEnd[i]) - x).toFixed(2)}" height="${
            lane.height.toFixed(2)}" fill="url(#hatch-${run.idleLabel[i]})"><title>${escaped(words)}</title></rect>`);
  }
  for (let i = first; i <= last; ++i) {
    const box = chart.boxOf(run, i, lane);
    const shade = run.per_stage[stage].local[run.chunk[i]];
    const fill = cssColour(chart.fills[run.pass[i]][shade]);
    out.push(`<rect x="${box.x.toFixed(2)}" y="${box.y.toFixed(2)}" width="${
        Math.max(0.5, box.width - 0.7).toFixed(2)}" height="${box.height.toFixed(2)}" fill="${fill}"><title>${
        escaped(`${run.taskName(i)}, ${spanWords(run.start[i], run.end[i])}`)}</title></rect>`);
    if (run.pass[i] > 1 && box.width > 4)
      out.push(`<rect x="${box.x.toFixed(2)}" y="${
          (run.pass[i] === 2 ? box.y : box.y + box.height - bar).toFixed(2)}" width="${
          (box.width - 0.7).toFixed(2)}" height="${bar.toFixed(2)}" fill="${chart.theme.bar}"/>`);
    const digitsWide = String(run.microbatch[i]).length * 6.5;
    if (box.width > digitsWide + 2 && box.height > 9)
      out.push(`<text x="${(box.x + box.width / 2).toFixed(2)}" y="${
          (box.y + box.height / 2 + 3.5).toFixed(2)}" font-size="10" text-anchor="middle" fill="${
          chart.white[run.pass[i]][shade] ? '#ffffff' : '#1a1a1a'}">${run.microbatch[i]}</text>`);
  }
}
function namesAsSvg(chart, out) {
  const {view, theme} = chart;
  for (const lane of chart.visible)
    out.push(`<text x="${gutter - 8}" y="${
        (axisHeight + lane.y - chart.scroll + lane.height / 2 +
         4).toFixed(2)}" font-size="11" text-anchor="end" fill="${theme.text}">${
        escaped(chart.laneName(lane))}</text>`);
  for (const {y, run} of chart.heads)
    out.push(`<text x="${gutter}" y="${(axisHeight + y - chart.scroll + 16).toFixed(2)}" font-size="13" fill="${
        theme.text}">${escaped(`${run.name}: ${headWords(run)}`)}</text>`);
  const [step, unit, scale] = ticks(view.end - view.start, chart.plotWidth() / 90);
  for (let i = Math.ceil(view.start / step); i * step <= view.end; ++i)
    out.push(`<text x="${chart.x(i * step).toFixed(2)}" y="14" font-size="11" text-anchor="middle" fill="${
        theme.faint}">${digits12(i * step / scale)} ${unit}</text>`);
}

function saveFile(name, blob) {
  const link = element('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function savePicture(page, kind) {
  const name = `${(page.data.title || page.data.command).replace(/[^\w.-]+/g, '-').slice(0, 60)}.${kind}`;
  if (kind === 'svg')
    saveFile(name, new Blob([viewAsSvg(page.chart)], {type: 'image/svg+xml'}));
  else
    page.chart.canvas.toBlob((blob) => saveFile(name, blob), 'image/png');
}
