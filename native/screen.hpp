// Screening: upper and lower bounds on the score of a document, from its codes.
#pragma once

#include "documents.hpp"
#include "products.hpp"
#include "query.hpp"

namespace chamfer {

// Absolute error of 32-bit numbers near the end of their range.
constexpr double kTiny = 1e-18;

class Screen {
   public:
    Screen(const Path& path, const Documents& documents, const WeightedQuery& query, const Products& products,
           const Request& request)
        : path_(path), documents_(documents), query_(query), products_(products), l2_(request.l2),
          mean_(1.0f / request.tokens) {
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
                products_.find(portion, tokens, piece, n, next);
                computed += documents_.length(piece.document[n]) * tokens;
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
    // Add the result of one portion of the query to the bounds of a document; false if it cannot reach the bar.
    bool add(const Portion& portion, int tokens, Piece& piece, int n, float bar) const {
        const int from = portion.group * kGroup, lanes = portion.groups * kGroup;
        const int64_t document = piece.document[n];
        Found& found = piece.found[n];
        float raised[2 * kGroup] = {};  // only for the lower bound, which is not used before a closer look fills it in
        Limits limits = products_.limits(from, document);
        limits.weight = &query_.weight[from];
        limits.norm = &query_.norm[from];
        limits.square = &query_.square[from];
        limits.raised = raised;
        limits.longest = documents_.longest[document];
        limits.shortest = documents_.shortest[document];
        limits.l2 = l2_;
        const size_t at = piece.slot[n] * piece.lanes + from;
        const auto bounds = [&] {
            return path_.bounds(found, lanes, limits, &piece.most[at], &piece.otherwise[at]);
        };
        Bounds& score = piece.score[n];
        const float others = score.high + rest(portion.group + portion.groups, document);
        Bounds here = bounds();
        if (others + here.high * mean_ < bar) return false;
        products_.look_closer(from, tokens, piece, n, limits, raised);
        here = bounds();
        if (others + here.high * mean_ < bar) return false;
        score.high += here.high * mean_;
        score.low += here.low * mean_;
        std::copy_n(found.token, lanes, &piece.token[at]);
        return true;
    }

    const Path& path_;
    const Documents& documents_;
    const WeightedQuery& query_;
    const Products& products_;
    bool l2_;
    float mean_;
    double weight_ = 0, reach_ = 0;
    std::vector<double> rest_;
};

}  // namespace chamfer
