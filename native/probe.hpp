// Probes inverted lists: documents with tokens at the centroids that query tokens are close to.
#pragma once

#include <cstdint>
#include <vector>

namespace chamfer {

// Query token i probes lists[ends[i - 1]] ... lists[ends[i]], closest first; list c holds documents places[starts[c]]
// ... places[starts[c + 1]]. For each query token, a document gains the gain of the first probed list that holds it.
// Other threads may change starts and places meanwhile: what is found may then be wrong, but never out of bounds.
struct Probes {
    const int64_t* starts;
    const uint32_t* places;
    int64_t size;  // of places
    int64_t documents;
    const int64_t* ends;
    int64_t tokens;
    const int64_t* lists;
    const float* gains;
    const uint8_t* allowed;  // (documents), or null for all of them
};

struct Probed {
    std::vector<int64_t> places;  // largest gain first; ties broken by place
    std::vector<float> gains;
};

Probed probe(const Probes& probes, int64_t depth);

}  // namespace chamfer
