// Sieving: the candidates that may be in the top k, by bounds on their scores.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "screen.hpp"
#include "threads.hpp"

namespace chamfer {

// The k largest numbers seen so far.
class TopK {
   public:
    explicit TopK(int64_t k) : k_(static_cast<size_t>(k)) {}
    void add(float value) {
        if (!(value > bar())) return;
        if (heap_.size() == k_) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
        }
        heap_.push_back(value);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    // The number to exceed.
    float bar() const { return heap_.size() < k_ ? -std::numeric_limits<float>::infinity() : heap_.front(); }

   private:
    size_t k_;
    std::vector<float> heap_;
};

// The score that a document must reach to be in the top k, raised by all threads.
class Bar {
   public:
    float get() const { return value_.load(std::memory_order_relaxed); }
    void raise(float to) {
        for (float now = get(); now < to && !value_.compare_exchange_weak(now, to);) {
        }
    }

   private:
    std::atomic<float> value_{-std::numeric_limits<float>::infinity()};
};

class Sieve {
   public:
    static constexpr int64_t kPiece = Piece::kMost;

    Sieve(const Documents& documents, const Request& request, const WeightedQuery& query, const Screen& screen,
          const Bar& bar)
        : documents_(documents), request_(request), query_(query), screen_(screen), bar_(bar) {}

    // Screen the candidates that `pieces` hands out, call keep(piece) for each piece once the codes of the next one have
    // been multiplied, and ahead(piece, n) for its documents before that.
    template <typename Ahead, typename Keep>
    void run(Pieces& pieces, Ahead ahead, Keep keep) {
        Piece one(query_.weight.size()), other(query_.weight.size());
        Piece *now = &one, *before = &other;
        for (int64_t from, to; pieces.take(from, to);) {
            while (from < to) {
                from = fill(*now, from, to);
                screen_.bound(*now, bar_.get(), computed);
                keep(*before);
                for (int n = 0; n < now->count; ++n) ahead(*now, n);
                std::swap(now, before);
            }
        }
        keep(*before);
    }

    int64_t computed = 0;  // products of tokens
    int64_t possible = 0;  // the same if nothing were dropped

   private:
    // Fill a piece with as many candidates as fit into the cache, except those whose offset rules them out, and return
    // where to continue.
    int64_t fill(Piece& piece, int64_t from, int64_t to) {
        constexpr int64_t kBytes = int64_t{1} << 18;
        int64_t bytes = 0;
        piece.count = 0;
        for (; from < to && bytes < kBytes; ++from) {
            const int64_t document = request_.candidates[from], length = documents_.length(document);
            if (length == 0) continue;
            possible += length * request_.tokens;
            const Bounds start = screen_.start(document, query_.offset(from));
            if (start.high + screen_.rest(0, document) < bar_.get()) continue;
            piece.score[piece.count] = start;
            piece.document[piece.count] = document;
            piece.candidate[piece.count] = from;
            piece.slot[piece.count] = piece.count;
            ++piece.count;
            bytes += length * documents_.stride;
        }
        piece.next = from < request_.count ? request_.candidates[from] : -1;
        return from;
    }

    const Documents& documents_;
    const Request& request_;
    const WeightedQuery& query_;
    const Screen& screen_;
    const Bar& bar_;
};

}  // namespace chamfer
