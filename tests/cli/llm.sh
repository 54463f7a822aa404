# Tests the command llm without a network: answers come from scripts, and every refusal is one line.
unset OPENAI_API_KEY ANTHROPIC_API_KEY
try() { autokernel llm "$@"; echo "exit $?"; }
cat >answers.jsonl <<'END'
{"text": {"word": "ready"}, "usage": {"input": 40, "output": 6}}
END
cat >words.jsonl <<'END'
{"text": "Sure! I am ready.", "finish": "stop", "model": "talker"}
END
try check --llm replay:answers.jsonl
try check --llm replay:words.jsonl --json
echo '{"text": "{\"word\": \"rea", "finish": "length", "usage": {"input": 40, "output": 2048}}' >cut.jsonl
try check --llm replay:cut.jsonl
rm cut.jsonl
# An empty answer is a failure of the model, and a long one is not shown whole.
echo '{"text": "", "finish": "stop"}' >none.jsonl
try check --llm replay:none.jsonl
echo "{\"text\": \"$(printf 'x%.0s' $(seq 5000))\", \"finish\": \"stop\"}" >long.jsonl
try check --llm replay:long.jsonl | grep '^reply' | wc -c
rm none.jsonl long.jsonl
AUTOKERNEL_LLM=replay:answers.jsonl try check --json
try check --llm-replay answers.jsonl --json
try check --llm replay:nowhere
echo '{"text": 1' >broken.jsonl
try check --llm replay:broken.jsonl
: >empty.jsonl
try check --llm replay:empty.jsonl

try
try chek
try check
try check --llm gpt-5
try check --llm opnai:gpt-5
try check --llm openai:gpt-5
try check --llm openai:gpt-5 --llm-effort heroic
try check --llm openai:gpt-5 --llm-budget 0
try check --llm compatible:qwen3
try check --llm compatible:qwen3 --llm-url http://127.0.0.1:1 --llm-budget 1
try check --llm compatible:qwen3 --llm-url 127.0.0.1
try check --llm openai:gpt-5 --llm-record a --llm-replay b

# Keys: only from private files, never over the network in clear, and never shown.
echo sk-secret-0123456789abcdefghij >key
chmod 644 key
try check --llm openai:gpt-5 --llm-key-file key
chmod 600 key
try check --llm openai:gpt-5 --llm-key-file key --llm-url http://192.0.2.1
# The budget is kept before anything is sent.
try check --llm openai:gpt-5 --llm-key-file key --llm-budget 0.001
try check --llm openai:gpt-5 --llm-key-file key --llm-tokens 100
try check --llm openai:gpt-5 --llm-key-file key --llm-output 1
echo '{"openai:gpt-5": {"input": 1}}' >prices.json
try check --llm openai:gpt-5 --llm-key-file key --llm-prices prices.json
ls

# The doctor says which keys are set, not what they are.
OPENAI_API_KEY=sk-secret-0123456789abcdefghij autokernel doctor --json >doctor.json
grep -c sk-secret doctor.json
grep -o '"provider":"[a-z-]*","address":"[^"]*","key":"[a-z ]*"' doctor.json

# A model that is reached by hand: a prompt becomes a file, and the answer is read from one.
( until [ -e box/0001.prompt.md ]; do sleep 0.05; done
  echo '{"model": "a colleague", "word": "ready"}' >box/0001.reply.json ) &
try check --llm file:box --llm-record said
wait
head -1 box/0001.prompt.md
stat -c %a box/0001.prompt.md
try check --llm replay:said
try check --llm file:box --llm-timeout 0.2
ls box
try check --llm file:box --llm-budget 1
try check --llm file:nowhere/box
try check --llm ollama:any --llm-record nowhere/tape
[ -e nowhere ] || echo "no folder was made"
# In a run, with the strategy that would not wait for a model that answers at once.
mkdir hand
( for n in 0001 0002; do
      until [ -e hand/$n.prompt.md ]; do sleep 0.05; done
      echo '{"proposals": [{"hypothesis": "", "expected_gain_pct": 5, "parent": null, "changes": {"x": '${n#000}', "y": 3, "z": "a"}}]}' >hand/$n.reply.json
  done ) &
cp "$TESTS"/../data/recordings/tiny.json .
autokernel tune tiny.json --device sim --strategy hybrid --generations 2 --batch 1 --evals 8 --llm file:hand --archive hand.db 2>&1 >/dev/null | grep 'question'
wait
autokernel llm show --archive hand.db | grep '^generation\|accepted'
# The brief of a recording names the device and the size that it states.
autokernel study tiny.json --arms llm --seeds 1 --evals 4 --llm file:study --llm-timeout 0.2 2>&1 >/dev/null | grep 'question'
grep -A2 '^Kernel' study/0001.expired.md
# Nobody knows what a question took that got no reply: it is not shown as 0 tokens.
autokernel tune tiny.json --device sim --strategy llm:fill=0 --generations 2 --batch 1 --evals 4 --llm file:late --llm-timeout 0.2 --archive late.db --quiet 2>/dev/null | grep '^file:late'
autokernel llm show --archive late.db | grep '^generation'
autokernel llm show --archive late.db --json | grep -o '"input_tokens":[a-z0-9]*'
autokernel stats tiny --device sim --archive late.db | grep 'question'
# The price of such a question is the most that it can have cost; that of one that the server refused is none.
price() {
    python3 - "$1" "$2" <<'P'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE calls SET cost_usd = ?", sys.argv[2:])
P
}
cp late.db refused.db
price late.db 0.02
price refused.db 0
price hand.db 0.02
for archive in late.db refused.db; do
    autokernel llm show --archive $archive | grep '^generation'
    autokernel stats tiny --device sim --archive $archive | grep 'question'
done
autokernel stats tiny --device sim --archive hand.db | grep 'question'
