"""The frame of a report: its style, and the few lines of script that sort its tables. Nothing is loaded."""

from __future__ import annotations

PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>{title}</title><style>{style}</style></head>\n<body>\n{body}\n<script>{script}</script></body></html>\n"
)

STYLE = """
:root { --ink: #1b1f24; --soft: #5a6370; --paper: #fff; --line: #d5d9e0; --accent: #0072b2; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
h4 { margin: 1.2rem 0 .3rem; }
.question { font-size: 1.1rem; color: var(--soft); }
figure { margin: 1.5rem 0; } figure svg { width: 100%; height: auto; background: #fff; }
figcaption { font-size: .92rem; } .how { color: var(--soft); font-size: .85rem; }
code { font-size: .9em; overflow-wrap: anywhere; } pre { overflow-x: auto; background: #f5f6f8; padding: .8rem; }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .8rem 0; font-size: .86rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; white-space: nowrap;
         font-variant-numeric: tabular-nums; }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
.failed { color: #a3280f; }
details svg { width: 100%; max-width: 40rem; height: auto; } svg .grid { stroke: var(--line); }
svg .mark { stroke: var(--soft); stroke-dasharray: 4 3; }
@media print { body { max-width: none; margin: 0; } figure { break-inside: avoid; } pre { white-space: pre-wrap; } }
"""

SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const value = row => row.cells[column].dataset.v;
    const compare = (a, b) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const [x, y] = [Number(a), Number(b)];
      return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y);
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => compare(value(a), value(b))));
  }));
}
"""
