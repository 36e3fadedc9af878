#include "probe.hpp"

#include <algorithm>
#include <stdexcept>

#include "read_once.hpp"

namespace chamfer {

Probed probe(const Probes& probes, int64_t depth) {
    // One struct, because documents are accessed at random: one cache miss instead of two.
    struct Gained {
        float gain;
        int32_t token;  // the last query token that added to it
    };
    std::vector<Gained> gained(probes.documents, {0, -1});
    std::vector<uint32_t> found;
    int64_t from = 0;
    for (int64_t i = 0; i < probes.tokens; ++i) {
        for (int64_t n = from; n < probes.ends[i]; ++n) {
            const int64_t first = read_once(probes.starts + probes.lists[n]);
            const int64_t last = read_once(probes.starts + probes.lists[n] + 1);
            if (first < 0 || first > last || last > probes.size)
                throw std::invalid_argument("starts must not decrease or exceed the number of places");
            for (int64_t at = first; at < last; ++at) {
                const uint32_t place = read_once(probes.places + at);
                if (place >= probes.documents || (probes.allowed && !probes.allowed[place])) continue;
                Gained& document = gained[place];
                if (document.token == i) continue;
                if (document.token < 0) found.push_back(place);
                document.token = static_cast<int32_t>(i);
                document.gain += probes.gains[n];
            }
        }
        from = probes.ends[i];
    }
    const auto better = [&](uint32_t a, uint32_t b) {
        return gained[a].gain != gained[b].gain ? gained[a].gain > gained[b].gain : a < b;
    };
    if (static_cast<int64_t>(found.size()) > depth) {
        std::nth_element(found.begin(), found.begin() + depth, found.end(), better);
        found.resize(depth);
    }
    std::sort(found.begin(), found.end(), better);
    Probed best;
    for (const uint32_t place : found) {
        best.places.push_back(place);
        best.gains.push_back(gained[place].gain);
    }
    return best;
}

}  // namespace chamfer
