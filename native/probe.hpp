// Which documents are in the lists of the centroids that query tokens are close to.
#pragma once

#include <cstdint>
#include <vector>

namespace chamfer {

// Query token i looks into lists[ends[i - 1]] ... lists[ends[i]], closest first. A document in list c, which owns
// places[starts[c]] ... places[starts[c + 1]], gains for each token what its closest list offers.
struct Probes {
    const int64_t* starts;
    const uint32_t* places;
    int64_t documents;
    const int64_t* ends;
    int64_t tokens;
    const int64_t* lists;
    const float* gains;
    const uint8_t* allowed;  // (documents), or null for all of them
};

struct Probed {
    std::vector<int64_t> places;  // largest gain first; of equal ones the earlier document
    std::vector<float> gains;
};

Probed probe(const Probes& probes, int64_t depth);

}  // namespace chamfer
