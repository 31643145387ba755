// Returns the errors of the current page of a node, or of a report, one line each. planned says that the run is healthy: then
// only the badge of a run that is not private may be red.
(planned) => {
  const wrong = [], W = innerWidth, by = id => document.getElementById(id);
  const path = e => e.nodeName.toLowerCase() + (e.id ? "#" + e.id : "") + [...e.classList].map(c => "." + c).join("");
  const say = (e, text) => wrong.push(path(e) + " " + JSON.stringify(e.textContent.trim().slice(0, 40)) + " " + text);
  const clipped = e => getComputedStyle(e).clipPath !== "none"; // only for screen readers
  const chain = e => { const up = []; for (; e; e = e.parentElement) up.push(e); return up; };
  const seen = [...document.body.querySelectorAll("*")].filter(e =>
    !["SCRIPT", "STYLE", "NOSCRIPT", "title"].includes(e.nodeName) && e.checkVisibility({ visibilityProperty: true }) && !chain(e).some(clipped));
  const scrolls = e => chain(e).some(a => /auto|scroll/.test(getComputedStyle(a).overflowX));
  const at = r => [r.left, r.top, r.right, r.bottom].map(v => Math.round(v)).join();

  // Nothing extends beyond the screen, unless its container scrolls.
  if (document.documentElement.scrollWidth > W) wrong.push("the page is " + document.documentElement.scrollWidth + " wide on a screen of " + W);
  for (const e of seen) {
    const r = e.getBoundingClientRect();
    if (r.width && (r.left < -.5 || r.right > W + .5) && !scrolls(e)) say(e, "sticks out of the screen: " + at(r));
  }

  // Each text is inside its container and covers no other text. Adjacent lines may touch.
  const texts = [];
  for (const e of seen) for (const n of e.childNodes) {
    if (n.nodeType !== Node.TEXT_NODE || !n.data.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(n);
    const box = e.closest(".scroll"), held = box && box.getBoundingClientRect(), head = held ? held.top + (e.closest("thead") ? 0 : box.querySelector("thead").clientHeight) : 0;
    for (const r of e instanceof SVGElement ? [e.getBoundingClientRect()] : range.getClientRects()) {
      if (r.width > 1 && (!box || r.top >= head && r.bottom <= held.bottom && r.right <= held.right)) texts.push({ e, r });
    }
  }
  for (const { e, r } of texts) for (const box of chain(e).filter(b => b.matches(".card, .tile, .badge, svg, table, td, th, dd, dt"))) {
    const b = box.getBoundingClientRect();
    if (r.left < b.left - 1 || r.right > b.right + 1 || r.top < b.top - 3 || r.bottom > b.bottom + 3) say(e, "at " + at(r) + " leaves " + path(box) + " at " + at(b));
  }
  texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
    const gone = by("gone");
    if (a.e === b.e || gone && (gone.contains(a.e) || gone.contains(b.e))) return;
    const over = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left), down = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
    if (over > 1 && down > 3) say(a.e, "at " + at(a.r) + " is under " + path(b.e) + " " + JSON.stringify(b.e.textContent.slice(0, 40)) + " at " + at(b.r));
  }));

  for (const e of seen.filter(e => e.matches("table"))) {
    const card = e.parentElement.getBoundingClientRect(), right = card.right - parseFloat(getComputedStyle(e.parentElement).paddingRight);
    if (e.getBoundingClientRect().right > right + 1 && !scrolls(e)) say(e, "is " + (e.getBoundingClientRect().right - right) + " wider than its card");
  }

  // No short word breaks.
  for (const e of seen.filter(e => e instanceof HTMLElement)) for (const n of e.childNodes) if (n.nodeType === Node.TEXT_NODE) {
    for (const word of n.data.matchAll(/[\w%]+/g)) {
      const range = document.createRange();
      range.setStart(n, word.index);
      range.setEnd(n, word.index + word[0].length);
      if (word[0].length < 14 && new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) say(e, "has the broken word " + word[0]);
    }
  }

  // Each chart has a curve, a name, "round" under its axis, and numbers on both.
  for (const e of seen.filter(e => e.matches(".chart"))) {
    const drawn = e.querySelector("svg"), has = texts.filter(t => drawn && drawn.contains(t.e));
    if (!drawn) {
      if (!e.querySelector(".empty")) say(e, "is empty");
      continue;
    }
    const area = drawn.getBoundingClientRect(), curve = drawn.querySelector(".curve"), box = curve && curve.getBoundingClientRect();
    if (!box || !/^M[\d.L -]+$/.test(curve.getAttribute("d"))) say(e, "has no curve");
    else if (box.left < area.left || box.right > area.right || box.top < area.top - 1 || box.bottom > area.bottom - 30) say(e, "has a curve at " + at(box) + " in " + at(area));
    const number = t => /^-?[\d.]+(e-?\d+)?( %)?$/.test(t.e.textContent);
    const x = has.filter(t => number(t) && t.r.top > area.bottom - 36), y = has.filter(t => number(t) && box && t.r.right < box.left && !x.includes(t));
    const name = has.filter(t => /^(round|release)$/.test(t.e.textContent));
    if (y.length < 2) say(e, "has " + y.length + " numbers beside it");
    if (new Set(y.map(t => t.e.textContent)).size < y.length) say(e, "has the same number twice beside it");
    if (x.length < 2) say(e, "has " + x.length + " numbers under it");
    if (name.length !== 1 || x.some(t => name[0].r.top < t.r.top)) say(e, "has no name under its axis");
    if (!e.querySelector("h2").textContent) say(e, "has no title");
  }
  for (const e of seen.filter(e => e.nodeName === "svg")) {
    if (e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")) say(e, "has no name for a screen reader");
    if (/NaN|undefined|Infinity/.test(e.outerHTML)) say(e, "has NaN, undefined or Infinity in it");
  }
  for (const { e } of texts) if (/NaN|undefined|Infinity|null|\[object/.test(e.textContent)) say(e, "is no text for people");

  // Colors as displayed, with opacity and background.
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const mix = (top, below) => below.map((v, i) => top[i] * top[3] + v * (1 - top[3])).slice(0, 3);
  const ground = e => {
    let back = rgba(getComputedStyle(document.documentElement).getPropertyValue("--ground")).slice(0, 3);
    for (const a of chain(e).reverse()) back = mix(rgba(getComputedStyle(a).backgroundColor), back);
    const disc = e.matches(".in") && e.parentElement.querySelector("circle");
    return disc ? rgba(getComputedStyle(disc).fill).slice(0, 3) : back;
  };
  const light = c => c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  for (const { e } of texts) {
    const back = ground(e), ink = rgba(getComputedStyle(e)[e instanceof SVGElement ? "fill" : "color"]);
    ink[3] *= chain(e).reduce((v, a) => v * getComputedStyle(a).opacity, 1);
    const [a, b] = [light(mix(ink, back)), light(back)], ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) say(e, "has a contrast of " + ratio.toFixed(2));
  }
  const bad = rgba(getComputedStyle(document.documentElement).getPropertyValue("--bad")).join();
  if (planned) for (const e of seen.filter(e => !e.matches("#badge.open"))) {
    const s = getComputedStyle(e), used = e instanceof SVGElement ? [s.fill, s.stroke] : [s.backgroundColor, texts.some(t => t.e === e) ? s.color : "#000"];
    if (used.some(c => rgba(c).join() === bad)) say(e, "is red");
  }

  // Accessible without sight or a mouse.
  const bar = document.querySelector("[role=progressbar]");
  if (bar && (!(+bar.getAttribute("aria-valuenow") <= +bar.getAttribute("aria-valuemax")) || !bar.getAttribute("aria-label"))) say(bar, "says nothing");
  for (const e of seen.filter(e => e.nodeName === "TH")) if (!e.scope || !e.textContent) say(e, "has no scope or text");
  for (const e of seen.filter(e => e.nodeName === "SECTION")) {
    const label = by(e.getAttribute("aria-labelledby") || "");
    if (!e.getAttribute("aria-label") && !(label && label.textContent)) say(e, "has no name");
  }
  if (document.querySelectorAll("h1").length !== 1 || by("name").textContent === "SPADE-Edge") wrong.push("not one title");
  return [...new Set(wrong)];
}
