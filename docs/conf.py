"""Sphinx settings; the pages work without the internet."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# a folder of pages may be empty; this warning has no type that `suppress_warnings` could name
logging.getLogger("sphinx.sphinx.directives.other").addFilter(lambda record: "glob pattern" not in str(record.msg))

from hushloop._version import __version__  # noqa: E402

project = "hushloop"
author = "The hushloop maintainers"
copyright = author
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"hushloop {release}"
html_show_copyright = False
exclude_patterns = ["_build", "_ext", "README.md"]
autodoc_typehints = "description"
nitpicky = False
