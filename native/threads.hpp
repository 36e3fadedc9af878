// Work shared among threads.
//
// The calling thread could do everything by itself, and waits for no helper that has not begun. Helpers begin only while
// there is a core for them, and step aside when another thread needs it: on a busy machine, one that lost its core in the
// middle of a piece would be waited for until it gets one again, which can take longer than the whole call.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "load.hpp"

namespace chamfer {

// One call of on_threads. Helpers may outlive it, so they share it.
class Together {
   public:
    // Helper n is the n-th thread of this call, after the caller. It has a core if there are enough for all threads of
    // this call up to it, and for those of anybody else.
    bool has_core(int n) const {
        const int others = runnable_threads() - awake.load(std::memory_order_relaxed);
        return others + n + 1 <= cores_of_machine();
    }

    // False once the caller is done: helpers may then not begin any more.
    bool enter() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!over_) ++inside_;
        return !over_;
    }

    void leave() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (--inside_ == 0) changed_.notify_all();
    }

    // Step aside for a while; false once the caller is done.
    bool rest(std::chrono::microseconds time) {
        --awake;
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, time, [&] { return over_; });
        ++awake;
        return !over_;
    }

    // Wait for helpers that have begun.
    void finish() {
        std::unique_lock<std::mutex> lock(mutex_);
        over_ = true;
        changed_.notify_all();
        changed_.wait(lock, [&] { return inside_ == 0; });
        if (error_) std::rethrow_exception(error_);
    }

    template <typename Work>
    void safely(Work& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
    }

    std::atomic<int> awake{1};  // threads of this call that do not rest

   private:
    std::mutex mutex_;  // guards the following
    std::condition_variable changed_;
    bool over_ = false;
    int inside_ = 0;
    std::exception_ptr error_;
};

// A helper that takes pieces: whether it still has a core, asked now and then.
class Helper {
   public:
    Helper(const Together& call, int number) : call_(call), number_(number) {}

    bool goes_on() {
        const auto now = Clock::now();
        if (now < next_) return !aside;
        next_ = now + kBetween;
        aside = !call_.has_core(number_);
        return !aside;
    }

    bool aside = false;

   private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::microseconds kBetween{250};  // far below the time slice of a thread
    const Together& call_;
    int number_;
    Clock::time_point next_ = Clock::now();
};

// The helper that runs on this thread.
inline thread_local Helper* helper = nullptr;

// Call work() on the caller's thread and on helpers, some of which may call it several times or never, and rethrow the
// first exception. What work() is called for must be taken from Pieces.
template <typename Work>
void on_threads(int threads, Work work) {
    // With several others waiting for every core, helpers would find none, and starting them takes time.
    if (threads <= 1 || runnable_threads() > 2 * cores_of_machine()) return work();
    const auto call = std::make_shared<Together>();
    const auto help = [call, &work](int number) {
        Helper self(*call, number);
        std::chrono::microseconds pause{500};  // doubled each time: waking up costs others time, the caller among them
        do {
            self.aside = !call->has_core(number);
            if (self.aside) continue;
            if (!call->enter()) break;
            helper = &self;
            call->safely(work);
            helper = nullptr;
            call->leave();
        } while (self.aside && call->rest(std::exchange(pause, 2 * pause)));
        --call->awake;
    };
    try {
        for (int t = 1; t < threads; ++t) {
            ++call->awake;
            std::thread(help, t).detach();
        }
    } catch (const std::exception&) {  // the system has no more threads: go on with these
    }
    call->safely(work);
    call->finish();
}

// Number of threads that find work when each takes `piece` items at a time.
inline int useful_threads(int64_t items, int64_t piece, int threads) {
    return static_cast<int>(std::clamp<int64_t>((items + piece - 1) / piece, 1, threads));
}

// Items 0 ... count, handed out to threads a piece at a time.
class Pieces {
   public:
    Pieces(int64_t count, int64_t piece) : count_(count), piece_(piece) {}

    // False when none are left, or when a helper is to step aside.
    bool take(int64_t& from, int64_t& to) {
        if (helper && !helper->goes_on()) return false;
        from = next_.fetch_add(piece_, std::memory_order_relaxed);
        to = std::min(from + piece_, count_);
        return from < count_;
    }

   private:
    int64_t count_, piece_;
    std::atomic<int64_t> next_{0};
};

}  // namespace chamfer
