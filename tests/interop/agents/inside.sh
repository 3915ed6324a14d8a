# Part of run: agents that run commands in their own process, in a sandbox with the profile of their name, beside the
# same agents without corral-acp.

# What the fake model needs of the agents, without which some would ask it for more than one command.
prepare_home() {
  mkdir -p "$1/.claude"
  # Or else the model would judge each command.
  echo '{"permissions": {"defaultMode": "default"}}' >"$1/.claude/settings.json"
}

# Tells all agents of profiles where the model is: at this host.
point_to_model() {
  local url=http://$1:$port
  export ANTHROPIC_BASE_URL=$url KIMI_MODEL_BASE_URL=$url/v1 GOOGLE_GEMINI_BASE_URL=$url OPENAI_HOST=$url
  export CODEX_CONFIG='{"model_provider": "fake", "model_providers": {"fake": {"name": "fake", "base_url": "'$url'/v1", "wire_api": "responses"}}}'
}

# in_editor EDITOR FILE COMMAND: the transcript of one prompt. EDITOR: acpx, or sdk for editor.mjs.
in_editor() {
  if [[ $1 == acpx ]]; then
    converse "$2" "$3"
    return
  fi
  # shellcheck disable=SC2086 # The command's words.
  (cd "$scratch/workspace" && timeout 120 node "$AGENT_PEERS/editor.mjs" "run it" $3) >"$scratch/$2" 2>"$scratch/$2.err"
  node "$here/conversation.mjs" <"$scratch/$2" >"$scratch/$2.seen"
}

# try_profile NAME PACKAGE COMMAND: the same conversation in both editors, with and without a sandbox around the agent.
try_profile() {
  local name=$1 command=$3 editor home=$scratch/homes/$1 problem
  is_installed "$2" "profile $name" || return
  prepare_home "$home"
  for editor in acpx sdk; do
    point_to_model 127.0.0.1
    in_editor $editor "$name.$editor" "$command" &
    local direct=$!
    point_to_model model.test
    in_editor $editor "$name.$editor.inside" \
      "$bridge --agent-in-sandbox --home $home --allow-host model.test:$port -- $command"
    wait $direct
    grep -q 'two' "$scratch/$name.$editor.seen" || report "$name without corral-acp, in $editor" "$(tail -n 3 "$scratch/$name.$editor" "$scratch/$name.$editor.err")"
    report "profile $name, in $editor: the same conversation in a sandbox as without" \
      "$(diff "$scratch/$name.$editor.seen" "$scratch/$name.$editor.inside.seen" || tail -n 5 "$scratch/$name.$editor.inside.err")"
  done
  # Beside .claude, which prepare_home made.
  [[ $(ls -A "$home") != .claude ]] && problem= || problem="the home that it was given has only .claude"
  report "profile $name: the agent keeps its state in the home that it is given" "$problem"
  problem=$(cd "$scratch/workspace" && "$CORRAL_BIN/corral-acp" doctor --server "$server" --agent-in-sandbox --network none --home "$home" -- $command 2>&1) &&
    grep -q "^note  the profile $name" <<<"$problem" && grep -q '^ok    agent inside: ' <<<"$problem" && problem=
  report "profile $name: the doctor finds it and runs the agent" "$problem"
}

# The doctor finds out which host is not reached: nobody listens on port 9.
try_doctor() {
  local problem
  problem=$(cd "$scratch/workspace" && "$CORRAL_BIN/corral-acp" doctor --server "$server" --agent-in-sandbox \
    --allow-host "model.test:$port" --allow-host closed.test:9 -- sh 2>&1)
  if grep -q "^ok    host model.test: port $port is reached" <<<"$problem" && grep -q '^FAIL  host closed.test: port 9' <<<"$problem"; then
    problem=
  fi
  report "the doctor tries the hosts from inside" "$problem"
}

export GEMINI_API_KEY=none GEMINI_MODEL=gemini-2.5-flash OPENAI_API_KEY=none
export GOOSE_PROVIDER=openai GOOSE_MODEL=fake GOOSE_DISABLE_KEYRING=1
# Codex and Gemini CLI have sandboxes of their own, also without corral-acp.
export INITIAL_AGENT_MODE=agent-full-access SANDBOX=none
prepare_home "$HOME"
cp "$here/editor.mjs" "$AGENT_PEERS"
start_model "$report_command"
try_doctor
try_profile claude @agentclientprotocol/claude-agent-acp "$programs/claude-agent-acp"
try_profile codex @agentclientprotocol/codex-acp "$programs/codex-acp"
try_profile gemini @google/gemini-cli "$programs/gemini --acp"
try_profile goose @aaif/goose-binary-linux-x64 "$AGENT_PEERS/node_modules/@aaif/goose-binary-linux-x64/bin/goose acp"
try_profile kimi @moonshot-ai/kimi-code "$programs/kimi acp"
