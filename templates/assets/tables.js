/* Tables: sort by value, choose columns, filter by facets, save as CSV. Without this script every row is there. */
(() => {
  "use strict";
  const TOOLS_FROM = 3, CHOOSER_FROM = 6, SHOWN = 100, LISTED = 5;
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };
  const count = new Intl.NumberFormat("en-US").format;
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  /* What a cell is sorted by: the key that the record gave, a machine-readable value in it, or a number it begins with. */
  const NUMBER = /^[≈~]?\s*([+\-−]?\d[\d,]*(?:\.\d+)?)\s?(?:([kKmM])(?![\w/]))?/;
  function keyOf(cell) {
    if (!cell) return null;
    if (cell.dataset.sort !== undefined) return number(cell.dataset.sort);
    const inner = cell.querySelector("data[value], time[datetime]");
    if (inner) return number(inner.getAttribute("value") ?? inner.getAttribute("datetime"));
    return number(textOf(cell));
  }
  function number(text) {
    if (/^\d{4}-\d{2}-\d{2}/.test(text)) return text;
    const parts = /^([\d,]+)\/([\d,]+)/.exec(text);
    const plain = (digits) => Number(digits.replaceAll(",", "").replace("−", "-"));
    if (parts && plain(parts[2]) > 0) return plain(parts[1]) / plain(parts[2]);
    const found = NUMBER.exec(text);
    if (!found) return text === "" || text === "—" || text.startsWith("unknown") ? null : text;
    return plain(found[1]) * ({ k: 1e3, m: 1e6 }[(found[2] ?? "").toLowerCase()] ?? 1);
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return words.compare(String(a), String(b));
  }

  function textOf(cell) {
    const copy = cell.cloneNode(true);
    for (const each of copy.querySelectorAll(".dx-copy, .dx-anchor")) each.remove();
    for (const each of copy.querySelectorAll("br, li, p, div")) each.before(" ");
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  /* A spreadsheet takes such a cell for a formula; a plain number may begin with its sign. */
  const FORMULA = /^[=+\-@\t\r]/, PLAIN = /^[+\-]?[\d,.]+( ?%)?$/;
  function csvCell(text) {
    const safe = FORMULA.test(text) && !PLAIN.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  class Grid {
    constructor(region) {
      this.region = region;
      this.table = region.querySelector("table");
      this.body = this.table.tBodies[0];
      this.heads = [...this.table.tHead.rows[0].cells];
      this.rows = [...this.body.rows];
      this.kept = this.rows;
      this.hidden = new Set();
      this.order = null;
      this.limit = Infinity;
      this.name = region.getAttribute("aria-label") || "table";
      this.onchange = () => {};
      this.heads.forEach((head, index) => this.makeSortable(head, index));
      this.tools = make("div", { class: "dx-tools" });
      if (this.heads.length >= CHOOSER_FROM) this.tools.append(this.chooser());
      const save = make("button", { type: "button", class: "dx-tool", "aria-label": `Save as CSV: ${this.name}` }, "CSV");
      save.addEventListener("click", () => this.save());
      this.tools.append(save);
      region.before(this.tools);
    }

    makeSortable(head, index) {
      const button = make("button", { type: "button", class: "dx-sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = this.order?.index === index ? !this.order.down : index > 0 && head.classList.contains("dx-num");
        this.sort(index, down);
        this.onchange();
      });
    }

    sort(index, down) {
      if (!this.heads[index]) return;
      this.order = { index, down };
      this.heads.forEach((each, at) => {
        if (at === index) each.setAttribute("aria-sort", down ? "descending" : "ascending");
        else each.removeAttribute("aria-sort");
      });
      const keyed = this.rows.map((row, at) => [keyOf(row.cells[index]), at, row]);
      /* What is not known stands last, whichever way. */
      keyed.sort(([a, i], [b, j]) => (a === null) - (b === null) || (a === null ? 0 : compare(a, b) * (down ? -1 : 1)) || i - j);
      this.rows = keyed.map(([, , row]) => row);
      const kept = new Set(this.kept);
      this.kept = this.rows.filter((row) => kept.has(row));
      this.show();
    }

    show() {
      const rows = this.kept.slice(0, this.limit);
      if (this.hidden.size) rows.forEach((row) => this.applyColumns(row));
      this.body.replaceChildren(...rows);
    }

    applyColumns(row) {
      [...row.cells].forEach((cell, index) => { cell.hidden = this.hidden.has(index); });
    }

    chooser() {
      const panel = make("div", { class: "dx-panel" });
      this.boxes = this.heads.map((head, index) => {
        const box = make("input", { type: "checkbox", checked: true, disabled: index === 0 });
        box.addEventListener("change", () => {
          this.setHidden(index, !box.checked);
          this.onchange();
        });
        panel.append(make("label", {}, box, head.textContent));
        return box;
      });
      const details = make("details", { class: "dx-menu" }, make("summary", { class: "dx-tool", "aria-label": `Columns: ${this.name}` }, "Columns"), panel);
      details.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { details.open = false; details.firstElementChild.focus(); }
      });
      return details;
    }

    setHidden(index, hidden) {
      if (index === 0 || !this.heads[index]) return;
      this.hidden[hidden ? "add" : "delete"](index);
      if (this.boxes) this.boxes[index].checked = !hidden;
      this.heads[index].hidden = hidden;
      this.rows.forEach((row) => { if (row.cells[index]) row.cells[index].hidden = hidden; });
    }

    csv() {
      const columns = this.heads.map((_, index) => index).filter((index) => !this.hidden.has(index));
      const lines = [columns.map((index) => textOf(this.heads[index])), ...this.kept.map((row) => columns.map((index) => textOf(row.cells[index])))];
      return `\ufeff${lines.map((line) => line.map(csvCell).join(",")).join("\r\n")}\r\n`;
    }

    save() {
      const url = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv;charset=utf-8" }));
      const slug = this.name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "table";
      make("a", { href: url, download: `${slug}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    }
  }

  /* Facets. A row's attributes say what it is filtered by; counts say what a further choice would leave. */
  const FACETS = [
    ["model", "Model"], ["kind", "Kind"], ["status", "Status"], ["outcome", "Decided"], ["verdict", "Gate verdict"], ["class", "Measurement class"],
    ["provenance", "Provenance"], ["lane", "Lane"], ["hardware", "Hardware"], ["engine", "Engine"], ["recipe", "Recipe"], ["completion", "Completion"],
  ];

  class Explorer {
    constructor(root, grid) {
      this.root = root;
      this.grid = grid;
      this.paged = grid.rows.length > SHOWN;
      this.chosen = new Map(FACETS.map(([name]) => [name, new Set()]));
      this.text = this.from = this.to = "";
      this.pending = (root.dataset.more ?? "").split(" ").filter(Boolean);
      this.read();
      grid.onchange = () => this.remember();
      this.build();
      this.restore();
    }

    /* Each row's values as numbers, so that ten thousand are counted in a few milliseconds. */
    read() {
      this.names = FACETS.map(() => []);
      this.places = FACETS.map(() => new Map());
      this.labels = FACETS.map(() => new Map());
      this.items = this.grid.rows.map((row) => ({
        row,
        date: row.querySelector("time")?.dateTime ?? "",
        words: null,
        values: FACETS.map(([name], at) => (row.dataset[name] ?? "").split("|").filter(Boolean).map((value) => this.place(at, value, row))),
      }));
    }

    place(at, value, row) {
      let index = this.places[at].get(value);
      if (index === undefined) {
        index = this.names[at].push(value) - 1;
        this.places[at].set(value, index);
        const folder = { model: "models", recipe: "recipes", hardware: "hardware" }[FACETS[at][0]];
        const link = folder && [...row.querySelectorAll("a")].find((each) => each.getAttribute("href").endsWith(`${folder}/${value}/`));
        this.labels[at].set(index, link ? link.textContent : folder || FACETS[at][0] === "lane" ? value : value.replaceAll("-", " "));
      }
      return index;
    }

    build() {
      this.search = make("input", { type: "search", placeholder: "Words in a row", "aria-label": "Filter rows by words", class: "dx-input" });
      this.dates = ["From", "To"].map((label) => make("input", { type: "date", "aria-label": `${label} date`, class: "dx-input" }));
      this.panel = make("div", { class: "dx-facets" });
      this.clear = make("button", { type: "button", class: "dx-tool", hidden: true }, "Clear filters");
      this.status = make("p", { class: "dx-found", role: "status" });
      this.more = make("button", { type: "button", class: "dx-tool dx-more-rows", hidden: true });
      this.menu = make("details", { class: "dx-filter" }, make("summary", {}, "Filter"), this.panel);
      this.chips = make("ul", { class: "dx-chips", "aria-label": "Filters in force" });
      const bar = make("div", { class: "dx-bar-line", role: "search", "aria-label": "Filter the findings" }, this.search,
        make("span", { class: "dx-dates" }, this.dates[0], " to ", this.dates[1]), this.status, this.clear);
      this.grid.tools.before(bar, this.chips, this.menu);
      this.grid.region.after(this.more);
      let waiting;
      this.search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.changed(), 120); });
      this.dates.forEach((each) => each.addEventListener("change", () => this.changed()));
      this.clear.addEventListener("click", () => { this.reset(); this.changed(); this.search.focus(); });
      this.more.addEventListener("click", () => { this.grid.limit += SHOWN * 5; this.grid.show(); this.announce(); });
      addEventListener("popstate", () => this.restore());
    }

    reset() {
      for (const set of this.chosen.values()) set.clear();
      this.search.value = "";
      this.dates.forEach((each) => { each.value = ""; });
    }

    restore() {
      this.reset();
      const state = new URLSearchParams(location.search);
      for (const [name, set] of this.chosen) state.getAll(name).forEach((value) => set.add(value));
      if ([...this.chosen.values()].some((set) => set.size)) this.menu.open = true;
      this.search.value = state.get("q") ?? "";
      this.dates[0].value = state.get("from") ?? "";
      this.dates[1].value = state.get("to") ?? "";
      for (const label of state.getAll("hide")) this.grid.setHidden(this.grid.heads.findIndex((head) => head.textContent === label), true);
      const column = this.grid.heads.findIndex((head) => head.textContent === state.get("sort"));
      if (column >= 0) this.grid.sort(column, state.get("order") === "down");
      this.apply();
    }

    remember() {
      const state = new URLSearchParams();
      for (const [name, set] of this.chosen) for (const value of set) state.append(name, value);
      const { order, heads, hidden } = this.grid;
      const told = { q: this.search.value, from: this.dates[0].value, to: this.dates[1].value,
        sort: order ? heads[order.index].textContent : "", order: order?.down ? "down" : "" };
      for (const [name, value] of Object.entries(told)) if (value) state.set(name, value);
      for (const index of hidden) state.append("hide", heads[index].textContent);
      const query = state.toString();
      history.replaceState(null, "", query ? `?${query}` : location.pathname);
    }

    changed() {
      this.apply();
      this.remember();
    }

    active() {
      return this.search.value.trim() !== "" || this.dates.some((each) => each.value) || [...this.chosen.values()].some((set) => set.size);
    }

    apply() {
      if (this.pending.length && this.active()) this.fetchYears();
      const started = performance.now();
      const wanted = FACETS.map(([name], at) => new Set([...this.chosen.get(name)].map((value) => this.places[at].get(value) ?? -1)));
      const asked = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const [from, to] = this.dates.map((each) => each.value);
      const counts = this.names.map((names) => new Int32Array(names.length));
      const kept = new Set();
      for (const item of this.items) {
        if ((from && item.date < from) || (to && item.date > to)) continue;
        if (asked.length) {
          item.words ??= item.row.textContent.toLowerCase();
          if (!asked.every((word) => item.words.includes(word))) continue;
        }
        let missed = -1, misses = 0;
        for (let at = 0; at < wanted.length && misses < 2; at += 1) {
          if (wanted[at].size && !item.values[at].some((value) => wanted[at].has(value))) { missed = at; misses += 1; }
        }
        if (misses > 1) continue;
        if (misses === 0) kept.add(item.row);
        for (let at = 0; at < counts.length; at += 1) {
          if (misses === 0 || missed === at) for (const value of item.values[at]) counts[at][value] += 1;
        }
      }
      this.grid.limit = this.paged ? SHOWN : Infinity;
      this.grid.kept = this.grid.rows.filter((row) => kept.has(row));
      this.grid.show();
      this.draw(counts);
      this.announce();
      this.root.dataset.took = (performance.now() - started).toFixed(1);
    }

    announce() {
      const { kept, rows, limit } = this.grid;
      const all = kept.length === rows.length;
      this.status.textContent = this.note ?? (all ? `${count(rows.length)} findings` : `${count(kept.length)} of ${count(rows.length)} findings`);
      const left = kept.length - limit;
      this.more.hidden = !(left > 0);
      if (left > 0) this.more.textContent = `Show ${count(Math.min(left, SHOWN * 5))} more of ${count(left)}`;
      this.clear.hidden = !this.active();
    }

    draw(counts) {
      const open = new Set([...this.panel.querySelectorAll("details[open]")].map((each) => each.dataset.facet));
      const focused = document.activeElement?.id;
      this.panel.replaceChildren(...FACETS.map(([name, title], at) => this.facet(name, title, at, counts[at], open)).filter(Boolean));
      this.chips.replaceChildren(...FACETS.flatMap(([name, title], at) => [...this.chosen.get(name)].map((value) => {
        const label = this.labels[at].get(this.places[at].get(value)) ?? value;
        const chip = make("button", { type: "button", class: "dx-chip", "aria-label": `Remove filter ${title}: ${label}` }, make("span", { class: "dx-quiet" }, `${title} `), label, " ×");
        chip.addEventListener("click", () => { this.chosen.get(name).delete(value); this.changed(); this.search.focus(); });
        return make("li", {}, chip);
      })));
      this.chips.hidden = !this.chips.children.length;
      if (focused?.startsWith("facet-")) document.getElementById(focused)?.focus();
    }

    facet(name, title, at, counts, open) {
      const chosen = this.chosen.get(name), names = this.names[at];
      if (names.length < 2 && !chosen.size) return null;
      const order = names.map((_, index) => index).sort((a, b) => chosen.has(names[b]) - chosen.has(names[a]) || counts[b] - counts[a] || words.compare(names[a], names[b]));
      const entry = (index) => {
        const value = names[index];
        const box = make("input", { type: "checkbox", id: `facet-${name}-${index}`, checked: chosen.has(value), disabled: !counts[index] && !chosen.has(value) });
        box.addEventListener("change", () => { chosen[box.checked ? "add" : "delete"](value); this.changed(); });
        return make("li", {}, make("label", {}, box, make("span", {}, this.labels[at].get(index)), make("span", { class: "dx-count" }, count(counts[index]))));
      };
      const list = make("ul", {}, ...order.slice(0, LISTED).map(entry));
      const group = make("fieldset", { class: "dx-facet" }, make("legend", {}, title), list);
      if (order.length > LISTED) {
        const rest = make("details", { "data-facet": name, open: open.has(name) }, make("summary", {}, `${count(order.length - LISTED)} more`));
        const fill = () => { if (rest.open && rest.children.length === 1) rest.append(make("ul", {}, ...order.slice(LISTED).map(entry))); };
        rest.addEventListener("toggle", fill);
        fill();
        group.append(rest);
      }
      return group;
    }

    /* The rows of older years stand on pages of their own: fetched once, when something is first looked for. */
    async fetchYears() {
      const paths = this.pending;
      this.pending = [];
      this.note = "Looking through older years …";
      try {
        const pages = await Promise.all(paths.map(async (path) => {
          const answer = await fetch(path);
          if (!answer.ok) throw new Error(path);
          return new DOMParser().parseFromString(await answer.text(), "text/html");
        }));
        const rows = pages.flatMap((page, at) => [...page.querySelectorAll(".dx-runs tbody tr")].map((row) => {
          for (const link of row.querySelectorAll("a[href]")) link.href = new URL(link.getAttribute("href"), new URL(paths[at], document.baseURI)).href;
          return document.adoptNode(row);
        }));
        if (rows.length < this.items.length) throw new Error("rows");
        this.grid.rows = rows;
        this.paged = true;
        this.note = undefined;
        this.read();
        if (this.grid.order) this.grid.sort(this.grid.order.index, this.grid.order.down);
      } catch {
        this.note = "Older years cannot be read from here: this looks through the newest only. Open the page of a year.";
      }
      this.apply();
      this.root.dataset.complete = "";
    }
  }

  /* What is new since a day, kept in the address. */
  function sinceFilter(root) {
    const input = make("input", { type: "date", class: "dx-input", id: "since" });
    const told = make("span", { role: "status", class: "dx-found" });
    root.before(make("p", { class: "dx-bar-line" }, make("label", { for: "since" }, "What changed since"), input, told));
    const apply = () => {
      let days = 0, shown = 0;
      for (const day of root.querySelectorAll("[data-day]")) {
        day.hidden = input.value !== "" && day.dataset.day < input.value;
        if (!day.hidden) { days += 1; shown += day.querySelectorAll("li").length; }
      }
      told.textContent = input.value ? `${count(shown)} entries on ${count(days)} days` : "";
    };
    input.value = new URLSearchParams(location.search).get("since") ?? "";
    input.addEventListener("change", () => {
      history.replaceState(null, "", input.value ? `?since=${input.value}` : location.pathname);
      apply();
    });
    apply();
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-since]").forEach(sinceFilter);
    for (const region of document.querySelectorAll(".dx-table")) {
      const table = region.querySelector("table");
      if (!table?.tHead || table.tBodies.length !== 1 || table.tBodies[0].rows.length < TOOLS_FROM) continue;
      if (table.querySelector("[colspan], [rowspan]") || table.classList.contains("dx-tracks")) continue;
      const grid = new Grid(region);
      const root = region.closest("[data-explore]");
      if (root) new Explorer(root, grid);
    }
    document.documentElement.dataset.tables = "ready";
  });
})();
