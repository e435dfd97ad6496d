#!/usr/bin/env bash
# Runs the gate for the GitHub Action. The one argument is the command's path;
# everything else comes in as INPUT_… variables, never as text of this script.
set -euo pipefail

agentgateway=$1

one_of() { # NAME VALUE WORD...
  local name=$1 value=$2
  shift 2
  for word in "$@"; do
    [[ "${value}" == "${word}" ]] && return
  done
  printf '::error title=agentgateway::the input %s must be one of: %s\n' "${name}" "$*"
  exit 2
}

one_of command "${INPUT_COMMAND:-}" ci offline
one_of fail-on "${INPUT_FAIL_ON:-}" critical warning info
one_of no-exec "${INPUT_NO_EXEC:-}" true false

arguments=(ci "--fail-on=${INPUT_FAIL_ON}")
[[ "${INPUT_COMMAND}" == offline ]] && arguments+=(--offline)
[[ "${INPUT_NO_EXEC}" == true ]] && arguments+=(--no-exec)
[[ -n "${INPUT_BASE_REF:-}" ]] && arguments+=("--base=${INPUT_BASE_REF}")
[[ -n "${INPUT_SARIF_FILE:-}" ]] && arguments+=("--report=sarif=${INPUT_SARIF_FILE}")
[[ -n "${INPUT_JSON_FILE:-}" ]] && arguments+=("--report=json=${INPUT_JSON_FILE}")

code=0
"${agentgateway}" "${arguments[@]}" || code=$?

case ${code} in
  0) verdict=pass ;;
  3) verdict=undecided ;;
  *) verdict=fail ;;
esac
{
  echo "verdict=${verdict}"
  echo "exit-code=${code}"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "${code}"
