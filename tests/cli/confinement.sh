# Keys never leave the process that speaks to the provider: no candidate, compiler or reference sees
# one, and no file that a run writes holds one. References are compiled as confined as candidates;
# compilers are told nothing that could run, read or reach something; links out of a kernel's folder
# are refused; archives are the user's alone.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel doctor --json >doctor.json
grep -q '"landlock": *0' doctor.json && { echo "this kernel has no Landlock"; exit 77; }
grep -q '"seccomp": *true' doctor.json || { echo "this kernel has no seccomp"; exit 77; }
grep -o '"layer"' doctor.json | wc -l
for name in OPENAI_API_KEY ANTHROPIC_API_KEY MY_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_PROFILE \
    HF_TOKEN AUTOKERNEL_KEY ODD_NAME; do
    export $name=canary-bird
done
umask 000
autokernel new kernel bird >/dev/null
sed -i s/1048576/4096/ bird/problem.json # its default size
first() { head -n 1 | sed 's/; .*//'; }

echo "-- a candidate"
cp bird/host.c host.c
cat >sees.c <<'END'
#include <unistd.h>
extern char **environ;
static int sees(void)
{
    for (char **v = environ; v != 0 && *v != 0; v++) {
        for (const char *p = *v; *p != 0; p++) {
            if (p[0] == 'c' && p[1] == 'a' && p[2] == 'n' && p[3] == 'a' && p[4] == 'r') {
                return 1;
            }
        }
    }
    return 0;
}
END
cat sees.c host.c >bird/host.c
sed 's/int n = THREADS/if (sees()) { __builtin_trap(); }\n    int n = THREADS/' -i bird/host.c
autokernel check ./bird --quiet 2>&1 | sed -n '3s/ .*//p'
cp host.c bird/host.c

echo "-- a reference, which may name what a candidate may not"
cp bird/reference.c reference.c
{ cat sees.c; sed '/^void ak_reference/,/^{/s/^{/{ if (sees()) { __builtin_trap(); }/' reference.c; } >bird/reference.c
grep -c 'if (sees())' bird/reference.c
autokernel check ./bird --quiet 2>&1 | sed -n '3s/ .*//p'
cp reference.c bird/reference.c

echo "-- a compiler, its processes and its network"
cat >mycc <<'END'
#!/bin/sh
env | grep canary && { echo "error: $OPENAI_API_KEY"; exit 1; }
tr '\0' '\n' </proc/$PPID/environ 2>/dev/null | grep canary && { echo "error: it sees $PPID"; exit 1; }
cat "$HOME/secret" 2>/dev/null && { echo "error: it reads the home"; exit 1; }
setsid sleep 4321 >/dev/null 2>&1 &
(sleep 4321 >/dev/null 2>&1 &)
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print("error: UDP is open")' 2>/dev/null && exit 1
for file in "${TMPDIR%/*}" "${TMPDIR%/*}"/*; do
    [ -f "$file" ] && { echo x >>"$file"; } 2>/dev/null && { echo "error: it changes files of others"; exit 1; }
done
{ echo >"${TMPDIR%/*}/of-a-rival.so"; } 2>/dev/null && { echo "error: it makes files of others"; exit 1; }
exec gcc "$@"
END
chmod +x mycc
echo canary-bird >"$HOME/secret"
sed "s#\"COMPILER\"#\"COMPILER\"#; s#\"gcc\", \"clang\"#\"$PWD/mycc\"#; s#\"Default\": \"gcc\"#\"Default\": \"$PWD/mycc\"#" \
    -i bird/host.json
grep -c mycc bird/host.json
autokernel list ./bird 2>&1 | grep -c 'must not have ".*mycc" run: name a compiler as PATH has it'
export AUTOKERNEL_COMPILERS=icx:$PWD/mycc # the user may allow it
autokernel tune ./bird --evals 4 --strategy random --quiet >tune.txt 2>&1
echo "exit code $?"
autokernel history bird --json 2>/dev/null | grep -o '"status": *"[a-z_]*"' | sort -u
sleep 0.3
ps -eo args | grep -c "^sleep 4321"
autokernel export bird --format json --out best.json >/dev/null 2>&1
autokernel report --out report.md >/dev/null 2>&1

echo "-- files that hold a key, and those that others may read"
env -i "$(command -v grep)" -rl canary-bird .. 2>/dev/null | sed 's#.*/##' | sort
find .. -name '*.db*' -perm /077 | sed 's#.*/##'

echo "-- references"
cp -r bird other
{ echo "#include \"$HOME/secret\""; cat bird/reference.c; } >other/reference.c
autokernel check ./other --quiet 2>&1 | grep -o "fatal error: .*" | sed "s#$HOME#HOME#"
rm -r other

echo "-- options"
for option in -wrapper -B/tmp -specs=x @file -fplugin=x.so -Wl,-rpath,x -Xlinker -include/etc/passwd \
    -fprofile-use=x -fuse-ld=x -lssl -L/tmp -D -I../x x.o -save-temps -fdump-tree-all -mllvm -ftime-trace=x; do
    sed "s#\"-march=native\"#\"-march=native\", \"$option\"#" <bird/host.json >changed.json
    cp -r bird other && cp changed.json other/host.json
    printf '%s: ' "$option"
    autokernel list ./other 2>&1 | grep -c "the compiler option \"$option\" is refused"
    rm -r other
done
echo "-- links"
mkdir -p elsewhere && cp bird/host.c elsewhere/host.c
rm bird/host.c && ln -s ../elsewhere/host.c bird/host.c
autokernel check ./bird --quiet 2>&1 | first

echo "-- a compiler that lies in the home opens no more than itself"
for place in bin .local/bin; do
    mkdir -p "$HOME/$place"
    printf '#!/bin/sh\nexec %s "$@"\n' "$(command -v gcc)" >"$HOME/$place/gcc"
    chmod +x "$HOME/$place/gcc"
    { echo "#include \"$HOME/secret\""; cat host.c; } >other.c
    { echo "__asm__(\".section .rodata\\n.incbin \\\"$HOME/secret\\\"\\n.text\");"; cat host.c; } >more.c
    for source in host.c other.c more.c; do
        rm -rf home && autokernel new kernel home >/dev/null && sed -i s/1048576/4096/ home/problem.json
        cp $source home/host.c
        PATH=$HOME/$place:$PATH autokernel check ./home --config COMPILER=gcc --quiet 2>&1 | sed -n '3s/ .*//p'
    done
    rm "$HOME/$place/gcc"
done
