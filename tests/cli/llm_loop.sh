# Runs a search with a language model, whose answers come from a script. Checks what is printed meanwhile,
# what llm show and stats print afterwards, what happens without a model, and a study on a recording.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cat >answers.jsonl <<'END'
{"text": {"proposals": [{"hypothesis": "longer turns", "expected_gain_pct": 10, "parent": null, "changes": {"UNROLL": 8}}, {"hypothesis": "between two values", "expected_gain_pct": 5, "parent": null, "changes": {"UNROLL": 3}}, {"hypothesis": "", "expected_gain_pct": 1, "parent": null, "changes": {"UNROLL": 100}}]}}
{"text": "I cannot say."}
END
autokernel new kernel mine >/dev/null
sed -i s/1048576/4096/ mine/problem.json # its default size
echo "- a run"
autokernel tune ./mine --strategy llm:fill=0 --generations 2 --batch 3 --evals 8 --llm replay:answers.jsonl 2>err >out
grep -oE "^replay, generation.*(taken|answer)" err
grep -o "^[0-9]* configurations in\|; all proposals.*\|^replay: .*" out
echo "- what was said"
autokernel llm show | grep "^generation\|^run\|^prompt\|^reply\|longer turns\|between two\|off_grid"
autokernel llm show --json | grep -o '"verdict":"[a-z_]*"'
echo "- what it was worth" # on a recording: whether a prediction can be judged depends on the times
cp "$TESTS"/../data/recordings/tiny.json .
cat >worth.jsonl <<'END'
{"text": {"proposals": [{"hypothesis": "wider", "expected_gain_pct": 20, "parent": null, "changes": {"x": 4, "y": 3}}, {"hypothesis": "z", "expected_gain_pct": 5, "parent": null, "changes": {"z": "b"}}]}}
{"text": {"proposals": [{"hypothesis": "more of it", "expected_gain_pct": 10, "parent": null, "changes": {"x": 8, "y": 3}}]}}
END
autokernel tune tiny.json --device sim --strategy llm:fill=0 --generations 2 --batch 2 --evals 8 --llm replay:worth.jsonl --quiet >/dev/null
autokernel stats tiny --device sim | sed -n '/language model/,$p'
echo "- a prompt counts what was resumed against the whole budget"
autokernel tune tiny.json --device sim --strategy random --evals 4 --archive again.db --quiet >/dev/null
autokernel tune tiny.json --device sim --strategy llm:fill=0 --generations 2 --batch 2 --evals 8 --resume --llm replay:worth.jsonl --archive again.db --quiet >/dev/null
autokernel llm show --archive again.db | grep -o '[0-9]* configurations tried of the [0-9]* '
echo "- the parent of a proposal may be a trial of the earlier run"
autokernel llm show --archive again.db | grep -o 'accepted.* %'
echo "- a limit refuses a question: it is not counted as asked, nor are its tokens"
autokernel tune ./mine --sizes '64;96' --strategy llm:fill=0 --llm replay:answers.jsonl --llm-calls 1 --generations 2 --batch 1 --evals 8 --libraries none --archive sizes.db --quiet 2>err >out
grep -o '1 call .*allows' err | sort -u
grep '^replay: ' out
autokernel llm show --archive sizes.db | grep '^run\|^not asked' | sort -u
autokernel llm show --archive sizes.db --json | grep -o '"asked":[a-z]*\|"input_tokens":[a-z0-9]*' | sort -u
autokernel report --archive sizes.db --json | tr -d ' \n' | grep -o '"calls":2,"failed":0,"input_tokens":null,"output_tokens":null' | head -n 1
echo "- a run of which a limit refused every question has a report"
echo '{}' >prices.json
autokernel tune tiny.json --device sim --strategy llm --evals 4 --llm replay:worth.jsonl --llm-tokens 1000 --llm-calls 3 --llm-timeout 1m --llm-url http://127.0.0.1:1 --llm-prices prices.json --archive none.db --quiet 2>/dev/null | grep '^replay: '
autokernel report --archive none.db | grep '^  questions'
echo "- the command that repeats a run asks the same server at the same prices and limits"
autokernel report --archive none.db | grep '^  command' | grep -o -E -- '--llm-(url|prices|timeout|calls|tokens) *[^ ]*'
echo "- a run over many sizes knows its strategy where none is named"
autokernel tune ./mine --sizes '64;96' --llm replay:answers.jsonl --batch 1 --evals 4 --libraries none --archive hybrid.db --quiet >/dev/null 2>&1
autokernel llm show --archive hybrid.db | grep '^run'
echo "- a limit of tokens is that of all sizes, also where none are reported" # a question could use 16,000
autokernel tune ./mine --sizes '64;96' --strategy llm:fill=0 --llm replay:answers.jsonl --llm-tokens 30000 --generations 2 --batch 1 --evals 8 --libraries none --archive tokens.db --quiet 2>/dev/null | grep '^replay: '
echo "- no model, and a model that is not there"
for strategy in llm llm-oneshot:fill=0 hybrid; do autokernel tune ./mine --strategy $strategy --evals 2; echo $?; done
autokernel tune ./mine --sizes '64;65' --strategy llm --evals 2; echo $?
autokernel tune ./mine --strategy random --llm replay:answers.jsonl --evals 2; echo $?
OPENAI_API_KEY= autokernel tune ./mine --strategy llm-oneshot --evals 2 --llm openai:gpt-5 --quiet 2>&1 >/dev/null
autokernel llm show nothing; echo $?
echo "- what is refused before anything is run"
refused() { autokernel "$@"; echo $?; }
refused tune ./mine --strategy llm-oneshot --llm replay:nowhere
mkdir questions && echo "a question" >questions/0001.prompt.md
refused tune ./mine --llm-replay questions
refused tune ./mine --llm compatible:qwen3 --llm-url http://127.0.0.1:1 --llm-budget 1
refused study ./mine --arms llm --llm compatible:qwen3 --llm-url http://127.0.0.1:1 --llm-budget 1
refused tune ./mine --llm-budget 1
refused tune ./mine --sizes '64;65' --generations 2
refused study ./mine --llm-effort low
refused llm check --llm-url http://127.0.0.1:1
AUTOKERNEL_LLM=replay:answers.jsonl AUTOKERNEL_LLM_BUDGET=1 autokernel tune ./mine --strategy random --evals 1 --quiet 2>&1 >/dev/null
echo "- a study"
autokernel study tiny.json --arms random,local --seeds 3 --evals 4
autokernel study tiny.json --arms random --seeds 3 --evals 4 --format csv | head -3
cat >tiny.jsonl <<'END'
{"text": {"proposals": [{"hypothesis": "more", "expected_gain_pct": 5, "parent": null, "changes": {"x": 2, "z": "a"}}]}}
END
autokernel study tiny.json --arms llm-oneshot --seeds 1 --evals 3 --llm-replay tiny.jsonl | head -3
autokernel study tiny.json --arms llm-oneshot --seeds 1 --evals 3 --llm-replay tiny.jsonl --json | grep -o '"model":[^,]*'
autokernel study tiny.json --arms random,llm; echo $?
autokernel study tiny.json --format xml; echo $?
autokernel study tiny.json --size 64; echo $?
