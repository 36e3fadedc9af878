#include "rank.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <mutex>

#include "query.hpp"
#include "refine.hpp"
#include "scratch.hpp"
#include "screen.hpp"
#include "threads.hpp"

namespace chamfer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The k largest numbers seen so far.
class Best {
   public:
    explicit Best(int64_t k) : k_(static_cast<size_t>(k)) {}
    void add(float value) {
        if (value <= bar()) return;
        if (heap_.size() == k_) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
        }
        heap_.push_back(value);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    // What a number must exceed to be among them.
    float bar() const { return heap_.size() < k_ ? -kInfinity : heap_.front(); }

   private:
    size_t k_;
    std::vector<float> heap_;
};

// The highest bar that any thread knows.
class Bar {
   public:
    float get() const { return value_.load(std::memory_order_relaxed); }
    void raise(float to) {
        for (float now = get(); now < to && !value_.compare_exchange_weak(now, to);) {
        }
    }

   private:
    std::atomic<float> value_{-kInfinity};
};

// A document that may be among the best, and where its thread keeps what it found in it.
struct Promising {
    int64_t candidate;
    Bounds score;
    int thread;
    size_t at;
};

struct Scored {
    int64_t candidate;
    float score;
};

class Ranking {
   public:
    Ranking(const Path& path, const Documents& documents, const Request& request, int64_t k, int threads)
        : path_(path), documents_(documents), request_(request), k_(k),
          threads_(useful_threads(request.count, kPiece, threads)), query_(path, request, documents.dimensions),
          screen_(path, documents, query_, request), scratch_(threads_) {}

    Answer answer() {
        screen();
        narrow();
        settle();
        std::sort(scored_.begin(), scored_.end(), [](const Scored& a, const Scored& b) {
            return a.score != b.score ? a.score > b.score : a.candidate < b.candidate;
        });
        for (const Scored& one : scored_) add(one);
        for (int64_t c = 0; c < request_.count; ++c)
            if (documents_.length(request_.candidates[c]) == 0) add({c, -kInfinity});
        return std::move(answer_);
    }

   private:
    static constexpr int64_t kPiece = Screen::Piece::kMost;

    void add(const Scored& one) {
        if (static_cast<int64_t>(answer_.places.size()) == k_) return;
        answer_.places.push_back(one.candidate);
        answer_.scores.push_back(one.score);
    }

    // Look at the codes of every document, and keep those that may be among the best.
    void screen() {
        Pieces pieces(request_.count, kPiece);
        std::mutex turns;
        on_threads(threads_, [&](int thread) {
            Scratch& scratch = *scratch_[thread];
            Best best(k_), expected(k_);
            std::vector<Promising> own;
            own.reserve(request_.count / threads_ + kPiece);
            int64_t computed = 0, possible = 0;
            const size_t lanes = query_.weight.size();
            Screen::Piece piece;
            size_t at = 0;
            for (int64_t from, to; pieces.take(from, to);) {
                piece.count = 0;
                scratch.reserve(at + Screen::Piece::kMost * lanes);
                for (int64_t c = from; c < to; ++c) {
                    const int64_t document = request_.candidates[c];
                    if (documents_.length(document) == 0) continue;
                    possible += documents_.length(document) * request_.tokens;
                    piece.document[piece.count] = document;
                    piece.candidate[piece.count] = c;
                    piece.at[piece.count] = at + piece.count * lanes;
                    ++piece.count;
                }
                at += piece.count * lanes;
                piece.next = to < request_.count ? request_.candidates[to] : -1;
                screen_.look(piece, bar_.get(), expected.bar(), scratch, computed);
                for (int n = 0; n < piece.count; ++n) {
                    own.push_back({piece.candidate[n], piece.score[n], thread, piece.at[n]});
                    best.add(piece.score[n].low);
                    expected.add((piece.score[n].low + piece.score[n].high) / 2);
                }
                bar_.raise(best.bar());
            }
            const std::lock_guard<std::mutex> turn(turns);
            promising_.insert(promising_.end(), own.begin(), own.end());
            answer_.computed += computed;
            answer_.possible += possible;
        });
    }

    // Call use(refine, one) for every promising document, highest bound first, until nothing behind can reach the bar.
    template <typename Use>
    void for_promising(Use use) {
        const auto hopeless = [&](const Promising& one) { return one.score.high < bar_.get(); };
        promising_.erase(std::remove_if(promising_.begin(), promising_.end(), hopeless), promising_.end());
        std::sort(promising_.begin(), promising_.end(), [](const Promising& a, const Promising& b) {
            return a.score.high != b.score.high ? a.score.high > b.score.high : a.candidate < b.candidate;
        });
        const auto count = static_cast<int64_t>(promising_.size());
        constexpr int64_t kWorthAThread = 32;
        Pieces pieces(count, 1);
        on_threads(useful_threads(count, kWorthAThread, threads_), [&](int thread) {
            Refine refine(path_, documents_, query_, request_, screen_, *scratch_[thread]);
            for (int64_t n, end; pieces.take(n, end) && promising_[n].score.high >= bar_.get();)
                use(refine, promising_[n]);
        });
    }

    // Look at the vectors that seem to be closest, and keep documents that still may be among the best.
    void narrow() {
        std::mutex turns;
        std::vector<Promising> kept;
        Best best(k_);
        for_promising([&](Refine& refine, Promising one) {
            const bool keep = refine.narrow(request_.candidates[one.candidate], found_in(one), bar_.get(), one.score);
            const std::lock_guard<std::mutex> turn(turns);
            ++answer_.refined;
            if (!keep) return;
            kept.push_back(one);
            best.add(one.score.low);
            bar_.raise(best.bar());
        });
        promising_ = std::move(kept);
    }

    // Score exactly what is left.
    void settle() {
        std::mutex turns;
        Best best(k_);
        for_promising([&](Refine& refine, const Promising& one) {
            const float score = refine.exactly(request_.candidates[one.candidate], found_in(one));
            const std::lock_guard<std::mutex> turn(turns);
            scored_.push_back({one.candidate, score});
            best.add(score);
            bar_.raise(best.bar());
        });
    }

    Screened found_in(const Promising& one) const {
        const Scratch& found = *scratch_[one.thread];
        return {&found.most[one.at], &found.otherwise[one.at], &found.token[one.at]};
    }

    const Path& path_;
    const Documents& documents_;
    const Request& request_;
    const int64_t k_;
    const int threads_;
    const WeightedQuery query_;
    const Screen screen_;
    std::vector<Borrowed> scratch_;
    Bar bar_;  // what the best k score at least
    std::vector<Promising> promising_;
    std::vector<Scored> scored_;
    Answer answer_;
};

}  // namespace

Answer rank(const Path& path, const Documents& documents, const Request& request, int64_t k, int threads) {
    if (k == 0) return {};
    return Ranking(path, documents, request, k, threads).answer();
}

}  // namespace chamfer
