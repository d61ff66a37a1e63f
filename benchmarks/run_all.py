"""Run every benchmark script, one after the other, and write results.json and the table in README.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELPERS = {"__main__.py", "__init__.py", "common.py", "run_all.py"}
LIMIT = 15 * 60.0
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def run(script: Path) -> list[dict[str, object]]:
    """The claims of one script; one that fails is itself a claim that does not hold."""
    try:
        done = subprocess.run(
            [sys.executable, str(script), "--json"], capture_output=True, text=True, timeout=LIMIT, check=True
        )
        return list(json.loads(done.stdout))
    except (subprocess.SubprocessError, ValueError) as why:
        stderr = getattr(why, "stderr", "") or ""
        text = stderr if isinstance(stderr, str) else stderr.decode(errors="replace")
        print(f"{script.name} failed: {why}\n{text[-2000:]}", file=sys.stderr)
        reason = f"{script.name} did not finish ({type(why).__name__})"
        return [{"claim": reason, "ours": "", "peer": "", "ratio": 0.0, "target": None, "holds": False}]


def table(results: list[dict[str, object]]) -> str:
    rows = ["| claim | ours | peer | ratio | target | holds |", "|---|---|---|---|---|---|"]
    for one in results:
        target = "–" if one["target"] is None else f"{one['target']}×"
        holds = "yes" if one["holds"] else "**no**"
        rows.append(f"| {one['claim']} | {one['ours']} | {one['peer']} | {one['ratio']}× | {target} | {holds} |")
    return "\n".join(rows)


def main() -> int:
    results: list[dict[str, object]] = []
    for script in sorted(HERE.glob("*.py")):
        if script.name in HELPERS or script.name.startswith("_"):
            continue
        print(f"{script.name} …", file=sys.stderr, flush=True)
        results += run(script)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
