#!/usr/bin/env python3
"""check_site.py SITE: opens pages of the built site in a headless browser, from file:// URLs, and searches.

Fails where a page does not show its heading, where a search does not find the page that it has to, or where a link
between pages, or of the README and its like to a file, leads nowhere.
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

site = pathlib.Path(sys.argv[1]).resolve()

# Page -> a text that it has to show. The search pages are filled in by JavaScript.
pages = {
    "index.html": "streams training datasets",
    "stores/s3.html": "AWS_ACCESS_KEY_ID",
    "reference/load.html": "Every full global batch holds the same samples",
    "reference/stores.html": "Reads and writes objects under a prefix of a bucket",
    "performance.html": "How to repeat it",
    "search.html?q=py1e": "order.html",
    "search.html?q=checkpoint_saver": "reference/checkpoints.html",
    "own-data.html": "the same loss",
    "search.html?q=egress": "costs.html",
    "search.html?q=proportion": "reference/load.html",
    "search.html?q=range_request_cost": "loader.html",
}


def shown(page, text):
    """What the browser has in the end. One that dies, hangs or does not have the text yet is started again, twice at most."""
    browser = shutil.which("chromium") or sys.exit("check_site.py: chromium is not installed: tools/install-deps.sh docs")
    for _ in range(3):
        # Processes of the browser may outlive it, and write there.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            try:
                done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                       "--allow-file-access-from-files", f"--user-data-dir={profile}", "--virtual-time-budget=20000",
                                       "--dump-dom", f"file://{site}/{page}"], capture_output=True, text=True, timeout=120)
            except subprocess.TimeoutExpired:
                continue
        if done.returncode == 0 and text in done.stdout:
            return done.stdout
        print(f"check_site.py: the browser ended with status {done.returncode} on {page}, without '{text}':\n{done.stderr}", file=sys.stderr)
    return ""


class links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.found.append(values["href"])


def check_links():
    parsed = {}
    for page in site.rglob("*.html"):
        reader = links()
        reader.feed(page.read_text(encoding="utf-8"))
        parsed[page] = reader
    for page, reader in parsed.items():
        for href in reader.found:
            url = urllib.parse.urlsplit(href)
            if url.scheme or url.netloc:
                continue
            target = (page.parent / urllib.parse.unquote(url.path)).resolve() if url.path else page
            if not target.exists():
                yield f"{page.relative_to(site)}: the link to {href} leads nowhere"
            elif url.fragment and target in parsed and urllib.parse.unquote(url.fragment) not in parsed[target].anchors:
                yield f"{page.relative_to(site)}: {href} names no place in that page"


def check_files():
    root = pathlib.Path(__file__).resolve().parent.parent
    for page in root.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not (root / target).exists():
                yield f"{page.name}: there is no {target}"


failures = [*check_links(), *check_files()]
for page, text in pages.items():
    if text not in shown(page, text):
        failures.append(f"{page} does not show '{text}'")
for failure in failures:
    print(f"mdstream: {failure}")
if failures:
    sys.exit(1)
print(f"mdstream: {len(pages)} pages were opened and searched in a browser")
