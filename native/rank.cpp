#include "rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "code_products.hpp"
#include "refine.hpp"
#include "sieve.hpp"

namespace chamfer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A document that may be in the top k, and where the result of screening it is stored.
struct Survivor {
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
          threads_(useful_threads(request.count, Sieve::kPiece, threads)), query_(path, request, documents.dimensions),
          products_(path, documents, query_), screen_(path, documents, query_, products_, request), lows_(k) {}

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

   private:
    void add(const Scored& one) {
        if (static_cast<int64_t>(answer_.places.size()) == k_) return;
        answer_.places.push_back(one.candidate);
        answer_.scores.push_back(std::ldexp(one.score, query_.exponent));
    }

    // Screen the codes of every document, and read some vectors of likely ones at once, so that the bar rises early.
    // The vectors are fetched while the next codes are multiplied.
    void screen() {
        Pieces pieces(request_.count, Sieve::kPiece);
        on_threads(threads_, [&] {
            const Refine refine(path_, documents_, query_, request_, screen_);
            TopK middles(k_);
            Sieve sieve(documents_, request_, query_, screen_, bar_);
            const auto ahead = [&](Piece& piece, int n) {
                const float middle = (piece.score[n].low + piece.score[n].high) / 2;
                piece.likely[n] = middle > middles.bar();
                middles.add(middle);
                if (piece.likely[n]) fetch_vectors(piece.document[n], piece.found_in(n).token);
            };
            sieve.run(pieces, ahead, [&](const Piece& piece) { keep(refine, piece); });
            const std::lock_guard<std::mutex> lock(mutex_);
            answer_.computed += sieve.computed;
            answer_.possible += sieve.possible;
        });
    }

    // Keep documents that may be in the top k, and refine those that are likely to be.
    void keep(const Refine& refine, const Piece& piece) {
        for (int n = 0; n < piece.count; ++n) {
            const Screened found = piece.found_in(n);
            Survivor one{piece.candidate[n], piece.score[n], 0, piece.likely[n]};
            if (one.score.high < bar_.get()) continue;
            check_number(one.score.high);
            if (one.narrowed && !narrow(refine, one, found)) continue;
            const std::lock_guard<std::mutex> lock(mutex_);
            one.at = token_.size();
            survivors_.push_back(one);
            most_.insert(most_.end(), found.most, found.most + query_.tokens);
            otherwise_.insert(otherwise_.end(), found.otherwise, found.otherwise + query_.tokens);
            token_.insert(token_.end(), found.token, found.token + query_.tokens);
        }
    }

    // Narrow the bounds of a document; false if it cannot be in the top k.
    bool narrow(const Refine& refine, Survivor& one, const Screened& found) {
        const int64_t document = request_.candidates[one.candidate];
        const bool possible = refine.narrow(document, query_.offset(one.candidate), found, bar_.get(), one.score);
        const std::lock_guard<std::mutex> lock(mutex_);
        ++answer_.refined;
        if (!possible) return false;
        check_number(one.score.high);
        lows_.add(one.score.low);
        bar_.raise(lows_.bar());
        return true;
    }

    // Only those for the heaviest query tokens: most documents are dropped before the others are needed.
    void fetch_vectors(int64_t document, const int32_t* token) const {
        for (int at = 0; at < std::min(query_.tokens, kGroup); ++at) {
            const uint16_t* vector = documents_.vector(documents_.offsets[document] + token[at]);
            for (int k = 0; k < documents_.dimensions; k += 32) __builtin_prefetch(vector + k);
        }
    }

    // Narrow the bounds of the remaining survivors.
    void narrow_rest() {
        for_survivors([&](Refine& refine, Survivor& one, const Screened& found) {
            if (!one.narrowed && !narrow(refine, one, found)) one.score.high = -kInfinity;
        });
    }

    // Score the remaining survivors exactly.
    void settle() {
        TopK best(k_);
        for_survivors([&](Refine& refine, const Survivor& one, const Screened& found) {
            const int64_t document = request_.candidates[one.candidate];
            const float score = refine.exactly(document, query_.offset(one.candidate), found);
            check_number(score);
            const std::lock_guard<std::mutex> lock(mutex_);
            scored_.push_back({one.candidate, score});
            best.add(score);
            bar_.raise(best.bar());
        });
    }

    // Call use(refine, one, found) for survivors, highest bound first, until none of the rest can be in the top k.
    template <typename Use>
    void for_survivors(Use use) {
        const auto hopeless = [&](const Survivor& one) { return one.score.high < bar_.get(); };
        survivors_.erase(std::remove_if(survivors_.begin(), survivors_.end(), hopeless), survivors_.end());
        std::sort(survivors_.begin(), survivors_.end(), [](const Survivor& a, const Survivor& b) {
            return a.score.high != b.score.high ? a.score.high > b.score.high : a.candidate < b.candidate;
        });
        constexpr int64_t kWorthAThread = 16;
        const auto count = static_cast<int64_t>(survivors_.size());
        Pieces pieces(count, 1);
        on_threads(useful_threads(count, kWorthAThread, threads_), [&] {
            Refine refine(path_, documents_, query_, request_, screen_);
            for (int64_t n, end; pieces.take(n, end) && survivors_[n].score.high >= bar_.get();) {
                Survivor& one = survivors_[n];
                use(refine, one, Screened{most_.data() + one.at, otherwise_.data() + one.at, token_.data() + one.at});
            }
        });
    }

    const Path& path_;
    const Documents& documents_;
    const Request& request_;
    const int64_t k_;
    const int threads_;
    const CodedQuery query_;
    const CodeProducts products_;
    const Screen screen_;
    std::mutex mutex_;  // guards the following
    TopK lows_;         // lower bounds on the top k scores
    Bar bar_;           // the score a document must reach
    std::vector<Survivor> survivors_;
    std::vector<float> most_, otherwise_;  // results of screening the survivors
    std::vector<int32_t> token_;
    std::vector<Scored> scored_;
    Answer answer_;
};

}  // namespace

Answer rank(const Path& path, const Documents& documents, const Request& request, int64_t k, int threads) {
    if (k == 0) return {};
    return Ranking(path, documents, request, k, threads).answer();
}

}  // namespace chamfer
