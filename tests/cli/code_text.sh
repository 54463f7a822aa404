# Texts of kernels and archives stay texts in the code that exports write: they end no comment and no string.
autokernel new kernel two >/dev/null
python3 - <<'END'
import json
problem = json.load(open("two/problem.json"))
problem["description"] = "ends */ EVIL /* and *\\\n/ EVIL\n#error EVIL\n\u202eLIVE\x1b[2J"
problem["arguments"].append({"name": "W", "dtype": "dtype", "access": "out",
                             "shape": ["1 if n >= 0 or '*/ EVIL /*\n#error EVIL\n' == 'b' else 2"]})
json.dump(problem, open("two/problem.json", "w"))
for name, line in ("host.c", "    call->parallel(call->pool, n, task, &w);"), ("reference.c", "    for (int64_t i = 0"):
    text = open("two/" + name).read()
    kind = "float" if name == "host.c" else "double"
    open("two/" + name, "w").write(text.replace(line, f"    (({kind} *)call->arg[3])[0] = 1;\n" + line))
END
autokernel tune ./two --size n=100 --device host --evals 1 --quiet >/dev/null 2>&1
autokernel export ./two --device host --format c >/dev/null
cd two_f32 && sed -n '1,/aligned to/p' two_f32.h
for compiler in gcc clang; do
    command -v $compiler >/dev/null && { $compiler -Wall -Wextra -Werror -c two_f32.c -o two.o || echo "$compiler fails"; }
done
gcc -O1 -Wall -Wextra -Werror test_two_f32.c two_f32.c -ldl -lm -pthread -o test && env -i ./test
cd ..
# The same in Python, where the texts come from a file of trials that somebody sent.
python3 - <<'END'
import json
evil = "\nopen('EVIL', 'w')\n#"
json.dump([{"kernel": "softmax", "implementation": "triton", "device": "cuda:0" + evil, "size": "rows=1,cols=2",
            "dtype": "bf16\": open('EVIL', 'w'), (1, \"", "choices": "a=\": open('EVIL', 'w'), \"" + evil,
            "config": "a\u202eb=1,TEXT=\"" + evil + ",num_warps=4", "environment": "e", "status": "ok", "ms": 0.01}],
          open("trials.json", "w"))
END
autokernel import trials.json
autokernel export softmax --format triton --output configs.py | sed -n 1p
cat >triton.py <<'END'
class Config:
    def __init__(self, kwargs, **options):
        self.all = {**kwargs, **options}
END
python3 -c 'import configs; print([ascii(c.all) for c in configs.CONFIGS], *map(ascii, configs.BY_SIZE))'
ls EVIL 2>/dev/null
LC_ALL=C.UTF-8 grep -nP "\x{202e}|\x1b" configs.py two_f32/*.h || echo "nothing steers a terminal"
