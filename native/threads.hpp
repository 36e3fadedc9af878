// Work shared among threads.
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

// Call work() on several threads, including the caller's, and rethrow the first exception.
template <typename Work>
void on_threads(int threads, Work work) {
    std::exception_ptr error;
    std::mutex mutex;
    const auto safely = [&] {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
        for (int t = 1; t < threads; ++t) others.emplace_back(safely);
    } catch (const std::system_error&) {  // the system has no more threads: go on with these
    }
    safely();
    for (auto& other : others) other.join();
    if (error) std::rethrow_exception(error);
}

// Number of threads that find work when each takes `piece` items at a time.
inline int useful_threads(int64_t items, int64_t piece, int threads) {
    return static_cast<int>(std::clamp<int64_t>((items + piece - 1) / piece, 1, threads));
}

// Items 0 ... count, handed out to threads a piece at a time.
class Pieces {
   public:
    Pieces(int64_t count, int64_t piece) : count_(count), piece_(piece) {}

    // False when none are left.
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
