// Screening: upper and lower bounds on the score of a document, from its codes.
#pragma once

#include "documents.hpp"
#include "query.hpp"

namespace chamfer {

// Absolute error of 32-bit numbers near the end of their range.
constexpr double kTiny = 1e-18;

// Added to a product of codes, which is below 2^30, it does not overflow. The error of codes that are not damaged is
// never as large.
constexpr float kMostLift = 1e9f;

// The result of screening one document, per query token.
struct Screened {
    const float* most;       // the most that it adds to the score
    const float* otherwise;  // upper bound on its product with any other document token than `token`
    const int32_t* token;    // the document token that appears to be closest
};

// Documents screened together, so that one is computed while another is loaded from memory.
struct Piece {
    static constexpr int kMost = 16;

    explicit Piece(size_t lanes) : lanes(lanes), most(kMost * lanes), otherwise(kMost * lanes), token(kMost * lanes) {}

    Screened found_in(int n) const {
        const size_t at = slot[n] * lanes;
        return {most.data() + at, otherwise.data() + at, token.data() + at};
    }

    int count = 0;
    int64_t next = -1;  // the document after the last one, or -1
    int64_t document[kMost];
    int64_t candidate[kMost];
    Bounds score[kMost];
    bool likely[kMost];  // to be in the top k
    size_t slot[kMost];  // index of its results in the following
    size_t lanes;
    std::vector<float> most, otherwise;
    std::vector<int32_t> token;
    // Per portion of the query.
    int32_t lift[kMost][2 * kGroup];  // added to products, so that they bound those of the vectors from above
    Found found[kMost];
};

class Screen {
   public:
    Screen(const Path& path, const Documents& documents, const WeightedQuery& query, const Request& request)
        : path_(path), documents_(documents), query_(query), l2_(request.l2), mean_(1.0f / request.tokens) {
        // The most that tokens from a group on add to the score: 0 in the l2 form, at distance 0; otherwise the product
        // of the norms, here without that of the document token.
        rest_.assign(query.groups + 1, 0.0);
        for (int g = query.groups - 1; g >= 0; --g) {
            rest_[g] = rest_[g + 1];
            for (int i = g * kGroup; i < (g + 1) * kGroup; ++i) {
                const double reach = static_cast<double>(query.weight[i]) * query.norm[i];
                reach_ += reach;
                weight_ += query.weight[i];
                if (!l2_) rest_[g] += reach;
            }
        }
    }

    float mean() const { return mean_; }

    // Error bound on a product of codes.
    float off(int at, int64_t document) const {
        return query_.error[at] * documents_.longest[document] + query_.code_norm[at] * documents_.worst[document];
    }

    // What is known of a score before the query is compared with the document: the offset, and the error bound on
    // 32-bit arithmetic.
    Bounds start(int64_t document, double offset) const {
        const double longest = documents_.longest[document];
        const double largest = l2_ ? reach_ + weight_ * longest : reach_ * longest;
        const double slack = query_.rounding * (largest * mean_ + std::fabs(offset)) + kTiny * weight_ * mean_;
        return {static_cast<float>(offset + slack), static_cast<float>(offset - slack)};
    }

    // The most that query tokens from a group on add to a score.
    float rest(int group, int64_t document) const {
        return static_cast<float>(rest_[group] * documents_.longest[document] * mean_);
    }

    // Bound the scores, which start at `start`, and drop documents as soon as they cannot reach the bar.
    void bound(Piece& piece, float bar, int64_t& computed) const {
        for (const Portion& portion : query_.portions) {
            const int tokens = std::min(portion.groups * kGroup, query_.tokens - portion.group * kGroup);
            for (int n = 0; n < piece.count; ++n) {
                const int64_t next = n + 1 < piece.count ? piece.document[n + 1] : piece.next;
                if (next >= 0) fetch_codes(next);
                const Codes codes = documents_.codes_of(piece.document[n]);
                const float error = documents_.errors[piece.document[n]];
                const float* loss = &query_.loss[portion.group * kGroup];
                for (int i = 0; i < portion.groups * kGroup; ++i)  // NaN becomes kMostLift
                    piece.lift[n][i] = static_cast<int32_t>(std::max(std::min(kMostLift, loss[i] * error), 0.0f)) + 1;
                path_.maxima(query_.group(portion.group), tokens, documents_.dimensions, codes, piece.lift[n],
                             piece.found[n]);
                if (portion.group == 0) check_scales(piece.document[n], codes);  // they are in the cache now
                computed += codes.tokens * tokens;
            }
            int kept = 0;
            for (int n = 0; n < piece.count; ++n) {
                if (!add(portion, tokens, piece, n, bar)) continue;
                piece.document[kept] = piece.document[n];
                piece.candidate[kept] = piece.candidate[n];
                piece.slot[kept] = piece.slot[n];
                piece.score[kept] = piece.score[n];
                ++kept;
            }
            piece.count = kept;
        }
    }

   private:
    // A scale is the largest number of a token divided by 127, which is between its norm and that by the root of the
    // number of dimensions.
    void check_scales(int64_t document, const Codes& codes) const {
        const float least = documents_.shortest[document] * least_scale_ * (1 - kSlack);
        const float most = documents_.longest[document] * kMostScale * (1 + kSlack);
        check_sound(path_.scales_within(codes.scales, codes.tokens, least, most));
    }

    // Prefetch the first codes of a document; the rest is fetched while these are multiplied.
    void fetch_codes(int64_t document) const {
        const Codes codes = documents_.codes_of(document);
        const int64_t bytes = std::min<int64_t>(codes.tokens, 16) * codes.stride;
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(codes.codes + at);
        for (int64_t at = 0; at < codes.tokens; at += 16) __builtin_prefetch(codes.scales + at);
    }

    // Add the result of one portion of the query to the bounds of a document; false if it cannot reach the bar.
    bool add(const Portion& portion, int tokens, Piece& piece, int n, float bar) const {
        const int from = portion.group * kGroup, lanes = portion.groups * kGroup;
        const int64_t document = piece.document[n];
        const float longest = documents_.longest[document];
        Found& found = piece.found[n];
        float raised[2 * kGroup] = {};  // only for the lower bound, which is not used before add_rests fills it in
        Limits limits{&query_.scale[from],
                      &query_.weight[from],
                      &query_.square[from],
                      &query_.error[from],
                      &query_.error[from],
                      raised,
                      longest,
                      documents_.shortest[document],
                      l2_};
        const size_t at = piece.slot[n] * piece.lanes + from;
        const auto bounds = [&] {
            return path_.bounds(found, lanes, limits, &piece.most[at], &piece.otherwise[at]);
        };
        Bounds& score = piece.score[n];
        const float others = score.high + rest(portion.group + portion.groups, document);
        Bounds here = bounds();
        if (others + here.high * mean_ < bar) return false;
        // A closer look while the codes are in the cache: add the rest of the query to the best products.
        add_rests(from, tokens, document, piece.lift[n], found, raised);
        limits.best_error = &query_.rest_error[from];
        here = bounds();
        if (others + here.high * mean_ < bar) return false;
        score.high += here.high * mean_;
        score.low += here.low * mean_;
        std::copy_n(found.token, lanes, &piece.token[at]);
        return true;
    }

    // Add the rest of the query, which its codes lost, to the best products, and find how far they may exceed those of
    // the vectors: the error of the document's codes was added, and they can be off by as much again.
    void add_rests(int from, int tokens, int64_t document, const int32_t* lift, Found& found, float* raised) const {
        const Codes codes = documents_.codes_of(document);
        int32_t sums[2 * kGroup];
        path_.code_dots(query_.rests.data() + from, tokens, codes, found.token, sums);
        for (int i = 0; i < tokens; ++i) {
            const float scale = codes.scales[found.token[i]];
            found.best[i] += static_cast<float>(sums[i]) * scale * query_.rest_share[from + i];
            raised[i] = 2 * static_cast<float>(lift[i]) * query_.scale[from + i] * scale;
        }
    }

    const Path& path_;
    const Documents& documents_;
    const WeightedQuery& query_;
    static constexpr float kMostScale = 1.0f / 127, kSlack = 1e-5f;
    const float least_scale_ = kMostScale / std::sqrt(static_cast<float>(documents_.dimensions));
    bool l2_;
    float mean_;
    double weight_ = 0, reach_ = 0;
    std::vector<double> rest_;
};

}  // namespace chamfer
