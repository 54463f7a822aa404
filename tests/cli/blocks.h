// blocks.h: runs a CUDA kernel with threads of the processor, a block at a time, for the examples.
// Shared memory is static. Who includes it includes the kernel's file then, and calls run().
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#define __global__
#define __shared__ static

struct dim3 {
    unsigned x, y;
};
static thread_local dim3 threadIdx;
static dim3 blockIdx;

static std::mutex lock;
static std::condition_variable all_came;
static unsigned threads, arrived, round_of_barrier;

static void __syncthreads()
{
    std::unique_lock<std::mutex> held(lock);
    const unsigned mine = round_of_barrier;
    if (++arrived == threads) {
        arrived = 0;
        round_of_barrier++;
        all_came.notify_all();
    } else {
        all_came.wait(held, [mine] { return round_of_barrier != mine; });
    }
}

template <typename Kernel> static void run(dim3 grid, dim3 block, Kernel kernel)
{
    threads = block.x * block.y;
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++) {
        for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) {
            std::vector<std::thread> running;
            for (unsigned t = 0; t < threads; t++) {
                running.emplace_back([=] {
                    threadIdx = {t % block.x, t / block.x};
                    kernel();
                });
            }
            for (std::thread &one : running) {
                one.join();
            }
        }
    }
}
