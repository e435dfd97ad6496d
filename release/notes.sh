#!/usr/bin/env bash
# Prints what CHANGELOG.md says of a version.
set -euo pipefail
notes=$(awk -v heading="## [${1#v}]" '
	index($0, heading) == 1 { found = 1; next }
	found && /^## / { exit }
	found { print }' CHANGELOG.md)
[[ -n ${notes//[$'\n ']/} ]] || { echo "CHANGELOG.md says nothing of ${1#v}" >&2; exit 1; }
printf '%s\n' "${notes}"
