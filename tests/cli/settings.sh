# Where a setting comes from: command line, environment, project, user, in this order.
where() { autokernel stats "$@" | sed -n 's/: .*//p' | head -n 1; }
unset AUTOKERNEL_ARCHIVE
mkdir -p "$XDG_CONFIG_HOME/autokernel"
user=$XDG_CONFIG_HOME/autokernel/config.json
where
echo '{"archive": "user.db"}' >"$user"
where
echo '{"archive": "project.db"}' >autokernel.json
where
AUTOKERNEL_ARCHIVE=environment.db where
# Reading creates no archive.
printf 'name,config,ms,status\nx,A=1,1,ok\n' >one.csv
AUTOKERNEL_ARCHIVE=line.db autokernel import one.csv >/dev/null 2>&1
AUTOKERNEL_ARCHIVE=environment.db where --archive line.db
rm autokernel.json
where
# Without XDG_CONFIG_HOME it is ~/.config.
mkdir -p "$HOME/.config/autokernel"
echo '{"archive": "home.db"}' >"$HOME/.config/autokernel/config.json"
(unset XDG_CONFIG_HOME; where)
rm "$user"

# What is wrong is refused, in a line that says where.
try() { printf '%s' "$1" >autokernel.json; autokernel history; echo "exit $?"; }
try '{"evals": 100, "seed": 3, "time": "10m", "allow_numerics": true, "device": "host"}'
try '{"evls": 100}'
try '{"json": true}'
try '{"evals": "many"}'
try '{"evals": 1.5}'
try '{"evals": [1]}'
try '{"evals": 1, "evals": 2}'
try '{"threads": 1e999}'
try '{"device": ""}'
try '{"time": "soon"}'
try '{"allow_numerics": "yes"}'
try '{"llm_url": "http://localhost:9"}'
try '{"llm": "openai:gpt-5"}'
try '{"llm_budget": 100000}'
try '{"archive": "/other/x.db"}'
try '{"archive": "a/../../x.db"}'
try '{"llm_record": ".."}'
try '{"archive": "a..b/..c.db"}'
try '["evals"]'
try '{"evals": '
try ''
try "$(printf '[%.0s' $(seq 100))"
rm autokernel.json
AUTOKERNEL_SEED=-1 autokernel history
echo "exit $?"
# An empty variable is no setting; a folder of that name is refused, since it cannot be read.
AUTOKERNEL_SEED= autokernel history
mkdir autokernel.json
autokernel history
echo "exit $?"
rm -r autokernel.json
# Unknown variables are listed, also beside one whose name is not UTF-8.
env AUTOKERNEL_NOSUCH=1 $'AUTOKERNEL_\xff=1' autokernel doctor --json | grep -o AUTOKERNEL_NOSUCH
