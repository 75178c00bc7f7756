#!/bin/sh
# install.sh VENV PYTHON: a virtual environment that holds the lock and the members, editable.
# uv is quick, pip is always there: what one cannot get the other installs, from the same files.
set -eu
venv=$1 python=$2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Python 3.11 or newer is needed, and '$python' is not that: make setup PYTHON=/path/to/python3.11" >&2
  exit 1
}
"$venv/bin/python" -c '' 2>/dev/null || "$python" -m venv --clear "$venv"

echo "Setting up $venv from the lock" >&2

pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
uv() { "$venv/bin/uv" pip "$@" --quiet --python "$venv/bin/python"; }

set --
for member in services/*/; do set -- "$@" -e "$member"; done

if pip --require-hashes -r requirements/uv.txt; then
  uv sync --require-hashes requirements/dev.txt requirements/uv.txt
  uv install --no-deps --no-build-isolation "$@"
else
  echo 'uv could not be had: installing with pip, which takes a minute' >&2
  pip --require-hashes -r requirements/dev.txt
  pip --no-deps --no-build-isolation "$@"
fi
