"use strict";
// Sorting, filtering, choosing, copying, downloading. Texts are never made into markup here: what is shown was escaped
// when the page was written.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  const keyOf = (cell) => {
    if (!cell) return null;
    const given = cell.querySelector("[data-sort]");
    if (given) return Number(given.dataset.sort);
    const text = cell.textContent.trim();
    if (text === "" || text === "-") return null;
    const found = text.match(/^[▲▼≈★!\s]*([+-]?[\d,]*\.?\d+)/u);
    return found ? Number(found[1].replaceAll(",", "")) : text;
  };
  const compare = (a, b) => {
    if (a === null || b === null) return 0;
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b);
  };
  const sort = (table, head) => {
    const place = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].filter((row) => !row.classList.contains("pinned"));
    const keyed = rows.map((row, number) => ({ row, number, key: keyOf(row.cells[place]) }));
    // What has no value comes last, whichever way the others are sorted.
    keyed.sort((a, b) => (a.key === null) - (b.key === null) || (down ? -1 : 1) * compare(a.key, b.key)
      || a.number - b.number);
    body.append(...keyed.map((one) => one.row));
  };
  all("table.sortable").forEach((table) => {
    all("thead th", table).forEach((head) => {
      head.tabIndex = 0;
      head.addEventListener("click", () => sort(table, head));
      head.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          sort(table, head);
        }
      });
    });
  });

  all("input[data-filter]").forEach((input) => {
    const table = document.getElementById(input.dataset.filter);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      [...table.tBodies[0].rows].forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !row.classList.contains("pinned") && !wanted.every((word) => text.includes(word));
      });
    });
  });

  all(".choice").forEach((choice) => {
    const buttons = all(":scope > .tabs > button", choice);
    const panels = all(":scope > .panel", choice);
    const show = (chosen) => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.panel === chosen)));
      panels.forEach((panel) => { panel.hidden = panel.dataset.panel !== chosen; });
    };
    buttons.forEach((button) => button.addEventListener("click", () => show(button.dataset.panel)));
    show("0");
  });

  all("button[data-copy]").forEach((button) => {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "copied";
      } catch {
        window.prompt("Copy this line", button.dataset.copy); // pages opened from a file may have no clipboard
      }
      window.setTimeout(() => { button.textContent = label; }, 1500);
    });
  });

  all("button[data-download]").forEach((button) => {
    button.addEventListener("click", () => {
      const held = document.getElementById(button.dataset.download);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([held.textContent], { type: "application/json" }));
      link.download = held.dataset.name;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  });

  const articles = all("article[data-query]");
  const chooser = document.querySelector("select[data-chooser]");
  const showQuery = (id) => {
    const wanted = articles.find((one) => one.dataset.query === id) ?? null;
    if (!wanted) return null;
    articles.forEach((one) => { one.hidden = one !== wanted; });
    chooser.value = id;
    return wanted;
  };
  const follow = () => {
    if (!location.hash.startsWith("#q=")) return;
    let id;
    try {
      id = decodeURIComponent(location.hash.slice(3));
    } catch {
      return; // no query has an id that cannot be decoded
    }
    showQuery(id)?.scrollIntoView();
  };
  if (chooser && articles.length) {
    chooser.closest("[hidden]").hidden = false;
    chooser.addEventListener("change", () => {
      history.replaceState(null, "", `#q=${encodeURIComponent(chooser.value)}`);
      showQuery(chooser.value);
    });
    showQuery(articles[0].dataset.query);
    window.addEventListener("hashchange", follow);
    follow();
  }
})();
