#!/usr/bin/env bash
# Tunes over workers that ssh starts, with an sshd of our own on loopback. Usage: ssh.sh EXECUTABLE
# Skipped (77) without sshd (Debian: openssh-server).
set -u
executable=$(realpath "$1")
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; tail -n 20 "$folder"/*.log 2>/dev/null; exit 1; }
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip "no sshd (Debian: openssh-server)"
command -v ssh-keygen >/dev/null || skip "no ssh-keygen (Debian: openssh-client)"
[ "$(id -u)" = 0 ] && mkdir -p /run/sshd
folder=$(mktemp -d) || exit 1
folder=$(realpath "$folder")
pid=
finish() {
    if [ -n "$pid" ]; then kill "$pid"; fi
    rm -rf "$folder"
}
trap finish EXIT
port=$((20000 + $$ % 5000))
ssh-keygen -q -t ed25519 -N '' -f "$folder/host" && ssh-keygen -q -t ed25519 -N '' -f "$folder/id" || skip "ssh-keygen failed"
cp "$folder/id.pub" "$folder/authorized"
cat >"$folder/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $folder/host
AuthorizedKeysFile $folder/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile none
StrictModes no
END
cat >"$folder/ssh_config" <<END
Host node1 node2
  HostName 127.0.0.1
  Port $port
  User $(id -un)
  IdentityFile $folder/id
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known
  StrictHostKeyChecking accept-new
  LogLevel ERROR
Host locked
  HostName 127.0.0.1
  Port $port
  IdentityFile $folder/host
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known
  StrictHostKeyChecking accept-new
END
"$sshd" -D -e -f "$folder/sshd_config" 2>"$folder/sshd.log" &
pid=$!
for _ in $(seq 100); do
    ssh -F "$folder/ssh_config" -o BatchMode=yes node1 true 2>"$folder/ssh.log" && break
    kill -0 "$pid" 2>/dev/null || { pid=; skip "sshd does not start: $(tail -n 1 "$folder/sshd.log")"; }
    sleep 0.1
done
ssh -F "$folder/ssh_config" -o BatchMode=yes node1 true 2>/dev/null || skip "this sshd lets nobody in: $(tail -n 1 "$folder/sshd.log")"

export XDG_DATA_HOME=$folder/data TMPDIR=$folder
cd "$folder" || exit 1
ours() { pgrep -f -- "--stdio [0-9]+ $folder" | wc -l; }

# The key that is not let in costs one worker and one line; the run goes on with the others.
"$executable" tune softmax --size 64 --device host --evals 6 --finish-time 0.02 \
    --launcher "ssh:-F $folder/ssh_config node1,node2,locked" --workers 1-3 >out.log 2>&1 || fail "tune: $(cat out.log)"
grep -q '^6 configurations\|6 configurations in' out.log || fail "not all configurations were tried: $(cat out.log)"
"$executable" history softmax --json | grep -q '"measured_on":"host@' || fail "nobody knows where it was measured"

# Who comes, and why the other does not.
"$executable" fleet status --device host --launcher "ssh:-F $folder/ssh_config node1,node2*2,locked" >out.log 2>&1 &&
    fail "an account that is locked is ready"
grep -q '^3 of 4 workers are ready' out.log && grep -q 'failed .*Permission denied' out.log || fail "fleet status: $(cat out.log)"

# Nobody is let in: one line.
"$executable" check softmax --size 64 --device host --configs 0 \
    --launcher "ssh:-F $folder/ssh_config locked" >out.log 2>&1 && fail "an account that is locked measured something"
grep -q 'Permission denied' out.log || fail "no reason: $(cat out.log)"
[ "$(grep -c '^autokernel:' out.log)" = 1 ] || fail "not one line: $(cat out.log)"

# After kill -9 of the tuner nothing of it stays.
"$executable" tune softmax --size 64 --device host --time 60 \
    --launcher "ssh:-F $folder/ssh_config node1,node2" >out.log 2>&1 &
tuner=$!
disown
for _ in $(seq 600); do [ "$(ours)" -ge 2 ] && break; sleep 0.05; done
[ "$(ours)" -ge 2 ] || fail "no workers: $(cat out.log)"
kill -9 $tuner
for _ in $(seq 600); do [ "$(ours)" = 0 ] && break; sleep 0.05; done
[ "$(ours)" = 0 ] || fail "workers outlive their tuner"
echo "ok"
