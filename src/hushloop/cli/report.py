"""`hushloop report`: the report of a study's folder, made again from its tables."""

from __future__ import annotations

from pathlib import Path

import click

from ._common import output_options, print_json


@click.command(epilog="Example: hushloop report studies/regret")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@output_options
def command(folder: Path, as_json: bool, quiet: bool) -> None:
    """Write report.html, report.md and the figures into FOLDER, which a study has made."""
    from ..studies.report import report

    page = report(folder)
    if as_json:
        print_json({
            "report": str(page), "summary": str(page.with_name("report.md")),
            "figures": sorted(str(p) for p in (folder / "figures").glob("*.png")),
        })  # fmt: skip
    else:
        click.echo(page)
