// The best k of some candidates: screened in 8 bits, answered exactly from 16.
#pragma once

#include <vector>

#include "documents.hpp"

namespace chamfer {

struct Answer {
    std::vector<int64_t> places;  // among the candidates, best first; of equal scores the earlier candidate
    std::vector<float> scores;    // higher is closer: minus the weighted mean distance, or the weighted mean product
    int64_t refined = 0;          // documents whose 16-bit vectors were looked at
    int64_t computed = 0;         // products of a query token and a document token while screening
    int64_t possible = 0;         // the same had nothing been left out
};

Answer rank(const Path& path, const Documents& documents, const Request& request, int64_t k, int threads);

// Candidates among which the best k are, from codes alone: `documents` needs no vectors.
std::vector<int64_t> promising(const Path& path, const Documents& documents, const Request& request, int64_t k,
                               int threads);

}  // namespace chamfer
