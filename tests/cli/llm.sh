# The language-model command without a network: answers from scripts, and every line of refusal.
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
echo '{"openai:gpt-5": {"input": 1}}' >prices.json
try check --llm openai:gpt-5 --llm-key-file key --llm-prices prices.json
ls

# The doctor says which keys are set, not what they are.
OPENAI_API_KEY=sk-secret-0123456789abcdefghij autokernel doctor --json >doctor.json
grep -c sk-secret doctor.json
grep -o '"provider":"[a-z-]*","address":"[^"]*","key":"[a-z ]*"' doctor.json
