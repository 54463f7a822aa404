# Tests that changed signals, files and streams of the program that starts autokernel do not change its
# results, and that AUTOKERNEL_WORKER selects the worker.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export AUTOKERNEL_ARCHIVE=none.db
autokernel new kernel fates >/dev/null
cat >fates/host.json <<'JSON'
{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "MODE", "Type": "int", "Values": [0, 1, 2], "Default": 0}], "Conditions": []},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c",
  "CompilerOptions": ["-std=gnu17", "-O1"], "Workspace": "0", "Threads": "1"}}
JSON
cat >fates/host.c <<'C'
#if MODE == 2
#error such a kernel there is not
#endif
void ak_kernel(const ak_host_call *call)
{
    float *z = call->arg[2];
    const float *x = call->arg[0], *y = call->arg[1];
#if MODE == 1
    *(volatile int *)8 = 1;
#endif
    for (int64_t i = 0; i < call->size[0]; i++) {
        z[i] = 2.0f * x[i] + y[i];
    }
}
C
cat >start.py <<'PY'
import os, signal, subprocess, sys
how, command = sys.argv[1], sys.argv[2:]
def ignored():
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
def blocked():
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
def inherited():
    for number in range(3, 200):
        os.dup2(0, number)
def few():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 4096))
done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, close_fds=False,
                      restore_signals=False, preexec_fn={"ignored": ignored, "blocked": blocked,
                                                         "inherited": inherited, "few": few}[how])
text = [line for line in done.stdout.splitlines() if "no Landlock" not in line and "no seccomp" not in line and "compiling or running for" not in line and not line.startswith(("computing inputs", "warning: the machine"))]
print(how, done.returncode, " | ".join(text))
PY
for how in ignored blocked inherited few; do
    for mode in 0 1 2; do
        python3 start.py $how autokernel check fates --config MODE=$mode --size 1000
    done
done
# Standard streams that are closed are nobody else's files.
autokernel check fates --config MODE=0 --size 1000 0<&- 2>/dev/null
autokernel check fates --config MODE=0 --size 1000 >&- 2>&-
echo "closed: exit $?"
# The worker that is named is the one that is started.
cat >worker.sh <<SH
#!/bin/sh
echo "\$2" >>"$PWD/started"
exec "$AUTOKERNEL_WORKER" "\$@"
SH
chmod +x worker.sh
AUTOKERNEL_WORKER=$PWD/worker.sh autokernel check fates --config MODE=0 --size 1000
sort -u started
AUTOKERNEL_WORKER=/nowhere/worker autokernel check fates --config MODE=0 --size 1000 || echo "exit $?"
echo "-- a library that cannot be preloaded is no version of a compiler or of Python"
LD_PRELOAD=/nonexistent/x.so autokernel doctor --json 2>/dev/null | grep -c '"version":"ERROR'
echo "-- what was set for another program makes no library another one"
versions() {
    autokernel doctor --json 2>/dev/null | grep -o '"version":"[^"]*"'
}
here=$(versions)
there=$(DNNL_MAX_CPU_ISA=SSE41 ONEDNN_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Prescott BLIS_ARCH_TYPE=generic versions)
[ "$here" = "$there" ] && echo same
echo "-- a limit on open files below the descriptors of a child is named"
(ulimit -n 9; autokernel check fates --config MODE=0 --size 1000 2>&1 | grep -o 'open files; raise .*')
echo "-- a stack that is too small is named, too"
for kib in 64 200; do
    (ulimit -s $kib; autokernel list; echo "exit $?")
done
true
