# Libraries that are there and cannot be loaded are not called missing: the reason of the loader is told, and no package.
mkdir broken
for name in libcurl.so.4 libcurl-gnutls.so.4 libmicrohttpd.so.12 libmicrohttpd.so libopenblas.so.0 libblis.so.4 libdnnl.so.2; do
    echo 'no library' >broken/$name
done
export LD_LIBRARY_PATH=$PWD/broken
{ autokernel llm check --llm ollama:any; autokernel serve --port 0; autokernel doctor; } 2>&1 |
    sed -n -E 's#(could not be loaded): [^ ]*/broken/.*: #\1: #p' | tr -s " "
