#!/usr/bin/env bash
# Builds the files of a release of HEAD into dist/. Run it by `make release`, which
# has the tools.
set -euo pipefail
version=${1:-}
if [[ ! ${version} =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?$ ]]; then
	echo "VERSION is '${version}'; it has to be as v1.2.3 or v1.2.3-rc.1" >&2
	exit 2
fi
if [[ -n $(git status --porcelain) ]]; then
	echo 'a release is built of a commit; commit or remove these first:' >&2
	git status --short >&2
	exit 2
fi
: "${GORELEASER:?}" "${CYCLONEDX:?}"

# Nothing of this machine gets into what is built.
export CGO_ENABLED=0 GOFLAGS= GORELEASER_CURRENT_TAG="${version}"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
HOMEPAGE=$(sed -n 's/^\tRepository = "\(.*\)"$/\1/p' internal/published/published.go)
export SOURCE_DATE_EPOCH HOMEPAGE
umask 022
own=$(mktemp -d)
trap 'rm -rf "${own}"' EXIT
ln -s "${CYCLONEDX}" "${own}/cyclonedx-gomod"
export PATH="${own}:${PATH}"

# An apk takes the time and the mode of its script from the file.
chmod 755 release/files/postinstall.sh
touch -d "@${SOURCE_DATE_EPOCH}" release/files/postinstall.sh

# The manual and the completion scripts, by the program itself.
made=.cache/release
rm -rf "${made}"
mkdir -p "${made}"
program=${own}/agentgateway-lock
go build -trimpath -buildvcs=false -ldflags "-X main.version=${version#v}" -o "${program}" ./cmd/agentgateway
"${program}" man >"${made}/agentgateway-lock.1"
"${program}" completion bash >"${made}/agentgateway-lock.bash"
"${program}" completion zsh >"${made}/_agentgateway-lock"
"${program}" completion fish >"${made}/agentgateway-lock.fish"

"${GORELEASER}" release --clean --skip=publish,announce,validate
go run ./release/pack dist "${version#v}"
# What is left is what is released.
find dist -mindepth 1 -maxdepth 1 \( -type d -o -name artifacts.json -o -name config.yaml -o -name metadata.json \) -exec rm -rf {} +
