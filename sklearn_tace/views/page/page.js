"use strict";
(() => {
  const table = document.getElementById("classes");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const text = document.getElementById("filter");
  const kind = document.getElementById("kind");
  const shown = document.getElementById("shown");
  const order = new Intl.Collator(undefined, { numeric: true });

  // Cells bear their number; those without one come last in either direction.
  const number = (row, column) => {
    const value = row.cells[column].dataset.v;
    return value === undefined || value === "" ? NaN : Number(value);
  };
  const isText = (column) => rows[0].cells[column].dataset.v === undefined;
  const compare = (first, second, column, sign) => {
    if (isText(column)) {
      const names = [first, second].map((row) => row.cells[0].textContent);
      return sign * order.compare(...names);
    }
    const [one, other] = [number(first, column), number(second, column)];
    if (Number.isNaN(one) || Number.isNaN(other)) {
      return Number.isNaN(one) - Number.isNaN(other);
    }
    return sign * (one - other);
  };

  const headers = Array.from(table.tHead.rows[0].cells);
  headers.forEach((header, column) => {
    header.firstElementChild.addEventListener("click", () => {
      const first = column ? "descending" : "ascending";
      const second = column ? "ascending" : "descending";
      const next = header.getAttribute("aria-sort") === first ? second : first;
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      rows.sort((a, b) => compare(a, b, column, sign));
      body.append(...rows);
    });
  });

  const filter = () => {
    const sought = text.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      const isKind = !kind.value || row.classList.contains(kind.value);
      const isNamed = row.cells[0].textContent.toLowerCase().includes(sought);
      row.hidden = !(isKind && isNamed);
      count += !row.hidden;
    }
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  };
  text.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  document.getElementById("controls").hidden = false;
  filter(); // a browser may keep what was typed before a reload
})();
