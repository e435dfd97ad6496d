package project

// WorkflowPath is where init writes the gate's workflow.
const WorkflowPath = ".github/workflows/agentgateway.yml"

// workflow is the gate as a GitHub workflow. It runs for pull requests of forks
// too, with no secret and without starting what they bring. actionRef is the
// released action; while there is none, two variables of the repository name what
// is checked out and used in its place.
func workflow(actionRef string) string {
	if actionRef != "" {
		return workflowHead + "      - uses: " + actionRef + "\n"
	}
	return workflowHead + workflowFromVariables
}

const workflowHead = `# Fails a pull request when an MCP server tells agents something else than
# agentgateway.lock pins.
name: agentgateway
on:
  pull_request:
  push:
    branches: [main]
  merge_group:
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          fetch-depth: 0
          persist-credentials: false
`

const workflowFromVariables = `      # Two variables of the repository say where agentgateway-lock comes from.
      - name: Find agentgateway-lock
        shell: bash
        env:
          REPOSITORY: ${{ vars.AGENTGATEWAY_LOCK_REPOSITORY }}
          COMMIT: ${{ vars.AGENTGATEWAY_LOCK_COMMIT }}
        run: |
          if [[ -z "${REPOSITORY}" || ! "${COMMIT}" =~ ^[0-9a-f]{40}$ ]]; then
            echo '::error title=agentgateway::set the variables AGENTGATEWAY_LOCK_REPOSITORY (OWNER/NAME) and AGENTGATEWAY_LOCK_COMMIT (40 digits) of this repository'
            exit 1
          fi
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          repository: ${{ vars.AGENTGATEWAY_LOCK_REPOSITORY }}
          ref: ${{ vars.AGENTGATEWAY_LOCK_COMMIT }}
          path: .agentgateway-lock
          persist-credentials: false
      - uses: ./.agentgateway-lock
`
