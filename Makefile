# autokernel: the two commands are `make tune` and `make check`.
#
#   make            build build/release/autokernel
#   make tune       install what is missing, build, tune a matrix product on this machine
#   make check      install what is missing, build, run every test
#   make check-gpu  check and tune on a CUDA device, if there is one
#   make check-all  the same under ASan+UBSan and TSan, clang-tidy and the fuzzers (what CI runs)
#   make install    PREFIX=/usr/local DESTDIR=
#   make clean

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
BUILD := build/release
CMAKE := cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX)
TUNE ?= matmul
# Without any optimisation the sanitizers take four times as long.
DEBUG := -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-g -O1"
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: all build setup tune check check-gpu check-all check-asan check-tsan check-fuzz tidy install clean

all: build

build:
	@mkdir -p build
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DAK_TESTS=OFF >build/build.log 2>&1 || (cat build/build.log; exit 1)
	@cmake --build $(BUILD) -j $(JOBS) --target autokernel_cli >build/build.log 2>&1 || (cat build/build.log; exit 1)

tune:
	@bash tools/setup.sh build
	@$(MAKE) --no-print-directory build
	@$(BUILD)/autokernel tune $(TUNE)

check:
	@bash tools/setup.sh check
	@mkdir -p build
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DAK_TESTS=ON >build/check.log 2>&1 || (cat build/check.log; exit 1)
	@cmake --build $(BUILD) -j $(JOBS) >build/check.log 2>&1 || (cat build/check.log; exit 1)
	@cd $(BUILD) && $(CTEST)

# Skips itself where there is no CUDA device.
check-gpu: build
	@AUTOKERNEL=$(BUILD)/autokernel bash tests/gpu/check.sh || [ $$? -eq 77 ]

check-asan:
	@mkdir -p build
	@cmake -S . -B build/asan -DAK_SANITIZE=address,undefined $(DEBUG) >/dev/null
	@cmake --build build/asan -j $(JOBS) >build/asan.log 2>&1 || (cat build/asan.log; exit 1)
	@cd build/asan && $(CTEST) -E '^(cli/(examples|tune|sizes|check)$$|unit/test_cuda_(spaces|templates)$$|examples/|lint/|simt/|bench/)'

check-tsan:
	@mkdir -p build
	@cmake -S . -B build/tsan -DAK_SANITIZE=thread $(DEBUG) >/dev/null
	@cmake --build build/tsan -j $(JOBS) >build/tsan.log 2>&1 || (cat build/tsan.log; exit 1)
	@cd build/tsan && $(CTEST) -R 'unit/test_(base|host|pool|tuner|archive|replay|llm_client)'

check-fuzz:
	@mkdir -p build
	@cmake -S . -B build/fuzz -DAK_FUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug >/dev/null
	@cmake --build build/fuzz -j $(JOBS) >build/fuzz.log 2>&1 || (cat build/fuzz.log; exit 1)
	@cd build/fuzz && $(CTEST) -R fuzz/

tidy:
	@bash tools/tidy.sh

check-all:
	@bash tools/setup.sh full
	@$(MAKE) --no-print-directory tidy
	@$(MAKE) --no-print-directory check-fuzz
	@$(MAKE) --no-print-directory check-tsan
	@$(MAKE) --no-print-directory check-asan
	@$(MAKE) --no-print-directory check

install: build
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf build
