# Host kernels in Fortran: a subroutine with bind(c), which a Launch calls; a tuning run, and what is refused.
command -v gfortran >/dev/null && command -v gcc >/dev/null || { echo "no gfortran"; exit 77; }
autokernel new kernel mine >/dev/null
sed -i 's/"Language": "C",/"Language": "Fortran", "Launch": { "Arguments": [{ "Buffer": "Z" }, { "Buffer": "X" }, { "Buffer": "Y" }, { "Int64": "n" }] },/; s/"KernelName": "ak_kernel"/"KernelName": "axpy"/; s/"KernelFile": "host.c"/"KernelFile": "host.f90"/; s/"-std=gnu17"/"-Wall"/' mine/host.json
rm mine/host.c
write() { printf 'subroutine axpy(z, x, y, n) bind(c)\n  use iso_c_binding\n  implicit none\n  integer(c_int64_t), value :: n\n  real(c_float), intent(inout) :: z(n)\n  real(c_float), intent(in) :: x(n), y(n)\n  integer(c_int64_t) :: i\n%s\nend subroutine\n' "$1" >mine/host.f90; }
check() { autokernel check ./mine --config "UNROLL=${1:-4},THREADS=1,COMPILER=${2:-gcc},OPT_LEVEL=2" --size n=500 --threads 2 --quiet 2>&1 | grep -E '^(ok|1 of|autokernel|compile_error|rejected|invalid|wrong_result)' | sed 's/error .* of what/error E of what/; s#/[^ ]*/##g; s/[0-9a-f]*\.so\.f90/FILE.f90/'; }
echo "-- a loop, its parameter from the space"
write '  integer, parameter :: step = UNROLL
  do i = 1, n - mod(n, int(step, c_int64_t)), step
    z(i:i + step - 1) = 2.0 * x(i:i + step - 1) + y(i:i + step - 1)
  end do
  do i = n - mod(n, int(step, c_int64_t)) + 1, n
    z(i) = 2.0 * x(i) + y(i)
  end do'
check
autokernel tune ./mine --size n=5000 --threads 2 --fix COMPILER=gcc --evals 3 --finish-time 0.02 --libraries none --archive a.db --quiet 2>&1 | grep -c '^best'
echo "-- with OpenMP"
sed 's/"Threads": "THREADS"/"Threads": "openmp"/' mine/host.json >host.json
cp mine/host.json keep.json
cp host.json mine
write '!$omp parallel do schedule(dynamic, 8)
  do i = 1, n
    z(i) = 2.0 * x(i) + y(i)
  end do'
check
cp keep.json mine/host.json
echo "-- what is refused: state, the library of Fortran, a mistake, another compiler, no Launch"
write '  integer, save :: calls = 0
  calls = calls + 1
  z = 2.0 * x + y'
check
write '  z = 2.0 * x + y
  print *, n'
check
write '  z = 2.0 * x + w'
check
write '  z = 2.0 * x + y'
check 4 clang
sed -i 's/"Launch": {.*}\] },//' mine/host.json
check
echo "-- no gfortran"
cp keep.json mine/host.json
mkdir tools
for tool in gcc as ld grep sed; do ln -s "$(command -v $tool)" tools; done
old=$PATH
PATH=$(dirname "$(command -v autokernel)"):$PWD/tools
check
PATH=$old
