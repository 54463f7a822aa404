# Tests export --format triton: the best configuration of each size, as Python, and none that a later
# check refuted.
trial() {
    printf '{"kernel":"softmax","implementation":"triton","device":"cuda:0","size":"%s","dtype":"bf16","choices":"",' "$1"
    printf '"config":"%s","environment":"e","status":"%s","ms":%s}%s\n' "$2" "$3" "$4" "$5"
}
{
    echo '['
    trial 'rows=4096,cols=1000' 'BLOCK_SIZE=1024,num_warps=4,num_stages=2' ok 0.02 ,
    trial 'rows=4096,cols=1000' 'BLOCK_SIZE=1024,num_warps=8,num_stages=2' ok 0.01 ,
    trial 'rows=4096,cols=4096' 'BLOCK_SIZE=4096,num_warps=16,num_stages=2' ok 0.03 ,
    trial 'rows=64,cols=1000' 'BLOCK_SIZE=1024,num_warps=8,num_stages=2' ok 0.005 ,
    trial 'rows=64,cols=1000' 'BLOCK_SIZE=512,num_warps=8,num_stages=2' wrong_result null ,
    trial 'rows=64,cols=1000' 'BLOCK_SIZE=2048,num_warps=8,num_stages=2' ok 0.001 ,
    trial 'rows=64,cols=1000' 'BLOCK_SIZE=2048,num_warps=8,num_stages=2' wrong_result null ,
    trial 'rows=9,cols=9' 'BLOCK_SIZE=256,num_warps=8,num_stages=2' ok 0.001 ,
    trial 'rows=9,cols=9' 'BLOCK_SIZE=256,num_warps=8,num_stages=2' wrong_result null ''
    echo ']'
} >trials.json
autokernel export softmax --format triton 2>&1 | sed 's/^autokernel: .*archive.db:/autokernel: ARCHIVE:/; s/^autokernel: [^ ]*: no trial/autokernel: ARCHIVE: no trial/'
autokernel import trials.json
autokernel export softmax --format triton --output configs.py | sed -n 1p
cat configs.py
autokernel export softmax --size rows=9,cols=9 --format triton 2>&1 | sed 's/^autokernel: .*archive.db:/autokernel: ARCHIVE:/'
command -v python3 >/dev/null || exit 0
cat >triton.py <<'P'
class Config:
    def __init__(self, kwargs, **options):
        self.all = {**kwargs, **options}
P
python3 -c 'import configs; print(len(configs.CONFIGS), configs.BY_SIZE[(64, 1000, "bf16")].all)'
