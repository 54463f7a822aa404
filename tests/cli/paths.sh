# Tests paths that do not exist, or are folders where a file is needed: every command and option refuses them
# in one line that names the path and says what to give.
try() { autokernel "$@" </dev/null; echo "exit $?"; }
mkdir folder
echo '{}' >some.json
for path in missing folder some.json/below; do
    echo "--- $path"
    try bundle show $path
    try bundle verify $path
    try import $path
    try simulate $path
    try simulate some.json --space $path
    try tune reduce --size 64 --like $path
    try tune reduce --sizes @$path
    try bench reduce --config @$path
    try serve --token-file $path
    try llm check --llm openai:gpt-5 --llm-key-file $path
    try llm check --llm openai:gpt-5 --llm-prices $path
done
echo "--- what is written"
try tune reduce --size 64 --events missing/events
echo "--- a file that only others may read"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    touch closed.json
    chmod 600 closed.json
    chmod 755 "$PWD" "$HOME"/.. # the executable and the folder must be in reach
    setpriv --reuid 65534 --clear-groups autokernel simulate closed.json 2>&1 | sed 's/.*closed.json/closed.json/'
else
    touch closed.json
    chmod 000 closed.json
    autokernel simulate closed.json 2>&1 | sed 's/.*closed.json/closed.json/'
fi
echo "--- paths that are not UTF-8"
other=$(printf 'caf\351')
autokernel new kernel k >/dev/null
mkdir "$other"
cp -r k "$other/k"
{ try check "$other/k"; TMPDIR=$PWD/$other try check k; } 2>&1 | LC_ALL=C tr '\351' '?' | sed "s|$PWD|HERE|"
