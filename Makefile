# autokernel: the two commands are `make tune` and `make check`.
#
#   make            build build/release/autokernel
#   make tune       install what is missing, build, tune a matrix product on this machine
#   make check      install what is missing, build, run every test
#   make slow       list the 30 tests that took longest in the last `make check`
#   make cost       run the tests one by one and list the processor time of each
#   make check-gpu  check and tune on a CUDA device, if there is one
#   make check-torch  test the Python package with torch, on the GPU too if there is one
#   make check-all  the same under ASan+UBSan and TSan, clang-tidy and the fuzzers (what CI runs)
#   make wheel      build/wheel/autokernel-*.whl: the Python package
#   make install    PREFIX=/usr/local DESTDIR=  (make uninstall takes away the latest, or that of its PREFIX)
#   make clean
#   make help       print this

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
BUILD := build/release
TUNE ?= matmul
# Without any optimisation the sanitizers take four times as long.
DEBUG := -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-g -O1"
# Ninja starts far fewer processes than make does, which is a seventh of what the build costs. A build folder
# keeps what made it.
CMAKE_GENERATOR ?= $(if $(shell command -v ninja),Ninja,Unix Makefiles)
export CMAKE_GENERATOR
# Some tests wait for a time to pass: two more of them than processors keep all processors at work; one more
# with sanitizers, which make a test that waits for a process wait longer.
# REPEAT: what .ci/run adds, so that a test that fails is run a second time.
CTEST := ctest --output-on-failure --no-tests=error $(REPEAT)
TWO_MORE := -j $(shell expr $(JOBS) + 2)
ONE_MORE := -j $(shell expr $(JOBS) + 1)

.PHONY: all help build setup tune check slow cost check-gpu check-torch check-all check-asan check-tsan check-fuzz tidy wheel deb install uninstall clean

all: build

help:
	@sed -n '/^$$/q;s/^# \{0,1\}//p' Makefile

# Only a new build folder goes without the tests, which need cmocka: in one that has them a later ctest would
# run what was built before.
build:
	@mkdir -p build
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DAK_TESTS=OFF) >build/build.log 2>&1 || (cat build/build.log; exit 1)
	@bash tools/progress.sh build/build.log "building" cmake --build $(BUILD) -j $(JOBS) --target autokernel_cli

tune:
	@bash tools/setup.sh build
	@$(MAKE) --no-print-directory build
	@$(BUILD)/autokernel tune $(TUNE)

check:
	@bash tools/setup.sh check
	@mkdir -p build
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DAK_TESTS=ON >build/check.log 2>&1 || (cat build/check.log; exit 1)
	@cmake --build $(BUILD) -j $(JOBS) >build/check.log 2>&1 || (cat build/check.log; exit 1)
	@cd $(BUILD) && $(CTEST) $(TWO_MORE)

# Seconds by the clock, the mean of all runs in this build folder, as ctest keeps them.
slow:
	@awk 'NF == 3 && $$2 > 0 {printf "%7.1f s  %s\n", $$3, $$1}' $(BUILD)/Testing/Temporary/CTestCostData.txt | sort -rn | head -n 30

cost:
	@python3 tools/cost.py

# Skips itself where there is no CUDA device.
check-gpu: build
	@AUTOKERNEL=$(BUILD)/autokernel bash tests/gpu/check.sh || [ $$? -eq 77 ]

PYTHON ?= python3
check-torch: build
	@cmake --build $(BUILD) -j $(JOBS) --target autokernel_runtime >build/build.log 2>&1 || (cat build/build.log; exit 1)
	@$(PYTHON) -c 'import torch, pytest' || { echo "torch or pytest is missing: python3 -m venv venv && venv/bin/pip install torch pytest, then make check-torch PYTHON=venv/bin/python"; exit 1; }
	@cd tests/python && env PYTHONPATH="$(CURDIR)/python" AUTOKERNEL="$(CURDIR)/$(BUILD)/autokernel" \
		AUTOKERNEL_RUNTIME="$(CURDIR)/$(BUILD)/libautokernel_runtime.so" \
		AUTOKERNEL_ARCHIVE="$(CURDIR)/$(BUILD)/torch.db" \
		$(PYTHON) -B -m pytest -q -rs -p no:cacheprovider test_torch.py test_torch_gpu.py

check-asan:
	@mkdir -p build
	@cmake -S . -B build/asan -DAK_SANITIZE=address,undefined $(DEBUG) >/dev/null
	@cmake --build build/asan -j $(JOBS) >build/asan.log 2>&1 || (cat build/asan.log; exit 1)
	@cd build/asan && $(CTEST) $(ONE_MORE) -LE unsanitized

check-tsan:
	@mkdir -p build
	@cmake -S . -B build/tsan -DAK_SANITIZE=thread $(DEBUG) >/dev/null
	@cmake --build build/tsan -j $(JOBS) --target threaded >build/tsan.log 2>&1 || (cat build/tsan.log; exit 1)
	@cd build/tsan && $(CTEST) $(ONE_MORE) -L threaded

check-fuzz:
	@mkdir -p build
	@cmake -S . -B build/fuzz -DAK_FUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug >/dev/null
	@cmake --build build/fuzz -j $(JOBS) --target fuzzers >build/fuzz.log 2>&1 || (cat build/fuzz.log; exit 1)
	@cd build/fuzz && $(CTEST) $(ONE_MORE) -R fuzz/

tidy:
	@bash tools/tidy.sh

check-all:
	@bash tools/setup.sh full
	@$(MAKE) --no-print-directory tidy
	@$(MAKE) --no-print-directory check-fuzz
	@$(MAKE) --no-print-directory check-tsan
	@$(MAKE) --no-print-directory check-asan
	@AUTOKERNEL_CANDIDATES=1 $(MAKE) --no-print-directory check

install: build
	@cmake --build $(BUILD) -j $(JOBS) --target installable >build/build.log 2>&1 || (cat build/build.log; exit 1)
	@bash tools/new_folders.sh $(BUILD) "$(PREFIX)" "$(DESTDIR)"
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

uninstall:
	@bash tools/uninstall.sh $(BUILD) "$(DESTDIR)" $(if $(filter-out file,$(origin PREFIX)),"$(PREFIX)")

wheel: build
	@cmake --build $(BUILD) -j $(JOBS) --target autokernel_runtime >build/build.log 2>&1 || (cat build/build.log; exit 1)
	@python3 tools/wheel.py $(BUILD)/autokernel $(BUILD)/libautokernel_runtime.so build/wheel

deb: build
	@cmake --build $(BUILD) -j $(JOBS) --target installable >build/build.log 2>&1 || (cat build/build.log; exit 1)
	@bash tools/deb.sh $(BUILD) build $(if $(MAINTAINER),"$(MAINTAINER)")

clean:
	@rm -rf build
