#!/bin/sh
# An agent that needs no network: what `codex exec --json` prints. With `stay` it does not leave afterwards.
cat <<'END'
{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Fixed. <json>{\"issues\": [{\"file\": \"cart.ts\", \"line\": 3}]}</json>"}}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":2}}
END
if [ "$1" = stay ]; then
  sleep 60
fi
