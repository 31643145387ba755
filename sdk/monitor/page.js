"use strict";
(() => {
  const byId = id => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const make = (ns, tag, attrs, children) => {
    const e = ns ? document.createElementNS(ns, tag) : document.createElement(tag);
    for (const [k, v] of Object.entries(attrs || {})) if (v !== null && v !== undefined) e.setAttribute(k, v);
    for (const c of children) e.append(c);
    return e;
  };
  const el = (tag, attrs, ...children) => make("", tag, attrs, children);
  const svg = (tag, attrs, ...children) => make(SVG, tag, attrs, children);
  // Text is set only if it differs, so that a screen reader does not repeat it.
  const say = (e, text) => { if (e.textContent !== text) e.textContent = text; };

  // Numbers for people.
  const known = v => typeof v === "number" && isFinite(v);
  const figures = (v, n) => !known(v) ? "–" : v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? (+v.toPrecision(n)).toExponential() : String(+v.toPrecision(n));
  // An epsilon is never shown as less than it is. (Up to 1e-9 of it is the error of its computation.)
  const epsilon = v => {
    if (!known(v)) return "–";
    const s = v.toFixed(4);
    return String(+(+s < v * (1 - 1e-9) ? (+s + 1e-4).toFixed(4) : s));
  };
  const percent = v => known(v) ? (100 * v).toFixed(1) + " %" : "–";
  const count = v => String(v).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const bytes = v => {
    for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (v >= size) return (v / size).toFixed(1) + " " + unit;
    return v + " B";
  };
  const span = s => s < 60 ? Math.floor(s) + " s" : s < 3600 ? Math.floor(s / 60) + " min" : s < 172800 ? Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min" : Math.floor(s / 86400) + " days";
  const list = names => names.length < 2 ? names.join("") : names.length > 12 ? names.slice(0, 12).join(", ") + " and " + (names.length - 12) + " more" :
    names.slice(0, -1).join(", ") + " and " + names[names.length - 1];
  const plural = (n, one) => count(n) + " " + one + (n === 1 ? "" : "s");

  const phaseName = { starting: "starting", querying: "learning", waiting: "waiting", cooling: "cooling down", serving: "done, serving neighbors", ended: "done", failed: "failed" };
  // With mixing rounds, a learning round has several releases: does the next one mix, and where is the last one?
  const mixes = s => s.mixing > 0 && s.round % (1 + s.mixing) > 0;
  const progress = (s, made) => {
    const total = s.rounds + s.cooldown;
    if (!s.mixing) return "Round " + made + " of " + total;
    const turn = 1 + s.mixing, at = (made - 1) % turn;
    return "Release " + made + " of " + total + (made < 1 ? "" : made > s.rounds ? ", cooling down" :
      ", learning round " + Math.ceil(made / turn) + " of " + s.rounds / turn + (at ? " (mixing " + at + " of " + s.mixing + ")" : ""));
  };
  // Every round ends with a short wait.
  const phaseOf = s => s.phase !== "waiting" || s.phase_seconds >= 2 ? s.phase : s.round < s.rounds ? "querying" : "cooling";
  const doing = s => {
    switch (phaseOf(s)) {
    case "starting": return "Starting";
    case "querying": return s.stalled_seconds > 10 ? "Waiting for the oracle, which has not answered for a while" : mixes(s) ? "Mixing: models converge, no privacy budget is spent" : "Learning: asking the oracle for losses";
    case "waiting": return "Waiting for " + list(s.waiting_for);
    case "cooling": return "Cooling down: models converge, no privacy budget is spent";
    case "serving": return "Done: the model is final; neighbors may still need its last message";
    case "ended": return "Done: the run is over";
    case "failed": return "Failed: " + (s.fault || "");
    }
    return s.phase;
  };

  // What the operator can do now.
  const advice = s => {
    const phase = phaseOf(s), refused = s.neighbors.filter(n => n.link && n.link.refusal), held = s.neighbors.filter(n => n.missing);
    const away = held.filter(n => n.link && !n.link.connected), unstored = away.filter(n => n.link.broker && !n.link.silent);
    if (phase === "failed") return "“spade-edge help troubleshooting” explains every message. Then run the node again: it continues where it was.";
    if (phase === "ended" && s.round < s.rounds + s.cooldown) return "Stopped before the end of the run: run the node again to continue.";
    if (phase === "ended" || phase === "serving") return "The model is final. “spade-edge export” writes it to a file" + (s.non_private ? "." : "; the certificate states its privacy cost.");
    if (refused.length) return "Compare fleet files and keys with " + list(refused.map(n => n.name)) + ": the two sides do not match.";
    if (phase === "waiting" && unstored.length) return "Check the broker: " + (unstored[0].link.fault || "it is not connected") + ".";
    if (phase === "waiting" && away.length) return "Start " + list(away.map(n => n.name)) + ", or check address and firewall. If " + (away.length > 1 ? "one" : "it") + " is gone for good, stop this node and run it again with -without.";
    if (phase === "waiting") return "Nothing to do here: " + list(s.waiting_for) + " is still working. Its own page shows on what. If it never goes on, stop this node and run it again with -without.";
    if (s.stalled_seconds > 10) return "Check the program that computes the losses, and the disk: the node continues when they respond.";
    return "Nothing to do: the node continues by itself, even after a power cut.";
  };

  const since = s => phaseOf(s) === "waiting" ? ", for " + span(s.phase_seconds) : s.stalled_seconds > 10 ? ", " + span(s.stalled_seconds) : "";

  // The tiles are created once, so that nothing moves.
  const tiles = byId("tiles");
  const tile = title => {
    const value = el("dd"), more = el("dd", { class: "more" });
    tiles.append(el("dl", { class: "tile" }, el("dt", {}, title), value, more));
    return (v, m) => {
      say(value, v);
      say(more, m);
    };
  };
  const tileTime = tile("Time left"), tilePeers = tile("Connected"), tileBytes = tile("Sent"), tileIn = tile("Received"), tileQueries = tile("Losses queried");

  // A chart: a curve over the rounds, drawn by hand.
  const nice = (lo, hi, n) => {
    const raw = (hi - lo) / n || 1, mag = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].find(m => m * mag >= raw * .999) * mag;
    const ticks = [];
    for (let t = Math.ceil(lo / step - 1e-9) * step; t <= hi + step * 1e-9; t += step) ticks.push(Math.abs(t) < step / 1e6 ? 0 : t);
    return ticks;
  };
  const charts = byId("charts");
  const all = [];
  const chart = (key, title, show, options) => {
    const id = "chart-" + key;
    const value = el("span", { class: "value" }), note = el("p", { class: "note" }), plot = el("div", { class: "plot" });
    const card = el("section", { class: "card chart " + key, "aria-labelledby": id }, el("header", {}, el("h2", { id }, title), value), plot, note);
    charts.append(card);
    const c = { card, key, title, show, options, value, note, plot, state: null };
    all.push(c);
    const hover = e => {
      const d = c.drawn;
      if (!d) return;
      const at = d.round(e.clientX - plot.getBoundingClientRect().left);
      let best = d.points[0];
      for (const p of d.points) if (Math.abs(p.round - at) < Math.abs(best.round - at)) best = p;
      const x = d.x(best.round);
      d.cross.setAttribute("d", "M" + x + " " + d.top + "V" + d.bottom);
      d.tip.setAttribute("cx", x);
      d.tip.setAttribute("cy", d.y(best[key]));
      say(value, (c.state.mixing ? "release " : "round ") + best.round + ": " + show(best[key]));
    };
    plot.addEventListener("pointermove", hover);
    plot.addEventListener("pointerdown", hover);
    plot.addEventListener("pointerleave", () => draw(c));
    return c;
  };
  const draw = c => {
    const s = c.state;
    if (!s) return;
    const log = c.options.log, points = s.points.filter(p => known(p[c.key]) && (!log || p[c.key] > 0));
    const last = points[points.length - 1], made = s.points.length;
    say(c.value, last ? c.show(last[c.key]) : "–");
    // A chart without data is hidden, except in the first rounds, when data may still come.
    c.card.hidden = !last && (c.none || made < 1 || made > 3);
    charts.hidden = byId("table-card").hidden = all.every(c => c.card.hidden);
    c.drawn = null;
    if (!last) return c.plot.replaceChildren(el("div", { class: "empty" }, "after the first rounds"));
    const W = c.plot.clientWidth || 300, H = 196, top = 10, bottom = H - 38;
    const lines = c.lines || [], right = Math.max(12, ...lines.map(l => 10 + 6.6 * l.name.length));
    // The axis is as long as the run, or, while little of it has been done, a round number that leaves room to grow.
    let total = Math.max(1, s.total);
    const wanted = Math.max(10, s.points[made - 1].round * 1.3), size = 10 ** Math.floor(Math.log10(wanted));
    total = Math.min(total, wanted > total / 2 ? total : [1, 2, 5, 10].find(m => m * size >= wanted) * size);
    const word = s.mixing ? "release" : "round";
    const out = svg("svg", { viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": c.title + " over the rounds: " +
      points.length + " points, " + c.show(points[0][c.key]) + " in " + word + " " + points[0].round + ", " + c.show(last[c.key]) + " in " + word + " " + last.round });
    let values = points.map(p => p[c.key]);
    if (c.limit > 0) values.push(c.limit);
    values.push(...lines.map(l => l.accuracy));
    let lo = Math.min(...values), hi = Math.max(...values), ticks, y;
    if (log) {
      lo = Math.floor(Math.log10(lo)); hi = Math.max(lo + 1, Math.ceil(Math.log10(hi)));
      const step = Math.max(1, Math.ceil((hi - lo) / 4));
      ticks = [];
      for (let t = lo; t <= hi; t += step) ticks.push(10 ** t);
      y = v => bottom - (bottom - top) * (Math.log10(v) - lo) / (hi - lo);
    } else {
      if (c.options.zero) lo = 0;
      const least = Math.abs(hi) * .04 || .1; // with a smaller range, all labels of the axis would look the same
      if (hi - lo < least) { lo -= least / 2; hi += least / 2; }
      if (c.options.most) hi = Math.min(c.options.most, hi + (hi - lo) * .08);
      ticks = nice(lo, hi, 4);
      if (!c.options.zero) lo = Math.min(lo, ticks[0]);
      y = v => bottom - (bottom - top) * (v - lo) / (hi - lo);
    }
    const left = Math.max(44, ...ticks.map(t => 10 + 6.6 * c.options.tick(t).length)), x = r => left + (W - left - right) * r / total;
    if (s.cooldown > 0 && s.learning < total) {
      const from = x(s.learning);
      out.append(svg("rect", { class: "coolzone", x: from, y: top, width: Math.max(0, x(total) - from), height: bottom - top }));
    }
    for (const t of ticks) {
      out.append(svg("line", { class: "gridline", x1: left, x2: W - right, y1: y(t), y2: y(t) }),
        svg("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, c.options.tick(t)));
    }
    const marks = nice(0, total, W < 420 ? 3 : 6).filter(t => t === Math.round(t));
    for (const t of marks) out.append(svg("text", { x: x(t), y: H - 21, "text-anchor": t === 0 ? "start" : t === total ? "end" : "middle" }, String(t)));
    out.append(svg("text", { class: "axis", x: (left + W - right) / 2, y: H - 5, "text-anchor": "middle" }, word));
    // Lines to compare the curve with; their names do not overlap.
    let free = Infinity;
    const at = lines.map(l => free = Math.min(y(l.accuracy) + 4, free - 13));
    free = top - 4;
    for (let i = lines.length; i--;) at[i] = free = Math.max(at[i], free + 13);
    for (const v of [...lines.map(l => l.accuracy), ...c.limit > 0 ? [c.limit] : []]) {
      out.append(svg("line", { class: v === c.limit ? "limit" : "compared", x1: left, x2: W - right, y1: y(v), y2: y(v) }));
    }
    const cross = svg("path", { class: "cross" }), tip = svg("circle", { class: "tip", r: 4.5, cx: x(last.round), cy: y(last[c.key]) });
    const path = points.map((p, i) => (i ? "L" : "M") + x(p.round).toFixed(1) + " " + y(p[c.key]).toFixed(1)).join("");
    if (c.options.zero) out.append(svg("path", { class: "area", d: path + "L" + x(last.round) + " " + bottom + "L" + x(points[0].round) + " " + bottom + "Z" }));
    out.append(svg("path", { class: "curve", d: path }),
      ...lines.map((l, i) => svg("text", { x: W - right + 6, y: at[i] }, l.name)), cross, tip);
    c.plot.replaceChildren(out);
    c.drawn = { points, x, y, top, bottom, cross, tip, round: px => (px - left) / (W - left - right) * total };
  };
  const cAccuracy = chart("accuracy", "Accuracy", percent, { most: 1, tick: v => Math.round(1000 * v) / 10 + " %" });
  const cLoss = chart("loss", "Loss", v => figures(v, 3), { tick: v => figures(v, 3) });
  const cConsensus = chart("consensus_error", "Consensus error", v => v < 1e-9 ? "agreed" : figures(v, 3), { log: true, tick: v => v >= .01 && v < 1e4 ? figures(v, 3) : "1e" + Math.round(Math.log10(v)) });
  const cEpsilon = chart("epsilon", "Epsilon spent", epsilon, { zero: true, tick: v => figures(v, 3) });
  let latest = {}; // status
  const resized = new ResizeObserver(() => {
    all.forEach(draw);
    if (latest.nodes) graph(latest);
  });
  for (const e of [byId("graph"), ...all.map(c => c.plot)]) resized.observe(e);

  // The table that says what the charts show.
  const table = points => {
    const rows = points.slice(-1 - 512).reverse().map(p => el("tr", {}, el("th", { scope: "row" }, String(p.round)),
      el("td", {}, percent(p.accuracy)), el("td", {}, figures(p.loss, 4)), el("td", {}, figures(p.consensus_error, 4)), el("td", {}, epsilon(p.epsilon))));
    byId("rounds").tBodies[0].replaceChildren(...rows);
  };

  // Rows are updated in place, so that a selection or a scroll position survives.
  const rows = (head, items, cells) => {
    const t = byId("peers");
    if (!t.tHead.rows.length) t.tHead.append(el("tr", {}, ...head.map(h => el("th", { scope: "col" }, h))));
    const body = t.tBodies[0];
    while (body.rows.length > items.length) body.deleteRow(-1);
    items.forEach((item, i) => {
      let tr = body.rows[i];
      if (!tr) {
        tr = el("tr", {}, el("th", { scope: "row" }), ...head.slice(1).map((h, j) => el("td", { "data-label": j ? h : null, class: j ? "num" : "state" })));
        body.append(tr);
      }
      cells(item).forEach((c, j) => {
        const cell = tr.cells[j];
        if (typeof c === "string") return say(cell, c);
        if (cell.className !== c.class) cell.className = c.class;
        if (!cell.firstChild) cell.append(el("b"), el("small"));
        say(cell.firstChild, c.text);
        say(cell.lastChild, c.more);
      });
    });
  };
  // A neighbor from which nothing has ever come.
  const reached = n => !n.link || n.link.connected || n.link.bytes_received > 0 || n.link.heard_seconds > 0 || n.round > 0;
  const lag = n => n.behind > 0 ? plural(n.behind, "round") + " behind" : n.behind < 0 ? "1 round ahead" : reached(n) ? "in step" : "–";
  const how = l => (l.how ? ", " + l.how + " " + (l.address || "") : l.address ? ", at " + l.address : "") + (l.proxy ? " through " + l.proxy : "");
  const losses = l => l.lost ? ", lost " + (l.lost > 1 ? l.lost + " times" : "once") + (l.lost_by ? ": " + l.lost_by : "") : "";
  const heardAt = l => l.heard_seconds ? "last heard " + new Date(Date.now() - 1000 * l.heard_seconds).toLocaleString() : "not heard since this node started";
  // Violations of the protocol by a neighbor.
  const conduct = n => (n.refused_frames ? "; " + plural(n.refused_frames, "frame") + " refused" : "");
  const linkState = (n, total) => {
    const l = n.link, own = conduct(n);
    if (!l) return { class: "state " + (n.missing ? "held" : "up"), text: n.missing ? "waited for" : "in touch", more: own.slice(2) };
    if (l.refusal) return { class: "state down", text: "refused", more: l.refusal + own };
    const heard = l.broker ? ", " + heardAt(l) : "";
    if (l.silent) return { class: "state" + (n.round < total ? " down" : ""), text: "silent", more: "for " + span(l.seconds) + heard + losses(l) + own };
    if (!l.connected) return { class: "state" + (n.round < total ? " down" : ""), text: "not connected", more: "for " + span(l.seconds) + (l.fault ? ": " + l.fault : "") + losses(l) + own };
    return { class: "state " + (n.missing ? "held" : "up"), text: n.missing ? "connected, waited for" : "connected", more: "for " + span(l.seconds) + how(l) + heard + losses(l) + own };
  };

  // The graph of a group.
  const order = ["querying", "waiting", "cooling", "serving", "ended", "failed", "starting"];
  const graph = s => {
    const W = byId("graph").clientWidth || 400, H = W / 1.2, n = s.nodes.length, at = {};
    const named = n <= 20, letters = named ? Math.min(W < 400 ? 9 : 12, Math.max(...s.nodes.map(v => v.name.length))) : 0;
    const high = n > 1 ? H / 2 - 44 : 0, r = Math.min(20, 2.4 * (high || H) / n), wide = n > 1 ? W / 2 - r - 10 - 7.5 * letters : 0;
    s.nodes.forEach((node, i) => {
      const a = 2 * Math.PI * i / n - Math.PI / 2;
      at[node.name] = { x: W / 2 + wide * Math.cos(a), y: H / 2 + high * Math.sin(a), a };
    });
    const out = svg("svg", { viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "Network of " + plural(n, "node") + " and " + plural(s.edges.length, "connection") });
    for (const [a, b] of s.edges) {
      const find = (from, to) => s.nodes.find(v => v.name === from).neighbors.find(v => v.name === to);
      const l = (find(a, b) || {}).link;
      out.append(svg("line", { class: l ? l.connected ? "up" : "down" : "", x1: at[a].x, y1: at[a].y, x2: at[b].x, y2: at[b].y }, svg("title", {}, a + " – " + b)));
    }
    for (const node of s.nodes) {
      const p = at[node.name], side = Math.cos(p.a), g = svg("g", { class: phaseOf(node) }, svg("title", {}, node.name + ": " + phaseName[phaseOf(node)] + ", round " + node.round),
        svg("circle", { cx: p.x, cy: p.y, r }));
      if (r > 4 * String(node.round).length) g.append(svg("text", { class: "in", x: p.x, y: p.y + 4 }, String(node.round)));
      if (named) g.append(svg("text", { x: p.x + (r + 8) * side, y: p.y + (r + 12) * Math.sin(p.a) + 4, "text-anchor": side > .1 ? "start" : side < -.1 ? "end" : "middle" },
        node.name.length > letters ? node.name.slice(0, letters - 1) + "…" : node.name));
      out.append(g);
    }
    byId("graph").replaceChildren(out);
    byId("legend").replaceChildren(...order.filter(p => s.nodes.some(v => phaseOf(v) === p)).map(p =>
      el("span", { class: p }, el("span", { class: "dot" }), plural(s.nodes.filter(v => phaseOf(v) === p).length, "node") + " " + phaseName[p])));
  };

  const overall = s => { // of a group, as if it were one node
    for (const p of ["failed", ...order, "starting"]) for (const n of s.nodes) if (phaseOf(n) === p) return n;
    return s.nodes[0];
  };

  // One bar for each adversary.
  const privacy = p => {
    const ul = byId("bars"), bars = p ? p.against : [], what = p && p.unit || "data set";
    while (ul.children.length > bars.length) ul.lastChild.remove();
    bars.forEach((b, i) => {
      if (!ul.children[i]) ul.append(el("li", {}, el("span"), el("div", { class: "meter", "aria-hidden": "true" }, el("div")), el("b")));
      const [who, meter, value] = ul.children[i].children;
      say(who, b.who[0].toUpperCase() + b.who.slice(1));
      say(value, b.text);
      meter.firstChild.style.width = 100 * Math.min(1, b.epsilon / b.epsilon_planned) + "%";
      meter.classList.toggle("full", known(b.epsilon_limit) && b.epsilon_planned > b.epsilon_limit * (1 + 1e-9));
    });
    say(byId("unit"), !p ? "NOT PRIVATE: nothing limits what leaks." : "Epsilon so far, of the epsilon of all rounds, for each " + (p.unit || "client’s data set") + ", at δ " + figures(p.delta, 2) +
      "; and an upper bound on how often in 100 an adversary's best guess about a " + what + " is right (50 by chance).");
  };
  const timeLeft = (s, left) => {
    const phase = phaseOf(s);
    if (phase === "ended" || phase === "serving") return tileTime("done", "the model is final");
    if (phase === "waiting" || phase === "failed") return tileTime("–", phase === "failed" ? "failed" : "waiting for " + plural(s.waiting_for.length, "neighbor"));
    tileTime(pace > 0 ? span(Math.ceil(pace * left)) : "–", pace > 0 ? "about, for " + plural(left, s.mixing ? "release" : "round") : "known after some rounds");
  };

  let pace = 0; // seconds a round takes, as the last ones did; 0 if that is not known
  const show = s => {
    latest = s;
    const group = s.nodes, head = group ? overall(s) : s;
    const nodes = group || [s];
    say(byId("name"), group ? plural(nodes.length, "node") : s.name);
    say(byId("run"), "run " + s.run);
    document.title = (group ? s.run : s.name + " · " + s.run) + " · SPADE-Edge";
    const badge = byId("badge");
    badge.className = "badge " + (s.non_private ? "open" : "private");
    say(badge, s.non_private ? "NOT PRIVATE" : "private: ε " + head.privacy.against[0].of_text);

    const least = Math.min(...nodes.map(n => n.round)), total = head.rounds + head.cooldown;
    byId("phase").className = "phase " + phaseOf(head);
    const phases = new Set(nodes.map(phaseOf));
    say(byId("doing"), !group ? doing(s) : head.phase === "failed" ? head.name + " has failed: " + head.fault : phases.size === 1 ? "All nodes: " + phaseName[phaseOf(head)] :
      order.filter(p => phases.has(p)).map(p => nodes.filter(n => phaseOf(n) === p).length + " " + phaseName[p]).join(", "));
    say(byId("since"), group ? "" : since(s));
    const found = new Set(nodes.flatMap(n => n.evidence || []).map(e => e.member + " has signed two different releases of round " + e.round));
    const suspects = nodes.flatMap(n => n.neighbors.filter(v => v.quarantine).map(v => (group ? n.name + " of " : "") + v.name + " is in quarantine from release " + v.quarantine.release + " on: " + v.quarantine.reason + "."));
    byId("evidence").hidden = !found.size && !suspects.length;
    say(byId("evidence"), (found.size ? ["Evidence: " + [...found].join("; ") + ". Its device was cloned, or its state was restored from a copy."] : []).concat(suspects).join(" "));
    const bar = byId("bar");
    bar.setAttribute("aria-valuemax", total);
    bar.setAttribute("aria-valuenow", least);
    byId("learned").style.width = 100 * Math.min(least, head.rounds) / total + "%";
    byId("cooled").style.width = 100 * Math.max(0, least - head.rounds) / total + "%";
    byId("mark").style.left = "calc(" + 100 * head.rounds / total + "% - 1px)";
    byId("mark").hidden = head.cooldown === 0;
    say(byId("round"), progress(head, least));
    say(byId("advice"), advice(head));
    timeLeft(head, total - least);
    say(byId("split"), head.rounds + (head.mixing ? " learning and mixing, " : " learning, ") + head.cooldown + " cooling down");

    const links = nodes.flatMap(n => n.neighbors).map(n => n.link).filter(l => l);
    const sum = f => links.reduce((a, l) => a + f(l), 0);
    privacy(head.privacy);
    const ends = nodes.reduce((a, n) => a + n.neighbors.length, 0), up = sum(l => +l.connected);
    tilePeers(links.length ? (group ? up / 2 + " of " + ends / 2 : up + " of " + ends) : String(group ? ends / 2 : ends), group ? "connections" : links.length ? "neighbors" : "neighbors; connections are not known");
    const frames = nodes.reduce((a, n) => a + n.frame_bytes_sent, 0);
    const left = sum(l => l.bytes_sent);
    tileBytes(bytes(links.length ? left : frames), !links.length ? "of messages" : left < frames ? bytes(frames) + " of messages wait" : "with " + bytes(frames) + " of messages");
    tileIn(links.length ? bytes(sum(l => l.bytes_received)) : "–", links.length ? links[0].broker ? "in sealed messages" : "TLS included" : "not known");
    const refused = nodes.reduce((a, n) => a + n.refused_frames, 0);
    tileQueries(count(nodes.reduce((a, n) => a + n.queries, 0)), refused ? plural(refused, "frame") + " refused" : "of the black box");

    byId("graph-card").hidden = !group;
    say(byId("peers-title"), group ? "Nodes" : "Neighbors");
    if (group) {
      graph(s);
      const look = { failed: "down", waiting: "held", querying: "busy", cooling: "cool" };
      rows(["Node", "State", "Round", "Connected", ...(s.non_private ? [] : ["Epsilon"]), "Losses", "Sent"], nodes, n => [n.name,
        { class: "state " + (look[phaseOf(n)] || "up"), text: phaseName[phaseOf(n)], more: phaseOf(n) === "waiting" ? "for " + list(n.waiting_for) + ", " + span(n.phase_seconds) : n.fault || "" },
        String(n.round), n.neighbors.filter(v => v.link && v.link.connected).length + " of " + n.neighbors.length, ...(n.privacy ? [epsilon(n.privacy.against[0].epsilon)] : []), count(n.queries), bytes(n.neighbors.every(v => v.link) ? n.neighbors.reduce((a, v) => a + v.link.bytes_sent, 0) : n.frame_bytes_sent)]);
    } else {
      byId("peers").hidden = !s.neighbors.length;
      byId("alone").hidden = s.neighbors.length > 0;
      rows(["Neighbor", "State", "Round", "Lag", "Sent", "Received"], s.neighbors.filter(n => !n.like || n.like === n.name), n => {
        const alike = n.like ? s.neighbors.filter(m => m.like === n.like).map(m => m.name) : [n.name], state = linkState(n, total);
        return [list(alike), n.like ? { ...state, text: "each " + state.text } : state, String(n.round), lag(n),
          n.link ? bytes(n.link.bytes_sent) : "–", n.link ? bytes(n.link.bytes_received) : "–"];
      });
    }

    const own = (head.mixing ? "After mixing. " : "") + (group ? "On " + s.scored_on : s.non_private ? "On this device's own data" : "On this device's own data: not covered by the privacy guarantee, for this device only");
    const local = s.local, asked = local && local.of_queries;
    cAccuracy.lines = (group ? s.compared : local ? [{ name: "majority", accuracy: local.majority }] : []).filter(l => known(l.accuracy)).sort((a, b) => a.accuracy - b.accuracy);
    for (const c of [cAccuracy, cLoss]) {
      say(c.note, (asked && c === cLoss ? "Mean of what the program has answered for each round. " : "") + own + (c.lines || []).map((l, i) => (i ? ", " : "; ") + l.name + " " + percent(l.accuracy)).join(""));
      c.note.classList.toggle("warn", !group && !s.non_private);
      c.none = !group && (!local || asked && c === cAccuracy);
    }
    const mixed = head.mixing ? ", after mixing" : "";
    say(cConsensus.note, "Mean squared distance from the " + (group ? "average model" : "neighbors' models") + mixed + ", logarithmic");
    cConsensus.none = !group && s.round > 1 && !s.consensus_error_round; // messages do not show a neighbor's model
    const p = head.privacy, named = p && p.against[0];
    cEpsilon.limit = p && known(named.epsilon_limit) ? named.epsilon_limit : 0;
    say(cEpsilon.note, !p ? "NOT PRIVATE: nothing bounds what leaks" : (cEpsilon.limit ? "Dashed: the budget of " + cEpsilon.limit : "All rounds will cost " + epsilon(named.epsilon_planned)) + ", at δ " + figures(p.delta, 2) + " (" + p.accounting + "), against " + named.adversary);
    cEpsilon.none = !p;
    const each = q => q.text.replace(/^epsilon /, "") + (q.unit ? ", for each " + q.unit : "");
    say(byId("fine"), s.non_private ? "NOT PRIVATE: what the nodes of this run send may reveal their data." : "Epsilon covers everything this run sends. It is " + each(p) +
      (p.lifetime && p.lifetime.runs ? "; over " + plural(p.lifetime.runs, "run") + " on these data, " + each(p.lifetime) : "") + ". It does not cover the times of messages" + (group ? "." : ", nor what this page shows of the device's own data."));
    return { learning: head.rounds, cooldown: head.cooldown, total, mixing: head.mixing };
  };

  // Keeping up to date.
  const ask = async path => {
    const stop = new AbortController(), timer = setTimeout(() => stop.abort(), 5000);
    try {
      const r = await fetch(path, { signal: stop.signal, cache: "no-store" });
      if (!r.ok) throw new Error(path + ": " + r.status);
      return await r.json();
    } finally { clearTimeout(timer); }
  };
  let misses = 0, seen = "", heard = new Date();
  const step = async () => {
    try {
      const s = await ask("status");
      const extent = show(s);
      const nodes = s.nodes || [s];
      const now = JSON.stringify(nodes.map(n => [n.round, n.consensus_error_round, n.local && n.local.round, n.phase]).concat(s.compared || []));
      if (now !== seen) {
        const h = await ask("history");
        for (const c of all) {
          c.state = { points: h.points, ...extent };
          draw(c);
        }
        table(h.points);
        const late = h.points.slice(-20), from = late[0], to = late[late.length - 1];
        pace = late.length > 2 ? (to.seconds - from.seconds) / (to.round - from.round) : 0;
        show(s); // with the pace
        seen = now;
      }
      misses = 0;
      heard = new Date();
      byId("gone").hidden = true;
      document.body.classList.remove("lost");
    } catch (e) {
      if (++misses >= 2) {
        say(byId("gone"), "No answer since " + heard.toLocaleTimeString() + ": the node has ended, or it cannot be reached. This is its last state.");
        byId("gone").hidden = false;
        document.body.classList.add("lost");
      }
    }
    setTimeout(step, document.hidden ? 5000 : 1000);
  };
  step();
})();
