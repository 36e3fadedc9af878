#include "probe.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "read_once.hpp"

namespace chamfer {

namespace {

// Numbers in an order that includes NaN: as integers, which sort like the numbers.
int32_t in_order(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

// One number to sort by: largest value first, then the lower place.
int64_t sortable(float value, uint32_t place) {
    return static_cast<int64_t>(uint64_t{static_cast<uint32_t>(in_order(value))} << 32 | ~place);
}

uint32_t place_in(int64_t one) { return ~static_cast<uint32_t>(one); }

// The places of the largest numbers, in descending order; ties broken by place.
class Largest {
   public:
    const std::vector<int64_t>& of(const float* values, int64_t count, int64_t wanted) {
        // At least as many blocks as are wanted have a number that is not below the last of their maxima.
        const int64_t blocks = (count + kBlock - 1) / kBlock;
        int32_t least = std::numeric_limits<int32_t>::min();
        if (wanted < blocks) {
            maxima_.resize(blocks);
            for (int64_t b = 0; b < blocks; ++b)
                maxima_[b] = most(values + b * kBlock, std::min<int64_t>(kBlock, count - b * kBlock));
            sorted_ = maxima_;
            std::nth_element(sorted_.begin(), sorted_.begin() + wanted - 1, sorted_.end(), std::greater<>());
            least = sorted_[wanted - 1];
        } else {
            maxima_.assign(blocks, least);
        }
        found_.clear();
        for (int64_t b = 0; b < blocks; ++b) {
            if (maxima_[b] < least) continue;
            for (int64_t n = b * kBlock; n < std::min<int64_t>(count, (b + 1) * kBlock); ++n)
                if (in_order(values[n]) >= least) found_.push_back(sortable(values[n], static_cast<uint32_t>(n)));
        }
        if (static_cast<int64_t>(found_.size()) < wanted)
            throw std::invalid_argument("products must not change while lists are chosen");
        std::sort(found_.begin(), found_.end(), std::greater<>());
        return found_;
    }

   private:
    static constexpr int64_t kBlock = 16;

    static int32_t most(const float* values, int64_t count) {
        int32_t found = in_order(values[0]);
        for (int64_t n = 1; n < count; ++n) found = std::max(found, in_order(values[n]));
        return found;
    }

    std::vector<int32_t> maxima_, sorted_;
    std::vector<int64_t> found_;
};

}  // namespace

Chosen choose(const Choosing& choosing) {
    Chosen chosen;
    Largest largest;
    const auto value = [&](float product) {  // what a product of unit vectors adds to a score
        return choosing.l2 ? -std::sqrt(std::max(2 - 2 * product, 0.0f)) : product;
    };
    for (int64_t i = 0; i < choosing.tokens; ++i) {
        const float* products = choosing.products + i * choosing.count;
        const int64_t many = choosing.many[i], last = std::min(many, choosing.count - 1);
        const std::vector<int64_t>& closest = largest.of(products, choosing.count, last + 1);
        const float least = products[place_in(closest[last])];
        const auto add = [&](int64_t list, float product) {
            chosen.lists.push_back(list);
            chosen.gains.push_back(choosing.weights[i] * (value(product) - value(least)));
        };
        bool waiting = choosing.same[i] >= 0 && least < choosing.bar;
        for (int64_t n = 0; n < many; ++n) {
            const uint32_t list = place_in(closest[n]);
            if (waiting && !(products[list] > choosing.bar)) {
                add(choosing.same[i], choosing.bar);
                waiting = false;
            }
            add(list, products[list]);
        }
        if (waiting) add(choosing.same[i], choosing.bar);
        chosen.ends.push_back(static_cast<int64_t>(chosen.lists.size()));
    }
    return chosen;
}

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
            const auto token = static_cast<int32_t>(i);
            const float kept[2] = {probes.gains[n], 0.0f};
            for (int64_t at = first; at < last; ++at) {
                const uint32_t place = read_once(probes.places + at);
                if (place >= probes.documents || (probes.allowed && !probes.allowed[place])) continue;
                Gained& document = gained[place];
                if (document.token < 0) found.push_back(place);
                // Without a branch, which could not be predicted.
                document.gain += kept[document.token == token];
                document.token = token;
            }
        }
        from = probes.ends[i];
    }
    std::vector<int64_t> order;
    order.reserve(found.size());
    for (const uint32_t place : found) order.push_back(sortable(gained[place].gain, place));
    if (static_cast<int64_t>(order.size()) > depth) {
        std::nth_element(order.begin(), order.begin() + depth, order.end(), std::greater<>());
        order.resize(depth);
    }
    std::sort(order.begin(), order.end(), std::greater<>());
    Probed best;
    for (const int64_t one : order) {
        best.places.push_back(place_in(one));
        best.gains.push_back(gained[place_in(one)].gain);
    }
    return best;
}

}  // namespace chamfer
