# best says in the words of the report, and best_config.json in those of its JSON, that a finish without a library decided
# nothing. The finish comes from a file, because times that vary so much cannot be had at will.
cat >trials.json <<'END'
[{"kernel": "matmul", "implementation": "host", "device": "host", "size": "M=64,N=64,K=64", "dtype": "f32", "choices": "",
  "config": "MR=6", "status": "ok", "ms": 2, "ci_ms": [1.9, 2.1], "run": "0123456789abcdef",
  "timestamp": "2026-11-21T10:54:22.123Z",
  "finish": {"ms": 1.5, "ci_ms": [1.1, 2.2], "candidates": 3, "seconds": 2, "over_default": {"ratio": 1.4,
             "ratio_ci": [0.8, 2.3], "verdict": "undecided", "undecided_because": "same code differs"}}}]
END
autokernel import trials.json --archive new.db >/dev/null
echo "-- best"
autokernel best matmul --archive new.db | grep -v '^next'
autokernel best matmul --archive new.db --json | grep -o '"undecided":"[^"]*"'
echo "-- what --json prints can be imported"
autokernel best matmul --archive new.db --json >best.json
autokernel import best.json --archive other.db >/dev/null && echo imported
echo "-- export"
autokernel export matmul --archive new.db >/dev/null
grep -A 7 over_default best_config.json | tr -d ' \n'
echo
