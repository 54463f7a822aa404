# attention_decode and attention on the host: pages, layouts, lengths, masks; what they refuse.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
try() { autokernel check attention_decode "$@" --quiet >out 2>&1; echo "exit $?"; grep -v '^ok' out; }
small=batch=5,heads=6,kv_heads=2,keys=100,head_dim=40
try --configs 2 --size $small,queries=1
try --config PASSES=O2 --size $small,queries=3 --set page=7,layout=nhd
try --config PASSES=O2 --size $small,queries=1 --set page=16,lengths=full,scale=0.5
try --config PASSES=O2 --size batch=1,queries=4,keys=2,heads=1,kv_heads=1,head_dim=3
try --config PASSES=O2 --size $small,queries=2 --set kv=e4m3,page=16,layout=nhd
echo "-- refused"
try --config PASSES=O2 --size heads=7,kv_heads=2
try --config default --set page=-1
autokernel list attention_decode --impl cuda --device cuda:H200 --dtype bf16 --size head_dim=96 2>&1 | tail -n 1
autokernel list attention_decode --impl cuda --device cuda:H200 --dtype bf16 --set page=24 2>&1 | tail -n 1
autokernel list attention_decode --impl cuda --device cuda:H200 --dtype f32 2>&1 | tail -n 1
autokernel list attention_decode --impl cuda --device cuda:A100 --dtype bf16 --set kv=e4m3 2>&1 | tail -n 1
echo "-- attention"
try() { autokernel check attention "$@" --quiet >out 2>&1; echo "exit $?"; grep -v '^ok' out; }
small=batch=2,heads=4,kv_heads=2,queries=70,keys=100,head_dim=40
try --configs 2 --size $small --set mask=full
try --config PASSES=O2 --size $small --set mask=causal,window=33,layout=nhd
try --config PASSES=O2 --size $small --set mask=causal,scale=0.3,soft_cap=2
try --config PASSES=O2 --size batch=1,heads=1,kv_heads=1,queries=5,keys=2,head_dim=3 --set mask=causal
small=batch=6,heads=4,kv_heads=2,queries=70,head_dim=40
try --config PASSES=O2 --size $small,keys=70 --set mask=causal,sequences=packed,layout=nhd
try --config PASSES=O2 --size $small,keys=100 --set mask=causal,sequences=packed,window=9,soft_cap=2
try --config PASSES=O2 --size batch=100,heads=1,kv_heads=1,queries=70,keys=70,head_dim=3 --set mask=full,sequences=packed
echo "-- refused"
try --config default --set window=5
autokernel list attention --impl cuda_sm90 --device cuda:H200 --dtype bf16 --size head_dim=96 2>&1 | tail -n 1
autokernel list attention --impl cuda_sm90 --device cuda:A100 --dtype bf16 2>&1 | tail -n 1
autokernel list attention --impl cuda_sm90 --device cuda:H200 --dtype bf16 --size batch=2000 --set sequences=packed 2>&1 | tail -n 1
