/* Two records side by side, read as JSON. What may be set against what follows the rules of the evidence. */
(() => {
  "use strict";
  const root = document.querySelector("[data-compare]");
  if (!root) return;
  const NAMES = ["id", "path", "role", "name", "what", "kind", "title", "hardware", "about", "recipe"];
  const SKIPPED = new Set(["schema", "pins", "id"]);
  const CARRY_NOTHING = new Set(["reported", "external-prior"]);
  const MATCHED = ["class", "probe", "suite", "target", "prompt_tokens", "target_tokens", "output_tokens", "output_control", "concurrency", "load", "rate", "cache", "thinking", "path", "protocol"];
  const folders = { recipes: "Recipes", findings: "Findings and arms", identities: "Identities", hardware: "Hardware" };

  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== false && value != null) made.setAttribute(name, value === true ? "" : value);
    made.append(...children);
    return made;
  };
  const site = new URL("../../", new URL(root.dataset.api, document.baseURI));
  const cached = new Map();
  const read = (path) => {
    if (!cached.has(path)) {
      cached.set(path, fetch(new URL(path, new URL(root.dataset.api, document.baseURI))).then((answer) => {
        if (!answer.ok) throw new Error(`${path}: there is no such record`);
        return answer.json();
      }));
    }
    return cached.get(path);
  };

  const show = (value) => {
    if (value === null || value === undefined) return "";
    if (Array.isArray(value)) return value.map(show).join(", ");
    if (typeof value === "object") return "unknown" in value ? `unknown: ${value.unknown}` : Object.entries(value).map(([k, v]) => `${k}: ${show(v)}`).join(", ");
    return String(value).replaceAll("-", (sign, at) => (at === 0 ? "\u2212" : sign));
  };
  function flatten(value, place, found) {
    if (Array.isArray(value) && value.some((item) => item && typeof item === "object")) {
      value.forEach((item, at) => {
        const name = item && NAMES.map((key) => item[key]).find((each) => typeof each === "string");
        flatten(item, [...place, name ?? String(at + 1)], found);
      });
    } else if (value && typeof value === "object" && !Array.isArray(value) && !("unknown" in value)) {
      for (const [key, inner] of Object.entries(value)) if (!(place.length === 0 && SKIPPED.has(key))) flatten(inner, [...place, key], found);
    } else {
      found.set(place.join(" / "), show(value));
    }
    return found;
  }

  const link = (folder, id) => make("a", { href: new URL(`${folder}/${id}/`, site).href }, id);
  function table(caption, heads, rows) {
    const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
    return make("div", { class: "dx-table", role: "region", tabindex: "0", "aria-label": caption },
      make("table", { class: "dx-t" }, make("caption", {}, make("span", {}, caption)), make("thead", {}, head), make("tbody", {}, ...rows)));
  }
  const row = (cells, differs) => make("tr", { class: differs ? "dx-differs" : null },
    ...cells.map((cell, at) => (at ? make("td", {}, cell) : make("th", { scope: "row" }, cell))));
  const section = (title, ...content) => make("section", { class: "dx-section" }, make("h2", {}, title), ...content);
  const note = (text) => make("p", { class: "dx-note" }, text);

  /* Fields that differ stand open; equal ones fold below. */
  function sideBySide(title, a, b, names) {
    const [left, right] = [flatten(a ?? {}, [], new Map()), flatten(b ?? {}, [], new Map())];
    const places = [...new Set([...left.keys(), ...right.keys()])];
    const cells = (place) => [place.replaceAll("_", " "), left.get(place) ?? "not given", right.get(place) ?? "not given"];
    const differing = places.filter((place) => left.get(place) !== right.get(place));
    const equal = places.filter((place) => left.get(place) === right.get(place));
    const made = [];
    if (differing.length) made.push(table(`${title}: ${differing.length} that differ`, ["Field", ...names], differing.map((place) => row(cells(place), true))));
    else made.push(note("Nothing differs."));
    if (equal.length) {
      made.push(make("details", {}, make("summary", {}, `${equal.length} ${equal.length === 1 ? "field is" : "fields are"} equal`),
        table(`${title}: equal`, ["Field", "Both"], equal.map((place) => row(cells(place).slice(0, 2), false)))));
    }
    return section(title, ...made);
  }

  const known = (value) => (value && typeof value === "object" && "unknown" in value ? null : value ?? null);
  function size(value) {
    const ends = String(value).split("..").map(Number);
    return ends.length ? (ends[0] + ends[ends.length - 1]) / 2 : NaN;
  }
  /* Actual prompt tokens of two matched populations may lie a twentieth apart, as in the checks. */
  function fieldDiffers(name, a, b) {
    const [left, right] = [known(a[name]), known(b[name])];
    if (left === null && right === null) return "";
    const label = name.replaceAll("_", " ");
    if (left === null || right === null) return `${label} is recorded on one side only`;
    if (name === "prompt_tokens" || name === "output_tokens") {
      const [x, y] = [size(left), size(right)];
      return Math.abs(x - y) <= 0.05 * Math.max(x, y) ? "" : `${label}: ${show(left)} and ${show(right)}`;
    }
    return show(left) === show(right) ? "" : `${label}: ${show(left)} and ${show(right)}`;
  }
  function faults(one, other) {
    const found = MATCHED.map((field) => fieldDiffers(field, one, other)).filter(Boolean);
    const told = MATCHED.slice(1).some((field) => known(one[field]) !== null) || (one.title && one.title === other.title);
    return found.length || told ? found : ["no condition is recorded on either side"];
  }
  function why(population, finding) {
    if (finding.withdrawn) return "its finding is withdrawn";
    if (population.excluded) return `excluded: ${population.excluded.reason.replaceAll("-", " ")}`;
    const provenance = population.provenance ?? finding.data.provenance;
    return CARRY_NOTHING.has(provenance) ? `${provenance.replaceAll("-", " ")} only` : "";
  }

  /* A figure written with k digits stands for anything within half a unit of its last place. */
  const half = (text) => 0.5 * 10 ** -((text.split(".")[1] ?? "").length);
  function difference(a, b) {
    const parse = (text) => /^([+\-−]?[\d.]+)\s*(.*)$/.exec(text);
    const [left, right] = [parse(String(a)), parse(String(b))];
    if (!left || !right || left[2] !== right[2]) return "not in one unit";
    const [x, y, p, q] = [Number(left[1].replace("−", "-")), Number(right[1].replace("−", "-")), half(left[1]), half(right[1])];
    if (y - q <= 0 || x < 0) return "no ratio: the baseline may be zero";
    const percent = (ratio) => (ratio - 1) * 100;
    const [low, mid, high] = [percent(Math.max(x - p, 0) / (y + q)), percent(x / y), percent((x + p) / (y - q))];
    const digits = high - low <= 0.01 ? 2 : high - low <= 0.1 ? 1 : 0;
    const text = Math.abs(mid).toFixed(digits);
    return `${Number(text) === 0 ? "" : mid < 0 ? "\u2212" : "+"}${text}\u00a0%`;
  }

  function populations(a, b) {
    const own = (side) => (side.data.populations ?? []).filter((each) => !side.arm || each.arm === side.arm);
    const [left, right] = [own(a), own(b)];
    const rows = [], refused = [], taken = new Set();
    const name = (side, each) => make("a", { href: new URL(`findings/${side.id}/#i-${each.id}`, site).href }, each.title ?? each.id);
    for (const one of left) {
      const reason = why(one, a);
      const near = right.filter((other) => other.class === one.class && !taken.has(other)).map((other) => ({ other, faults: faults(one, other), reason: why(other, b) }))
        .sort((x, y) => Number(Boolean(x.reason)) - Number(Boolean(y.reason)) || x.faults.length - y.faults.length);
      const best = near[0];
      if (reason) refused.push(row([name(a, one), best ? name(b, best.other) : "", reason]));
      else if (!best) refused.push(row([name(a, one), "", "the other side has no population of this class"]));
      else if (best.reason) refused.push(row([name(a, one), name(b, best.other), `${best.reason} (the other side)`]));
      else if (best.faults.length) refused.push(row([name(a, one), name(b, best.other), best.faults.join("; ")]));
      else {
        taken.add(best.other);
        rows.push(...figures(a, b, one, best.other, name));
      }
    }
    const made = [rows.length ? table("Figures of matched populations", ["Population", "Figure", "A", "B", "A against B"], rows) : note("No two populations match on every recorded condition.")];
    made.push(note("Differences are computed from the two figures as they are rounded. They describe these two runs: whether one is better is for an interval or a gate to say."));
    if (refused.length) made.push(table("Not set against each other", ["Population of A", "Nearest of B", "Why not"], refused));
    return section("Comparable populations", ...made);
  }
  function figures(a, b, one, other, name) {
    const found = [];
    const count = (each) => (known(each.passed) !== null && known(each.planned) !== null ? `${each.passed}/${each.planned}` : null);
    if (count(one) && count(other)) found.push(row([name(a, one), "passed", count(one), count(other), ""], count(one) !== count(other)));
    for (const m of a.data.measurements ?? []) {
      if (m.population !== one.id || m.excluded) continue;
      const same = (b.data.measurements ?? []).find((each) => each.population === other.id && !each.excluded && ["metric", "statistic", "per", "when"].every((key) => (each[key] ?? "") === (m[key] ?? "")));
      if (!same || known(m.value) === null || known(same.value) === null) continue;
      const n = (each) => (typeof each.n === "number" ? `, n ${each.n}` : "");
      const text = (each) => show(typeof each.value === "object" ? `${each.value.value} ${each.value.unit ?? ""}`.trim() : each.value);
      const raw = (each) => (typeof each.value === "object" ? `${each.value.value} ${each.value.unit ?? ""}`.trim() : each.value);
      found.push(row([name(a, one), [m.metric.replaceAll("_", " "), m.statistic].filter(Boolean).join(", "), text(m) + n(m), text(same) + n(same), difference(raw(m), raw(same))], raw(m) !== raw(same)));
    }
    return found.length ? found : [row([name(a, one), "no figure of one kind on both sides", "", "", ""])];
  }

  async function side(text) {
    const [folder, rest = ""] = text.trim().split("/");
    const [id, arm] = rest.split("@");
    if (!folders[folder] || !/^[a-z0-9._-]+$/.test(id)) throw new Error(`${text}: write a folder and an id, such as recipes/some-id or findings/some-id@arm`);
    const data = await read(`${folder}/${id}.json`);
    const found = { folder, id, arm, data, label: arm ? `${id} @ ${arm}` : id };
    if (folder === "findings") {
      if (arm && !data.arms?.[arm]) throw new Error(`${id} has no arm ${arm}; it has ${Object.keys(data.arms ?? {}).join(", ") || "none"}`);
      const year = await read(`findings/year-${data.date.slice(0, 4)}.json`);
      found.became = year.findings.find((each) => each.id === id)?.became ?? [];
      found.withdrawn = found.became.some((each) => each.word === "withdrawn");
      const named = arm ? data.arms[arm].recipe : Object.values(data.arms ?? {}).map((each) => each.recipe).find((each) => typeof each === "string");
      found.recipe = typeof named === "string" ? await read(`recipes/${named}.json`) : null;
    } else if (folder === "recipes") found.recipe = data;
    if (found.recipe) {
      found.identity = typeof found.recipe.identity === "string" ? await read(`identities/${found.recipe.identity}.json`) : null;
      found.hardware = typeof found.recipe.hardware === "string" ? await read(`hardware/${found.recipe.hardware}.json`) : null;
    }
    return found;
  }

  const state = new URLSearchParams(location.search);
  const kind = make("select", { class: "dx-input", id: "compare-kind" }, ...Object.entries(folders).map(([value, label]) => make("option", { value }, label)));
  const list = make("datalist", { id: "compare-list" });
  const inputs = ["a", "b"].map((name) => make("input", { class: "dx-input", id: `compare-${name}`, list: "compare-list", value: state.get(name) ?? "", autocomplete: "off", spellcheck: "false" }));
  const told = make("p", { role: "status", class: "dx-note" });
  const result = make("div");
  root.append(make("p", { class: "dx-bar-line" }, make("label", { for: "compare-kind" }, "Suggest"), kind),
    make("div", { class: "dx-pick" }, ...inputs.map((input, at) => make("label", { for: input.id }, at ? "B, the baseline" : "A, the candidate", input))), list, told, result);

  async function suggest() {
    const ids = [];
    try {
      const index = await read("index.json");
      if (kind.value === "findings") {
        for (const year of index.findings.years.slice(0, 2)) {
          for (const each of (await read(`findings/year-${year.year}.json`)).findings.reverse()) ids.push([each.id, each.title]);
        }
      } else ids.push(...(index.records[kind.value] ?? []).map((each) => [each.id, ""]));
    } catch {
      told.textContent = "Records cannot be read from here: this page needs the site to be served by a web server.";
    }
    list.replaceChildren(...ids.map(([id, title]) => make("option", { value: `${kind.value}/${id}` }, title)));
  }

  async function run() {
    const asked = inputs.map((input) => input.value.trim());
    if (!asked[0] || !asked[1]) {
      told.textContent = "Choose two records. An arm is written behind its finding: findings/ID@arm.";
      return;
    }
    history.replaceState(null, "", `?${new URLSearchParams({ a: asked[0], b: asked[1] })}`);
    told.textContent = "Reading …";
    try {
      const [a, b] = await Promise.all(asked.map(side));
      const names = [a.label, b.label];
      const made = [make("p", {}, "A is ", link(a.folder, a.id), a.arm ? ` (${a.arm})` : "", ", B is ", link(b.folder, b.id), b.arm ? ` (${b.arm})` : "", ".")];
      for (const each of [a, b]) for (const mark of each.became ?? []) made.push(make("div", { class: `dx-banner dx-banner-${mark.word === "withdrawn" ? "withdrawn" : "superseded"}`, role: "note" }, make("p", {}, `${each.id} was ${mark.word} by `, link("findings", mark.finding))));
      if (a.folder === "findings" && b.folder === "findings") made.push(populations(a, b));
      if (a.recipe && b.recipe) made.push(sideBySide("Recipe", a.recipe, b.recipe, names), sideBySide("Identity", a.identity, b.identity, names), sideBySide("Hardware", a.hardware, b.hardware, names));
      else if (a.folder === b.folder && a.folder !== "findings") made.push(sideBySide(folders[a.folder], a.data, b.data, names));
      else made.push(note("These two have no recipe to set side by side."));
      result.replaceChildren(...made);
      document.dispatchEvent(new Event("dossier:tables"));
      told.textContent = "";
    } catch (error) {
      result.replaceChildren();
      told.textContent = error instanceof TypeError ? "Records cannot be read from here: this page needs the site to be served by a web server." : error.message;
    }
    root.dataset.done = "";
  }

  kind.value = (state.get("a") ?? "recipes").split("/")[0] in folders ? (state.get("a") ?? "recipes").split("/")[0] : "recipes";
  kind.addEventListener("change", suggest);
  inputs.forEach((input) => input.addEventListener("change", run));
  suggest();
  run();
})();
