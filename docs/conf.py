# How Sphinx makes the site of these pages (docs/build.sh).

import pathlib
import re
import sys

docs = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(docs))
version_header = (docs.parent / "include/mdstream/version.hpp").read_text(encoding="utf-8")

project = "mdstream"
version = release = ".".join(re.findall(r"#define MDSTREAM_VERSION_\w+ (\d+)", version_header)[:3])
copyright = "the mdstream authors, Apache-2.0"

extensions = ["myst_parser", "breathe", "public_names", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["README.md"]
nitpicky = False  # names of the standard library have no page here; links between pages are checked without it

breathe_projects = {"mdstream": str(docs.parent / "build/docs/xml")}
breathe_default_project = "mdstream"
breathe_show_include = False
breathe_default_members = ("members",)
primary_domain = "cpp"
highlight_language = "cpp"

html_theme = "furo"
html_title = f"mdstream {version}"
html_static_path = []
html_show_sphinx = False
