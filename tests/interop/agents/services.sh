# Part of run: agents in a sandbox whose model is a service of the server, which adds the credential.

# try_service NAME PACKAGE SERVICE COMMAND: the same conversation as without corral-acp, and the model gets the server's credential.
try_service() {
  local name=$1 service=$3 command=$4 home=$scratch/homes/$1 problem
  is_installed "$2" "profile $name with the service $service" || return
  : >"$scratch/tls.log"
  point_to_model nowhere.test
  in_editor acpx "$name.service" "$bridge --agent-in-sandbox --home $home --service $service -- $command"
  report "profile $name: the same conversation through the service $service" \
    "$(diff "$scratch/$name.acpx.seen" "$scratch/$name.service.seen" || tail -n 5 "$scratch/$name.service.err")"
  problem=$(grep -v ' \(Bearer \)\?kept-by-the-server$' "$scratch/tls.log")
  [[ -s $scratch/tls.log ]] || problem="the model was not asked"
  report "profile $name: the service $service sends the server's credential, and nothing else" "$problem"
}

try_service claude @agentclientprotocol/claude-agent-acp anthropic "$programs/claude-agent-acp"
try_service codex @agentclientprotocol/codex-acp openai "$programs/codex-acp"
try_service gemini @google/gemini-cli gemini "$programs/gemini --acp"
try_service goose @aaif/goose-binary-linux-x64 openai "$AGENT_PEERS/node_modules/@aaif/goose-binary-linux-x64/bin/goose acp"
try_service kimi @moonshot-ai/kimi-code moonshot "$programs/kimi acp"
