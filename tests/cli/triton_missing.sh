# A Triton kernel without a Triton that can be used: none, one that is too old, too new or broken. Each is one line.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 -m venv --without-pip venv 2>/dev/null || { echo "no virtual environment"; exit 77; }
site=$(venv/bin/python -c 'import site; print(site.getsitepackages()[0])')
autokernel new kernel add --triton >/dev/null
try() { AUTOKERNEL_PYTHON=$1 autokernel list add/add.py --device cuda:H200 2>&1; echo "exit $?"; }
pretend() { mkdir -p "$site/triton" && echo "$1" >"$site/triton/__init__.py" && try "$PWD/venv/bin/python"; }
try "$PWD/venv/bin/python"
pretend '__version__ = "2.1.0"'
pretend '__version__ = "9.1.0"'
pretend 'raise OSError("libz.so: wrong ELF class")'
try /nowhere/python3
try /bin/true
