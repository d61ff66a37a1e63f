"""A study's folder as one page that loads nothing, with PNG figures and a Markdown summary beside it."""

from __future__ import annotations

import json
import re
import shlex
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HushloopError
from .figures import png_bytes, svg_text
from .page import PAGE, SCRIPT, STYLE
from .store import Store, write
from .study import Prepared, Ran, finish

if TYPE_CHECKING:
    import polars as pl

    from ..privacy.statement import Statement

ROWS = 400
"""A table in the page is cut after so many rows; the parquet file has all of them."""

SHOWN_LINES = 40


def report(folder: str | Path) -> Path:
    """Write report.html, report.md and figures/*.png from what is in the folder."""
    store = Store(folder)
    about = store.about()
    ran = finish(_prepared(about), store)
    return write_report(ran, store)


def write_report(ran: Ran, store: Store) -> Path:
    """The page of what has run."""
    prepared = ran.prepared
    (store.folder / "figures").mkdir(exist_ok=True)
    figures, texts = [], []
    for drawing in prepared.study.drawings:
        try:
            figure = drawing.draw(ran.tables, prepared.options)
        except KeyError as why:  # its table is missing since its cells failed
            figures.append(f"<p class=failed>{escape(drawing.name)}: no figure, {escape(str(why))} is missing</p>")
            continue
        write(store.folder / "figures" / f"{drawing.name}.png", png_bytes(figure))
        figures.append(_figure(prepared, drawing.name, drawing.caption, svg_text(figure, drawing.name)))
        texts.append(f"![{drawing.caption}](figures/{drawing.name}.png)")
    path = store.folder / "report.html"
    write(path, _page(ran, figures).encode())
    write(store.folder / "report.md", _markdown(ran, texts).encode())
    return path


def command_of(prepared: Prepared, out: str = "DIR") -> str:
    """The command that makes this folder again."""
    words = ["hushloop", "study", "run", prepared.study.name]
    words += ["--quick"] if prepared.quick else []
    for key, value in prepared.changes.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    return shlex.join([*words, "--out", out])


def _prepared(about: dict[str, Any]) -> Prepared:
    from .._version import __version__
    from . import find

    if about["version"] != __version__:
        raise HushloopError(
            f"the study was run with version {about['version']}, this is {__version__}: run it again with --resume"
        )
    return find(about["study"]).prepared(about["quick"], **about["changes"])


def _page(ran: Ran, figures: list[str]) -> str:
    prepared, study = ran.prepared, ran.prepared.study
    parts = [f"<h1>{escape(study.title)}</h1>", f'<p class="question">{escape(study.question)}</p>']
    parts += [_found(ran.findings), *_trouble(ran), "<h2>Figures</h2>", *figures, "<h2>Tables</h2>"]
    for name, table in ran.tables.items():
        parts.append(_table(name, table, open_=len(table) <= SHOWN_LINES))
    parts += ["<h2>What is promised to each person</h2>"]
    statements = study.statements(prepared.options)
    parts += [_statement(s) for s in statements] or ["<p>This study involves no promise.</p>"]
    parts += ["<h2>Configuration</h2>", _configuration(prepared)]
    return PAGE.format(title=escape(study.title), style=STYLE, body="\n".join(parts), script=SCRIPT)


def _found(sentences: list[str]) -> str:
    items = "".join(f"<li>{_inline(s)}</li>" for s in sentences)
    return f"<h2>What was found</h2><ul>{items}</ul>" if items else ""


def _inline(text: str) -> str:
    """Escaped text with `code`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _trouble(ran: Ran) -> list[str]:
    out = []
    if ran.missing:
        out.append(f'<p class="failed">{ran.missing} cells have not run: `--resume` runs them.</p>')
    if ran.failures:
        items = "".join(
            f"<details><summary>{escape(label)}</summary><pre>{escape(why)}</pre></details>"
            for label, why in ran.failures.items()
        )
        out.append(f'<h2 class="failed">{len(ran.failures)} cells failed</h2>{items}')
    return out


def _figure(prepared: Prepared, name: str, caption: str, svg: str) -> str:
    how = f"<code>{escape(command_of(prepared))}</code>"
    return (
        f'<figure id="{name}">{svg}<figcaption>{escape(caption)}'
        f'<br><span class="how">Made by {how}; as PNG: DIR/figures/{name}.png</span></figcaption></figure>'
    )


def _table(name: str, table: pl.DataFrame, open_: bool) -> str:
    head = "".join(f'<th scope="col"><button>{escape(c)}</button></th>' for c in table.columns)
    body = []
    for row in table.head(ROWS).iter_rows():
        cells = "".join(f'<td data-v="{escape(_raw(v))}">{escape(_shown(v))}</td>' for v in row)
        body.append(f"<tr>{cells}</tr>")
    cut = f"<p>The first {ROWS} of {len(table):,} rows.</p>" if len(table) > ROWS else ""
    return (
        f"<details{' open' if open_ else ''}><summary>{escape(name)} ({len(table):,} rows; tables/{escape(name)}"
        f'.parquet)</summary><div class="wide"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>'
        f"{''.join(body)}</tbody></table></div>{cut}</details>"
    )


def _raw(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.5g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _statement(statement: Statement) -> str:
    page = statement.html()
    body = page[page.index("<body>") + 6 : page.index("</body>")]
    body = re.sub(r"<h1>.*?</h1>", "", body, flags=re.DOTALL)
    body = re.sub(r"(</?)h2", r"\1h4", body)
    claimed = statement.document["claimed"]
    asked = "" if claimed is None else f", ε = {claimed['epsilon']:g}, δ = {claimed['delta']:g}"
    return f"<details><summary>{escape(statement.title + asked)}</summary>{body}</details>"


def _configuration(prepared: Prepared) -> str:
    text = json.dumps(prepared.about(), indent=2, ensure_ascii=False)
    return f"<p>Everything above comes from <code>{escape(command_of(prepared))}</code>.</p><pre>{escape(text)}</pre>"


def _markdown(ran: Ran, figures: list[str]) -> str:
    prepared = ran.prepared
    parts = [f"# {prepared.study.title}", prepared.study.question]
    parts += ["\n".join(f"- {s}" for s in ran.findings)] if ran.findings else []
    parts += [f"**{len(ran.failures)} cells failed**: " + "; ".join(ran.failures)] if ran.failures else []
    parts += figures
    for name, table in ran.tables.items():
        if len(table) <= SHOWN_LINES:
            parts += [f"## {name}", markdown_table(table)]
    parts += ["## How to make this again", f"```console\n$ {command_of(prepared)}\n```"]
    parts += [f"Version {prepared.about()['version']}. The page with the privacy statements is report.html."]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: pl.DataFrame) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *([_shown(v) for v in row] for row in table.iter_rows())]
    return "\n".join("| " + " | ".join(str(v).replace("|", "\\|") for v in row) + " |" for row in rows)
