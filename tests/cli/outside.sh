# What comes from outside: links of a project, settings that are no file, tokens, sources and rows of others.
mkdir -p elsewhere project/sub
cd project || exit 1
refused() { printf '%s' "$1" >autokernel.json; autokernel "${@:2}"; echo "exit $?"; rm -f autokernel.json; ls ../elsewhere; }
ln -s ../elsewhere/other.db link.db
ln -s ../../elsewhere sub/link
refused '{"archive": "link.db"}' history
refused '{"archive": "sub/link/a.db"}' history
refused '{"llm_record": "sub/./link"}' history
refused '{"archive": "sub/a.db"}' history

# Settings are a file.
mkdir autokernel.json
autokernel history; echo "exit $?"
rmdir autokernel.json
mkfifo autokernel.json
autokernel history; echo "exit $?"
rm autokernel.json

# A cookie could not hold it.
printf 'abc;defghijk\n' >token
chmod 600 token
autokernel serve --token-file token --port 0; echo "exit $?"

# A row whose configuration is none is not imported.
printf 'name,config,ms,status\nx,hello,1,ok\n' >rows.csv
autokernel import rows.csv --archive rows.db; echo "exit $?"

# A text of the archive hides nothing on the screen.
printf 'name,device,config,ms,status\na\033[8mb\033[31mc,host,A=1,1,ok\n' >names.csv
autokernel import names.csv --archive names.db
autokernel best --archive names.db | tail -n 1 | cat -v

# On a terminal the only escape sequences are the styles of headers and suggestions; in tables for programs
# there are none. JSON escapes them.
name=$(printf 'a\033[8mb\033[31mc')
autokernel export "$name" --archive names.db --format csv --output - | cut -d, -f2 | cat -v
NAME=$name PYTHONPATH=$TESTS python3 - <<'END'
import re
from pty_run import run
for command in ("best", "history", "report", "export $NAME --format csv --output -",
                "export $NAME --format kernel-tuner --output -", "stats", "list $NAME"):
    _, text = run("autokernel " + command + " --archive names.db", 100)
    styled = re.findall("\x1b\\[[0-9;]*m([^\x1b]*)\x1b\\[0m", text)
    print(command[:6], len(text) > 20, sorted({s.strip()[:4] for s in styled}),
          "\x1b" in re.sub("\x1b\\[[012]m", "", text))
END

# A trial that failed has its configuration beside the reason.
printf 'name,config,ms,status,reason\nx,A=7,,compile_error,no such type\n' >failed.csv
autokernel import failed.csv --archive failed.db >/dev/null
autokernel history --archive failed.db | grep -o 'A=7.*'

# A source that is not UTF-8 is shown, and is JSON.
autokernel new kernel latin >/dev/null
printf '/* caf\351 */\n' >>latin/host.c
autokernel tune latin --evals 1 --finish-time 0.1 --archive latin.db --quiet >/dev/null
autokernel history --source '#1' --archive latin.db --json | python3 -c '
import json, sys
files = json.load(sys.stdin)
print([f["text"].splitlines()[-1] for f in files if f["name"].endswith("host.c")])'
