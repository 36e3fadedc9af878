#include "rank.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>

#include "query.hpp"
#include "refine.hpp"
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

// A document that may be among the best, and where it is kept what was found in it.
struct Promising {
    int64_t candidate;
    Bounds score;
    size_t at;
    bool narrowed;
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
          screen_(path, documents, query_, request), lows_(k) {}

    Answer answer() {
        screen();
        narrow_rest();
        settle();
        std::sort(scored_.begin(), scored_.end(), [](const Scored& a, const Scored& b) {
            return a.score != b.score ? a.score > b.score : a.candidate < b.candidate;
        });
        for (const Scored& one : scored_) add(one);
        for (int64_t c = 0; c < request_.count; ++c)
            if (documents_.length(request_.candidates[c]) == 0) add({c, -kInfinity});
        return std::move(answer_);
    }

    // Without vectors: the candidates that may be among the best, as far as codes tell.
    std::vector<int64_t> promising() {
        screen();
        std::vector<int64_t> found;
        for (const Promising& one : promising_)
            if (one.score.high >= bar_.get()) found.push_back(one.candidate);
        std::sort(found.begin(), found.end());
        return found;
    }

   private:
    static constexpr int64_t kPiece = Piece::kMost;

    void add(const Scored& one) {
        if (static_cast<int64_t>(answer_.places.size()) == k_) return;
        answer_.places.push_back(one.candidate);
        answer_.scores.push_back(std::ldexp(one.score, query_.exponent));
    }

    // Look at the codes of every document, and at once at some vectors of those that seem to be among the best, so that
    // it is soon known what a document must reach. The vectors are fetched while the next codes are multiplied.
    void screen() {
        Pieces pieces(request_.count, kPiece);
        on_threads(threads_, [&] {
            const Refine refine(path_, documents_, query_, request_, screen_);
            Piece one(query_.weight.size()), other(query_.weight.size());
            Piece *now = &one, *before = &other;
            Best middles(k_);
            int64_t computed = 0, possible = 0;
            for (int64_t from, to; pieces.take(from, to);) {
                while (from < to) {
                    from = fill(*now, from, to, possible);
                    screen_.look(*now, bar_.get(), computed);
                    keep(refine, *before);
                    for (int n = 0; n < now->count; ++n) {
                        const float middle = (now->score[n].low + now->score[n].high) / 2;
                        now->likely[n] = middle > middles.bar();
                        middles.add(middle);
                        if (now->likely[n] && documents_.vectors) fetch_vectors(now->document[n], now->found_in(n).token);
                    }
                    std::swap(now, before);
                }
            }
            keep(refine, *before);
            const std::lock_guard<std::mutex> turn(turns_);
            answer_.computed += computed;
            answer_.possible += possible;
        });
    }

    // Keep documents that may be among the best, and look closer at those that seem to be.
    void keep(const Refine& refine, const Piece& piece) {
        for (int n = 0; n < piece.count; ++n) {
            const Screened found = piece.found_in(n);
            Promising one{piece.candidate[n], piece.score[n], 0, piece.likely[n]};
            if (one.score.high < bar_.get()) continue;
            if (!documents_.vectors) {
                const std::lock_guard<std::mutex> turn(turns_);
                promising_.push_back(one);
                lows_.add(one.score.low);
                bar_.raise(lows_.bar());
                continue;
            }
            if (one.narrowed && !narrow(refine, one, found)) continue;
            const std::lock_guard<std::mutex> turn(turns_);
            one.at = token_.size();
            promising_.push_back(one);
            most_.insert(most_.end(), found.most, found.most + query_.tokens);
            otherwise_.insert(otherwise_.end(), found.otherwise, found.otherwise + query_.tokens);
            token_.insert(token_.end(), found.token, found.token + query_.tokens);
        }
    }

    // Narrow the bounds of a document; false if it cannot be among the best.
    bool narrow(const Refine& refine, Promising& one, const Screened& found) {
        const bool possible = refine.narrow(request_.candidates[one.candidate], found, bar_.get(), one.score);
        const std::lock_guard<std::mutex> turn(turns_);
        ++answer_.refined;
        if (!possible) return false;
        lows_.add(one.score.low);
        bar_.raise(lows_.bar());
        return true;
    }

    // Only those of the heaviest tokens: most documents are dropped before others are wanted.
    void fetch_vectors(int64_t document, const int32_t* token) const {
        for (int at = 0; at < std::min(query_.tokens, kGroup); ++at) {
            const uint16_t* vector = documents_.vector(documents_.offsets[document] + token[at]);
            for (int k = 0; k < documents_.dimensions; k += 32) __builtin_prefetch(vector + k);
        }
    }

    // Put some candidates into a piece, as many as stay in the cache while they are screened, and say where to go on.
    int64_t fill(Piece& piece, int64_t from, int64_t to, int64_t& possible) const {
        constexpr int64_t kBytes = int64_t{1} << 18;
        int64_t bytes = 0;
        piece.count = 0;
        for (; from < to && bytes < kBytes; ++from) {
            const int64_t document = request_.candidates[from], length = documents_.length(document);
            if (length == 0) continue;
            piece.document[piece.count] = document;
            piece.candidate[piece.count] = from;
            piece.slot[piece.count] = piece.count;
            ++piece.count;
            bytes += length * documents_.stride;
            possible += length * request_.tokens;
        }
        piece.next = from < request_.count ? request_.candidates[from] : -1;
        return from;
    }

    // Narrow the bounds of the others that may be among the best.
    void narrow_rest() {
        for_promising([&](Refine& refine, Promising& one, const Screened& found) {
            if (!one.narrowed && !narrow(refine, one, found)) one.score.high = -kInfinity;
        });
    }

    // Score exactly what is left.
    void settle() {
        Best best(k_);
        for_promising([&](Refine& refine, const Promising& one, const Screened& found) {
            const float score = refine.exactly(request_.candidates[one.candidate], found);
            const std::lock_guard<std::mutex> turn(turns_);
            scored_.push_back({one.candidate, score});
            best.add(score);
            bar_.raise(best.bar());
        });
    }

    // Call use(refine, one, found) for documents, most promising first, until nothing behind can be among the best.
    template <typename Use>
    void for_promising(Use use) {
        const auto hopeless = [&](const Promising& one) { return one.score.high < bar_.get(); };
        promising_.erase(std::remove_if(promising_.begin(), promising_.end(), hopeless), promising_.end());
        std::sort(promising_.begin(), promising_.end(), [](const Promising& a, const Promising& b) {
            return a.score.high != b.score.high ? a.score.high > b.score.high : a.candidate < b.candidate;
        });
        constexpr int64_t kWorthAThread = 16;
        const auto count = static_cast<int64_t>(promising_.size());
        Pieces pieces(count, 1);
        on_threads(useful_threads(count, kWorthAThread, threads_), [&] {
            Refine refine(path_, documents_, query_, request_, screen_);
            for (int64_t n, end; pieces.take(n, end) && promising_[n].score.high >= bar_.get();) {
                Promising& one = promising_[n];
                use(refine, one, Screened{most_.data() + one.at, otherwise_.data() + one.at, token_.data() + one.at});
            }
        });
    }

    const Path& path_;
    const Documents& documents_;
    const Request& request_;
    const int64_t k_;
    const int threads_;
    const WeightedQuery query_;
    const Screen screen_;
    std::mutex turns_;  // to write what follows
    Best lows_;         // what the best k score at least
    Bar bar_;           // what a document must reach to be among them
    std::vector<Promising> promising_;
    std::vector<float> most_, otherwise_;  // what was found in these
    std::vector<int32_t> token_;
    std::vector<Scored> scored_;
    Answer answer_;
};

}  // namespace

Answer rank(const Path& path, const Documents& documents, const Request& request, int64_t k, int threads) {
    if (k == 0) return {};
    return Ranking(path, documents, request, k, threads).answer();
}

std::vector<int64_t> promising(const Path& path, const Documents& documents, const Request& request, int64_t k,
                               int threads) {
    if (k == 0) return {};
    return Ranking(path, documents, request, k, threads).promising();
}

}  // namespace chamfer
