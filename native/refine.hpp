// Scores of single documents from their 16-bit vectors.
#pragma once

#include <limits>

#include "documents.hpp"
#include "query.hpp"
#include "scratch.hpp"
#include "screen.hpp"

namespace chamfer {

// What screening found out about one document, for each query token.
struct Screened {
    const float* most;
    const float* otherwise;
    const int32_t* token;
};

class Refine {
   public:
    Refine(const Path& path, const Documents& documents, const WeightedQuery& query, const Request& request,
           const Screen& screen, Scratch& scratch)
        : path_(path), documents_(documents), query_(query), request_(request), screen_(screen), scratch_(scratch) {
        scratch.closest.resize(query.weight.size());
        scratch.group.resize(path.group_bytes(documents.dimensions) + 64);
    }

    // Narrow the bounds of a score by the vectors that seem to be the closest; false as soon as it cannot reach the bar.
    bool narrow(int64_t document, const Screened& found, float bar, Bounds& score) const {
        double high = score.high, low = 0;
        for (int at = 0; at < query_.tokens; ++at) {
            const Bounds here = added(at, document, found.token[at]);
            const double most = std::max(here.high, added_otherwise(at, document, found));
            high += (query_.weight[at] * most - found.most[at]) * screen_.mean();
            if (high < bar) return false;
            low += static_cast<double>(query_.weight[at]) * here.low;
        }
        score = {static_cast<float>(high), static_cast<float>(low * screen_.mean())};
        return true;
    }

    // The score as 64-bit arithmetic gives it.
    float exactly(int64_t document, const Screened& found) {
        const int tokens = query_.tokens;
        scratch_.unsettled.clear();
        for (int at = 0; at < tokens; ++at) {
            scratch_.closest[at] = distance(at, document, found.token[at]);
            if (added_otherwise(at, document, found) >= -scratch_.closest[at]) scratch_.unsettled.push_back(at);
        }
        for (size_t from = 0; from < scratch_.unsettled.size(); from += kGroup)
            settle(document, found, scratch_.unsettled.data() + from,
                   static_cast<int>(std::min<size_t>(kGroup, scratch_.unsettled.size() - from)));
        double sum = 0;
        for (int at = 0; at < tokens; ++at) sum += static_cast<double>(query_.weight[at]) * scratch_.closest[at];
        return static_cast<float>(-sum / request_.tokens);
    }

   private:
    const float* token(int at) const {
        return request_.query + static_cast<size_t>(query_.order[at]) * documents_.dimensions;
    }

    const uint16_t* vector(int64_t document, int64_t place) const {
        return documents_.vector(documents_.offsets[document] + place);
    }

    // What a query token adds, but for its weight, if this document token is the closest.
    Bounds added(int at, int64_t document, int64_t place) const {
        if (request_.l2) {
            const float apart = std::sqrt(path_.square(token(at), vector(document, place), documents_.dimensions));
            return {-apart * (1 - query_.rounding), -apart * (1 + query_.rounding)};
        }
        const float product = path_.dot(token(at), vector(document, place), documents_.dimensions);
        const float off = query_.rounding * query_.norm[at] * documents_.longest[document];
        return {product + off, product - off};
    }

    // The most that it adds, but for its weight, if another document token is the closest.
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

    // Look at every token of the document for up to kGroup query tokens that may be closer to another one.
    void settle(int64_t document, const Screened& screened, const int* unsettled, int count) {
        const Codes codes = documents_.codes_of(document);
        if (scratch_.found.size() < static_cast<size_t>(codes.tokens) * kGroup)
            scratch_.found.resize(static_cast<size_t>(codes.tokens) * kGroup);
        const int8_t* rows[kGroup];
        float bars[kGroup];
        std::fill_n(bars, kGroup, std::numeric_limits<float>::infinity());
        for (int i = 0; i < count; ++i) {
            rows[i] = query_.rows[unsettled[i]];
            bars[i] = worth_a_look(unsettled[i], document);
        }
        void* group = scratch_.group.data() + (64 - reinterpret_cast<uintptr_t>(scratch_.group.data()) % 64) % 64;
        path_.lay_out(rows, count, documents_.dimensions, group);
        const int64_t many = path_.above(group, documents_.dimensions, codes, bars, scratch_.found.data());
        for (int64_t n = 0; n < many; ++n) {
            const int at = unsettled[scratch_.found[n] % kGroup];
            const int64_t place = scratch_.found[n] / kGroup;
            if (place != screened.token[at])
                scratch_.closest[at] = std::min(scratch_.closest[at], distance(at, document, place));
        }
    }

    // From which product of codes on a document token may be closer to a query token than the closest known.
    float worth_a_look(int at, int64_t document) const {
        const double known = scratch_.closest[at], norm = query_.norm[at];
        const double shortest = documents_.shortest[document], longest = documents_.longest[document];
        double product = -known;
        if (request_.l2) product = (norm * norm + shortest * shortest - known * known) / 2;
        const double slack = screen_.off(at, document) + query_.rounding * (norm + longest) * (norm + longest);
        if (query_.scale[at] == 0) return -std::numeric_limits<float>::infinity();
        return std::nextafter(static_cast<float>((product - slack) / query_.scale[at]),
                              -std::numeric_limits<float>::infinity());
    }

    const Path& path_;
    const Documents& documents_;
    const WeightedQuery& query_;
    const Request& request_;
    const Screen& screen_;
    Scratch& scratch_;
};

}  // namespace chamfer
