// The exact top k of some candidates: screened by their 8-bit codes, scored from their 16-bit vectors.
#pragma once

#include <vector>

#include "documents.hpp"

namespace chamfer {

struct Answer {
    std::vector<int64_t> places;  // indices of candidates, best first; ties broken by index
    std::vector<float> scores;    // higher is closer: minus the weighted mean distance or the weighted mean product,
                                  // plus the offset of the candidate
    int64_t refined = 0;          // documents whose 16-bit vectors were read
    int64_t computed = 0;         // token products computed while screening
    int64_t possible = 0;         // the same if nothing were dropped
};

Answer rank(const Path& path, const Documents& documents, const Request& request, int64_t k, int threads);

}  // namespace chamfer
