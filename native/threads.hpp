// Work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace chamfer {

// Call work() on several threads, the caller's among them, and throw what the first of them threw.
template <typename Work>
void on_threads(int threads, Work work) {
    std::exception_ptr error;
    std::mutex turns;
    const auto safely = [&] {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> turn(turns);
            if (!error) error = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        for (int t = 1; t < threads; ++t) others.emplace_back(safely);
    } catch (const std::system_error&) {  // no more threads can be had: these will do
    }
    safely();
    for (auto& other : others) other.join();
    if (error) std::rethrow_exception(error);
}

// How many threads have something to do when each takes `piece` things at a time.
inline int useful_threads(int64_t things, int64_t piece, int threads) {
    return static_cast<int>(std::clamp<int64_t>((things + piece - 1) / piece, 1, threads));
}

// Things 0 ... count, handed out some at a time to whichever thread comes.
class Pieces {
   public:
    Pieces(int64_t count, int64_t piece) : count_(count), piece_(piece) {}

    // False when there are none left.
    bool take(int64_t& from, int64_t& to) {
        from = next_.fetch_add(piece_, std::memory_order_relaxed);
        to = std::min(from + piece_, count_);
        return from < count_;
    }

   private:
    int64_t count_, piece_;
    std::atomic<int64_t> next_{0};
};

}  // namespace chamfer
