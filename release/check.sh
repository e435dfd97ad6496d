#!/usr/bin/env bash
# Builds a release twice, holds that the bytes are equal, and tries what this
# machine can run. What was built is left in dist/.
set -euo pipefail
version=$1
number=${version#v}
work=$(mktemp -d)
trap 'rm -rf "${work}"; [[ -z ${registry:-} ]] || kill "${registry}"' EXIT
step() { printf '== %s\n' "$1"; }
prints() { # COMMAND... has to print this version, where there is no Go
	local out
	out=$(cd "${work}" && env -i HOME="${work}" PATH="/usr/bin:/bin" TMPDIR="${work}" "$@" version)
	[[ ${out} == "agentgateway-lock ${number} "* ]] || { echo "$* prints: ${out}" >&2; exit 1; }
}

step 'build, twice, from two places'
release/release.sh "${version}"
git clone -q . "${work}/clone"
(cd "${work}/clone" && release/release.sh "${version}")
diff dist/checksums.txt "${work}/clone/dist/checksums.txt"
(cd dist && sha256sum --quiet -c checksums.txt)
rm -rf "${work}/clone"

os=$(go env GOOS) arch=$(go env GOARCH)
step "the archive for ${os} ${arch}"
mkdir "${work}/archive"
tar -xzf "dist/agentgateway-lock_${number}_${os}_${arch}.tar.gz" -C "${work}/archive"
prints "${work}/archive/agentgateway-lock"
prints "${work}/archive/agentgateway"
size=$(wc -c <"${work}/archive/agentgateway-lock")
((size <= 34000000)) || { echo "the program has ${size} bytes, and may have 34000000" >&2; exit 1; }
for page in LICENSE THIRD_PARTY_NOTICES.md share/agentgateway-lock.1 share/agentgateway-lock.bash; do
	[[ -s ${work}/archive/${page} ]] || { echo "the archive lacks ${page}" >&2; exit 1; }
done

if command -v dpkg-deb >/dev/null && [[ ${os} == linux ]]; then
	step 'the deb, in a folder'
	dpkg-deb -x "dist/agentgateway-lock_${number}_linux_${arch}.deb" "${work}/deb"
	prints "${work}/deb/usr/bin/agentgateway-lock"
	prints "${work}/deb/usr/bin/agentgateway"
	for page in lib/systemd/system/agentgateway-lock.service lib/sysusers.d/agentgateway-lock.conf share/man/man1/agentgateway-lock.1 share/doc/agentgateway-lock/copyright; do
		[[ -s ${work}/deb/usr/${page} ]] || { echo "the deb lacks ${page}" >&2; exit 1; }
	done
	dpkg-deb --ctrl-tarfile "dist/agentgateway-lock_${number}_linux_${arch}.deb" | tar -t | grep -q postinst
else
	echo 'not tried: the deb, since there is no dpkg-deb'
fi

step 'npx, from a registry of these files alone'
python3 release/registry.py dist "${work}/port" &
registry=$!
until [[ -s ${work}/port ]]; do sleep 0.1; done
prints npx --yes --registry "http://127.0.0.1:$(cat "${work}/port")" --cache "${work}/npm" agentgateway-lock
mkdir "${work}/project"
(cd "${work}/project" && npm install --silent --no-audit --no-fund --registry "http://127.0.0.1:$(cat "${work}/port")" --cache "${work}/npm" agentgateway-lock)
prints "${work}/project/node_modules/.bin/agentgateway"

step 'pip, pipx and uvx, from these files alone'
python3 -m venv "${work}/venv"
"${work}/venv/bin/pip" install -q --no-index --find-links dist agentgateway-lock
prints "${work}/venv/bin/agentgateway-lock"
prints "${work}/venv/bin/agentgateway"
python3 -m venv "${work}/tools"
"${work}/tools/bin/pip" install -q 'uv==0.13.8' 'pipx==1.18.4' 'cyclonedx-python-lib[json-validation]==11.12.0'
prints "${work}/tools/bin/uvx" --no-index --find-links "${PWD}/dist" agentgateway-lock
PIPX_HOME="${work}/pipx" PIPX_BIN_DIR="${work}/pipx-bin" "${work}/tools/bin/pipx" install -q --pip-args="--no-index --find-links ${PWD}/dist" agentgateway-lock
prints "${work}/pipx-bin/agentgateway-lock"

step 'the bills of materials, by their schema'
"${work}/tools/bin/python" - dist/*.cdx.json <<'PY'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as f:
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(f.read())
    if error:
        sys.exit(f"{name}: {error}")
PY

step 'the image, by its parts'
RELEASE_IMAGE="${PWD}/dist/agentgateway-lock_${number}_image.tar" go test -count=1 -run '^TestImage$' ./release/pack

ls -l dist/checksums.txt
