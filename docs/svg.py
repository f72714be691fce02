"""What docs/charts.py and docs/diagrams.py draw with: boxes, arrows and texts as SVG, and the check that a file is up to date."""
import html
import pathlib
import sys
import textwrap

STYLE = ("text{font:12px sans-serif;fill:#24292f}.small{font-size:11px;fill:#57606a}.title{font-size:14px;font-weight:600}"
         ".strong{font-weight:600}.paper{fill:#fff;stroke:#d0d7de}.box{fill:#f6f8fa;stroke:#57606a}.own{fill:#ddf4ff;stroke:#0969da}"
         ".good{fill:#dafbe1;stroke:#1a7f37}.bad{fill:#ffebe9;stroke:#cf222e}.line{fill:none;stroke:#57606a;stroke-width:1.4}"
         ".faint{fill:none;stroke:#d0d7de}.bar{fill:#1f6feb}.peer{fill:#9aa4af}.dot{fill:#1f6feb}")
COLOURS = ["#0969da", "#1a7f37", "#bf8700", "#cf222e", "#8250df", "#1b7c83", "#bc4c00", "#57606a"]


class drawing:
    """A picture on white paper, so that it can be read on dark pages too."""

    def __init__(self, title, width):
        self.title, self.width, self.parts = title, width, []
        self.text(14, 24, title, "title")

    def text(self, x, y, text, kind="", anchor="start"):
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{html.escape(text, quote=False)}</text>')

    def note(self, y, text):
        """Lines of small text from y on; the height of the drawing that ends with them."""
        lines = textwrap.wrap(text, 112)
        for number, line in enumerate(lines):
            self.text(14, y + 16 * number, line, "small")
        return y + 16 * len(lines)

    def box(self, x, y, width, height, lines=(), kind="box", radius=5):
        """A box with centred lines; the first is strong where there are several."""
        self.rect(x, y, width, height, kind, radius)
        for number, line in enumerate(lines):
            style = "strong" if number == 0 and len(lines) > 1 else "small" if number else ""
            self.text(x + width / 2, y + height / 2 + 4 + (number - (len(lines) - 1) / 2) * 15, line, style, "middle")

    def rect(self, x, y, width, height, kind="", radius=0, fill=None):
        paint = f'fill="{fill}"' if fill else f'class="{kind}"'
        self.parts.append(f'<rect {paint} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"/>')

    def line(self, *points, kind="line"):
        self.parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>')

    def arrow(self, *points):
        self.parts.append(f'<polyline class="line" marker-end="url(#head)" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>')

    def dot(self, x, y, fill, radius=1.6):
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius}" fill="{fill}"/>')

    def done(self, height):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height:g}" viewBox="0 0 {self.width} {height:g}" role="img">\n'
                f"<title>{html.escape(self.title, quote=False)}</title>\n<style>{STYLE}</style>\n"
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
                '<path d="M0,0L8,4L0,8z" fill="#57606a"/></marker></defs>\n'
                f'<rect class="paper" x="0.5" y="0.5" width="{self.width - 1}" height="{height - 1:g}" rx="6"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def keep(pictures):
    """Writes {path: text}; with --check only compares, and exits with status 1 where a file differs."""
    script = pathlib.Path(sys.argv[0]).name
    for path, text in pictures.items():
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/{script}: docs/images/{path.name} is out of date; run docs/{script}")
