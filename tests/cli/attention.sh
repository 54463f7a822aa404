# attention_decode on the host: pages, layouts, lengths, several queries; what it refuses.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
try() { autokernel check attention_decode "$@" --quiet >out 2>&1; echo "exit $?"; grep -v '^ok' out; }
small=batch=5,heads=6,kv_heads=2,keys=100,head_dim=40
try --configs 2 --size $small
try --config default --size $small,queries=3 --set page=7,layout=nhd
try --config default --size $small --set page=16,lengths=full,scale=0.5
try --config default --size batch=1,queries=4,keys=2,heads=1,kv_heads=1,head_dim=3
echo "-- refused"
try --config default --size heads=7,kv_heads=2
try --config default --set page=-1
autokernel list attention_decode --impl cuda --device cuda:H200 --dtype bf16 --size head_dim=96 2>&1 | tail -n 1
autokernel list attention_decode --impl cuda --device cuda:H200 --dtype bf16 --set page=24 2>&1 | tail -n 1
autokernel list attention_decode --impl cuda --device cuda:H200 --dtype f32 2>&1 | tail -n 1
