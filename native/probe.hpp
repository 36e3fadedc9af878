// Chooses and probes inverted lists: documents with tokens at the centroids that query tokens are close to.
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

// How the lists to probe are chosen.
struct Choosing {
    const float* products;  // (tokens, count) of each query token and each list's centroid
    int64_t tokens, count;
    const int64_t* many;  // (tokens) lists to probe, those with the largest products
    const int64_t* same;  // (tokens) one more list to probe as if its product were `bar`, unless others are larger; or -1
    float bar;
    const float* weights;  // (tokens)
    bool l2;
};

// The lists of each token, closest first; see Probes.
struct Chosen {
    std::vector<int64_t> ends, lists;
    std::vector<float> gains;  // weighted, and relative to the first list that is not probed
};

Chosen choose(const Choosing& choosing);

}  // namespace chamfer
