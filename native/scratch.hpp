// Memory that is kept for the next query: fresh pages would cost as much as the work that is done in them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace chamfer {

struct Scratch {
    // For documents that may be among the best: the token that is closest to each query token as far as codes can tell,
    // what the query token adds at most, and the largest that its product with any other token can be.
    std::vector<float> most, otherwise;
    std::vector<int32_t> token;
    // For one document that is scored exactly.
    std::vector<double> closest;
    std::vector<int> unsettled;
    std::vector<int64_t> found;
    std::vector<char> group;

    void reserve(size_t numbers) {
        if (most.size() >= numbers) return;
        most.resize(2 * numbers);
        otherwise.resize(2 * numbers);
        token.resize(2 * numbers);
    }
};

// One for each thread, given back when the query is answered.
class Borrowed {
   public:
    Borrowed() {
        const std::lock_guard<std::mutex> turn(mutex());
        if (free().empty()) {
            own_ = std::make_unique<Scratch>();
        } else {
            own_ = std::move(free().back());
            free().pop_back();
        }
    }
    ~Borrowed() {
        constexpr size_t kWorthKeeping = size_t{1} << 20;  // numbers; more is a rare, large query
        if (own_->most.size() > kWorthKeeping) return;
        const std::lock_guard<std::mutex> turn(mutex());
        free().push_back(std::move(own_));
    }
    Borrowed(const Borrowed&) = delete;
    Scratch& operator*() const { return *own_; }

   private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::vector<std::unique_ptr<Scratch>>& free() {
        static std::vector<std::unique_ptr<Scratch>> kept;
        return kept;
    }
    std::unique_ptr<Scratch> own_;
};

}  // namespace chamfer
