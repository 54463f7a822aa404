# Tests fleet status (which workers came, and why the others did not), the array job of fleet batch, and sizes
# that are tuned side by side.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel fleet status --launcher cmd:env --workers 2 --device host
echo "exit $?"
cat >launch.sh <<'END'
worker=$1; shift
case $worker in
    0) exec "$@" ;;
    1) echo 'Welcome to node1' ; cat >/dev/null ;;
    2) echo 'Permission denied (publickey).' >&2; exit 255 ;;
    4) sh -c 'read -r word </dev/tty' 2>/dev/null || { echo 'a password is needed, and nobody can be asked' >&2; exit 1; } ;;
    5) echo '{"hello": "autokernel", "host": "node5", "protocol": 1}'; cat >/dev/null ;;
    6) echo '{"hello": "autokernel", "host": "node6", "protocol": 3, "version": "0.0.9"}'; cat >/dev/null ;;
    3) program=$1 beat=$4; shift 5; exec "$program" worker --stdio "$beat" /nowhere "$@" ;;
esac
END
autokernel fleet status --launcher 'cmd:sh launch.sh {worker}' --workers 7 --device host
echo "exit $?"
# A queue that takes longer than anybody waits: srun says nothing.
mkdir bin && printf '#!/bin/sh\nexec sleep 1000000\n' >bin/srun && chmod +x bin/srun
PATH=$PWD/bin:$PATH AUTOKERNEL_BEAT_MS=20 autokernel fleet status --launcher slurm --workers 2 --device host
autokernel fleet status --launcher cmd:env --device host --json | grep -o '"state":"ready"\|"compilers":\|"compile_workers":[1-9]'
autokernel fleet status --launcher cmd:/no/such/launcher --device host
autokernel fleet status
autokernel fleet status --launcher nosuch
autokernel fleet batch matmul
autokernel fleet batch matmul --sizes 64 --launcher ssh:a
autokernel fleet batch matmul --sizes 64 --workers none
autokernel fleet stat
echo "-- a job"
autokernel new kernel mine >/dev/null
autokernel fleet batch ./mine --sizes '64;n=96' --workers 2 --launcher 'slurm:--gpus-per-task=1 --time=10' --device host --evals 2 \
    --finish-time 0.02 --quiet >tune.sbatch
cat tune.sbatch
for i in 0 1; do SLURM_ARRAY_TASK_ID=$i bash tune.sbatch >/dev/null 2>&1 || echo "task $i: exit $?"; done
autokernel import autokernel-jobs/*.db
autokernel import autokernel-jobs/*.db | head -n 1
# One more run makes a table, and tunes no size again.
autokernel tune ./mine --sizes '64;n=96' --dispatch 2 --device host --evals 4 --finish-time 0.02 --resume --json 2>/dev/null |
    grep -o '"evaluated":[0-9]*' | sort -u
autokernel export ./mine --format dispatch | head -n 1
cp -r mine f32
autokernel fleet batch --dtype f32 f32 --sizes '64;n=96;128' --workers 1-2 | grep -e '--array' -e '--archive' -e ' tune f32'
bash tune.sbatch 2>&1 | sed 's/.*SLURM/SLURM/'
autokernel fleet batch ./mine --sizes '64;n=64' --device host
autokernel fleet batch ./mine --sizes 64 --device host --launcher 'slurm:--array=7'
autokernel fleet batch ./mine --sizes 64 --device host --launcher 'slurm:-J mine'
autokernel fleet batch ./mine --sizes 64 --device host --launcher 'slurm:-Jmine'
tee autokernel-jobs/{2..200..2}.db <autokernel-jobs/0.db >/dev/null # hundreds at once
tee autokernel-jobs/{3..201..2}.db <autokernel-jobs/1.db >/dev/null
autokernel import autokernel-jobs/*.db --archive many.db | head -n 1
autokernel import autokernel-jobs/0.db nothing.db launch.sh | head -n 1
echo "-- side by side, on two nodes of which one starts nothing"
printf 'worker=$1; shift; [ "$worker" = 0 ] || exec "$@"; echo No route to host >&2; exit 255\n' >hole.sh
AUTOKERNEL_BEAT_MS=1000 autokernel tune ./mine --sizes '64;80;96' --launcher 'cmd:sh hole.sh {worker}' --workers 1-2 --device host \
    --evals 6 --finish-time 0.02 --like none --libraries none --archive hole.db 2>&1 | grep -c '^[1-3]/3 .* tuned$'
echo "-- side by side"
autokernel tune ./mine --sizes '64;96' --launcher cmd:env --workers 2 --device host --evals 4 --finish-time 0.02 \
    --archive wide.db --quiet 2>&1 | grep -v warning | sed -n '1,2p'
# A size's winner that another size's run found has one trial more, of no run.
autokernel history --archive wide.db --json | grep -v '"run":null' | grep -o '"size":"[^"]*"' | sort | uniq -c | sed 's/^ *//'
