// Refining: the scores of single documents from their 16-bit vectors.
#pragma once

#include <limits>
#include <utility>

#include "coded_query.hpp"
#include "documents.hpp"
#include "screen.hpp"

namespace chamfer {

class Refine {
   public:
    Refine(const Path& path, const Documents& documents, const CodedQuery& query, const Request& request,
           const Screen& screen)
        : path_(path), documents_(documents), query_(query), request_(request), screen_(screen),
          origin_(documents.dimensions), closest_(query.tokens), group_(path.group_bytes(documents.dimensions)) {}

    // Narrow the bounds of a score with the vectors that appear closest; false as soon as it cannot reach the bar.
    bool narrow(int64_t document, double offset, const Screened& found, float bar, Bounds& score) const {
        double high = score.high, low = 0;
        constexpr int kAtOnce = 8;  // so that vectors are fetched together, but few of them in vain
        for (int from = 0; from < query_.tokens; from += kAtOnce) {
            const int count = std::min(kAtOnce, query_.tokens - from);
            const float* queries[kAtOnce];
            const uint16_t* vectors[kAtOnce];
            float closest[kAtOnce];
            for (int i = 0; i < count; ++i) {
                queries[i] = token(from + i);
                vectors[i] = vector(document, found.token[from + i]);
            }
            (request_.l2 ? path_.squares : path_.dots)(queries, vectors, count, documents_.dimensions, closest);
            for (int i = 0; i < count; ++i) {
                check_number(closest[i]);
                const Bounds here = added(from + i, document, closest[i]);
                const double most = std::max(here.high, added_otherwise(from + i, document, found));
                high += (query_.weight[from + i] * most - found.most[from + i]) * screen_.mean();
                low += static_cast<double>(query_.weight[from + i]) * here.low;
            }
            check_norms(document, vectors, count);
            check_sound(!(high < score.low));  // which the codes promise
            if (high < bar) return false;
        }
        const double least = offset - query_.rounding * std::fabs(offset);
        low = (low - kTiny * query_.total) * screen_.mean() + least;
        score = {static_cast<float>(high), static_cast<float>(low)};
        return true;
    }

    // The exact score, in 64-bit arithmetic.
    float exactly(int64_t document, double offset, const Screened& found) {
        int unsettled[kGroup], count = 0;
        for (int at = 0; at < query_.tokens; ++at) {
            closest_[at] = distance(at, document, found.token[at]);
            if (added_otherwise(at, document, found) < -closest_[at]) continue;
            unsettled[count++] = at;
            if (count == kGroup) settle(document, found, unsettled, std::exchange(count, 0));
        }
        if (count > 0) settle(document, found, unsettled, count);
        double sum = 0;
        for (int at = 0; at < query_.tokens; ++at) sum += static_cast<double>(query_.weight[at]) * closest_[at];
        return static_cast<float>(offset - sum / request_.tokens);
    }

   private:
    const float* token(int at) const {
        return request_.query + static_cast<size_t>(query_.order[at]) * documents_.dimensions;
    }

    const uint16_t* vector(int64_t document, int64_t place) const {
        return documents_.vector(documents_.offsets[document] + place);
    }

    // Refuse vectors that are longer or shorter than any of their document; the rest of a search would trust them.
    template <int Count>
    void check_norms(int64_t document, const uint16_t* const (&vectors)[Count], int count) const {
        const float* origins[Count];
        float squares[Count];
        std::fill_n(origins, count, origin_.data());
        path_.squares(origins, vectors, count, documents_.dimensions, squares);
        const float least = documents_.shortest[document], most = documents_.longest[document];
        for (int i = 0; i < count; ++i)
            check_sound(squares[i] >= least * least * (1 - query_.rounding) &&
                        squares[i] <= most * most * (1 + query_.rounding));
    }

    // What a query token adds, before weighting, for this squared distance or product to the closest token.
    Bounds added(int at, int64_t document, float closest) const {
        if (request_.l2) {
            const float apart = std::sqrt(closest);
            return {-apart * (1 - query_.rounding), -apart * (1 + query_.rounding)};
        }
        const float off = query_.rounding * query_.norm[at] * documents_.longest[document];
        return {closest + off, closest - off};
    }

    // The most that it adds, before weighting, if another document token is the closest.
    float added_otherwise(int at, int64_t document, const Screened& found) const {
        if (!request_.l2) return found.otherwise[at];
        const float shortest = documents_.shortest[document];
        const float square = (query_.square[at] + shortest * shortest) * (1 - query_.rounding);
        return -std::sqrt(std::max(square - 2 * found.otherwise[at], 0.0f)) * (1 - query_.rounding);
    }

    double distance(int at, int64_t document, int64_t place) const {
        const uint16_t* to = vector(document, place);
        return request_.l2 ? std::sqrt(path_.exact_square(token(at), to, documents_.dimensions))
                           : -path_.exact_dot(token(at), to, documents_.dimensions);
    }

    // Find the closest document token for up to kGroup query tokens whose closest token is not certain yet.
    void settle(int64_t document, const Screened& screened, const int* unsettled, int count) {
        const Codes codes = documents_.codes_of(document);
        pairs_.resize(std::max(pairs_.size(), static_cast<size_t>(codes.tokens) * kGroup));
        const int8_t* rows[kGroup];
        float bars[kGroup];
        std::fill_n(bars, kGroup, std::numeric_limits<float>::infinity());
        for (int i = 0; i < count; ++i) {
            rows[i] = query_.rows[unsettled[i]];
            bars[i] = least_product(unsettled[i], document);
        }
        path_.lay_out(rows, count, documents_.dimensions, group_.at);
        const int64_t many = path_.above(group_.at, count, documents_.dimensions, codes, bars, pairs_.data());
        for (int64_t n = 0; n < many; ++n) {
            const int at = unsettled[pairs_[n] % kGroup];
            const int64_t place = pairs_[n] / kGroup;
            if (place == screened.token[at]) continue;
            check_norms<1>(document, {vector(document, place)}, 1);
            closest_[at] = std::min(closest_[at], distance(at, document, place));
        }
    }

    // Error bound on a product of codes.
    float off(int at, int64_t document) const {
        return query_.error[at] * documents_.longest[document] + query_.code_norm[at] * documents_.worst[document];
    }

    // The smallest product of codes at which a document token may be closer than the closest one known.
    float least_product(int at, int64_t document) const {
        const double known = closest_[at], norm = query_.norm[at];
        const double shortest = documents_.shortest[document], longest = documents_.longest[document];
        double product = -known;
        if (request_.l2) product = (norm * norm + shortest * shortest - known * known) / 2;
        const double slack = off(at, document) + query_.rounding * (norm + longest) * (norm + longest);
        if (query_.scale[at] == 0) return -std::numeric_limits<float>::infinity();
        return std::nextafter(static_cast<float>((product - slack) / query_.scale[at]),
                              -std::numeric_limits<float>::infinity());
    }

    const Path& path_;
    const Documents& documents_;
    const CodedQuery& query_;
    const Request& request_;
    const Screen& screen_;
    const std::vector<float> origin_;  // zeros: the distance from it is a norm
    std::vector<double> closest_;  // distance of each query token
    std::vector<int64_t> pairs_;   // of a document token and a query token
    Aligned group_;
};

}  // namespace chamfer
