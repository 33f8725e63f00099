#!/usr/bin/env bash
# Scans the paths of the action, or the usual places, and writes SARIF. Exits as `sluice scan` does.
set -euo pipefail

sluice="$GITHUB_ACTION_PATH/../../bin/sluice.js"
# Where prompts, skills, instructions, MCP configurations and traces usually are.
usual=(
  .mcp.json mcp.json .vscode/mcp.json .cursor/mcp.json .gemini/settings.json .codex/config.toml
  CLAUDE.md AGENTS.md GEMINI.md .github/copilot-instructions.md .cursorrules
  .claude .cursor/rules .github/prompts .github/instructions
  prompts skills agents traces
)

paths=()
while IFS= read -r path; do
  if [ -n "$path" ]; then paths+=("$path"); fi
done <<< "${SCAN_PATHS:-}"

if [ "${#paths[@]}" -eq 0 ]; then
  for path in "${usual[@]}"; do
    if [ -f "$path" ]; then paths+=("$path"); fi
    # A folder with nothing to scan would end the scan.
    if [ -d "$path" ] && [ -n "$(find "$path" -mindepth 1 -type f -not -name '.*' -print -quit)" ]; then
      paths+=("$path")
    fi
  done
fi

code=0
if [ "${#paths[@]}" -eq 0 ]; then
  echo "::error::Nothing to scan: none of the usual places exists. Name files or folders in 'paths'."
  code=2
else
  options=(--sarif)
  if [ "${SCAN_EXPERIMENTAL:-false}" = true ]; then options+=(--experimental); fi
  node "$sluice" scan "${options[@]}" -- "${paths[@]}" > "$SCAN_SARIF_FILE" || code=$?
  echo "sarif-file=$SCAN_SARIF_FILE" >> "$GITHUB_OUTPUT"
fi
echo "exit-code=$code" >> "$GITHUB_OUTPUT"

case "$code" in
  0) echo 'No rule matches.' ;;
  1) echo "::warning::Rules match: see $SCAN_SARIF_FILE." ;;
  *) echo '::error::Not everything could be checked.' ;;
esac
if [ "$code" -eq 1 ] && [ "${SCAN_FAIL_ON_MATCH:-true}" != true ]; then exit 0; fi
exit "$code"
