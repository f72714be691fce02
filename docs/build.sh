#!/usr/bin/env bash
# docs/build.sh: installs what is missing and builds the documentation's site in build/site, from the pages of docs/ and
# the comments of the headers. It works from file:// URLs. Warnings are errors. MDSTREAM_DOCS_PYTHON: where its Python
# environment lies.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/tries.sh
. tools/tries.sh

tools/install-deps.sh docs
environment=${MDSTREAM_DOCS_PYTHON:-build/docs/python}
mkdir -p build/docs
if ! cmp -s docs/requirements.txt "$environment/requirements.txt"; then
  rm -rf "$environment"
  mkdir -p "$(dirname "$environment")"
  /usr/bin/python3 -m venv "$environment"
  tries "$environment/bin/pip" install -q --disable-pip-version-check --no-deps -r docs/requirements.txt
  cp docs/requirements.txt "$environment/requirements.txt"
fi
rm -rf build/docs/xml
doxygen docs/Doxyfile
"$environment/bin/sphinx-build" -q -E -W --keep-going -b html -d build/docs/doctrees docs build/site
docs/check_site.py build/site
echo "mdstream: the site is build/site/index.html"
