"""The site: README, guides, vignettes, proofs and the reference, from the files of the checkout as they are.

``make docs`` builds it from the folder above, so that a link between two files is the same link on the site.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import dpglm  # noqa: E402

project, author, copyright = "dpglm", "the dpglm developers", "the dpglm developers"
version = release = dpglm.__version__
root_doc = "docs/index"
include_patterns = [
    *(f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
    *("docs/**", "vignettes/*.md", "data/*.md", "r/README.md", "dpglm/**/*.md"),
]
exclude_patterns = ["docs/_build/**", "docs/_templates/**"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "site_parts",
]
nitpicky = True

myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4

# `margins` in a docstring is a link where there is such a name, and emphasised where there is none.
default_role = "autolink"
templates_path = [str(ROOT / "docs" / "_templates")]  # autosummary would look beside the README
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "dpglm"
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_end": ["navbar-icon-links"],
    "header_links_before_dropdown": 6,  # as many as docs/index.md has with a short name
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
}
html_context = {"default_mode": "light"}
