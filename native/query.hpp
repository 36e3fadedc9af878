// A query prepared for screening: its tokens with weight, heaviest first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "documents.hpp"

namespace chamfer {

// Two groups of query tokens are screened at once, so that documents are read once. A group is screened by itself if at
// most kFew tokens follow it, which take half the time, or if these carry at most the share kLight of the weight:
// many documents can then be dropped before reaching them.
constexpr int kFew = 8;
constexpr double kLight = 0.3;

// With offsets, weights are scaled to no less than 2^this, at which the largest offset does not overflow 32 bits.
constexpr int kLeastExponent = -80;

// Groups screened at once.
struct Portion {
    int group, groups;
};

struct Aligned {
    explicit Aligned(size_t bytes) : at(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {
        if (!at) throw std::bad_alloc();
    }
    ~Aligned() { std::free(at); }
    Aligned(const Aligned&) = delete;
    void* at;
};

// Codes of query tokens as a path takes them, in groups.
class LaidOut {
   public:
    LaidOut(const Path& path, int groups, int dimensions)
        : bytes_(path.group_bytes(dimensions)), memory_(bytes_ * std::max(groups, 1)) {}

    void lay_out(const Path& path, const std::vector<const int8_t*>& rows, int dimensions) {
        const auto tokens = static_cast<int>(rows.size());
        for (int g = 0; g * kGroup < tokens; ++g)
            path.lay_out(rows.data() + g * kGroup, std::min(kGroup, tokens - g * kGroup), dimensions, at(g));
    }

    void* at(int group) const { return static_cast<char*>(memory_.at) + group * bytes_; }

   private:
    size_t bytes_;
    Aligned memory_;
};

class WeightedQuery {
   public:
    WeightedQuery(const Path& path, const Request& request, int dimensions)
        : rounding(std::ldexp(static_cast<float>(dimensions / 8 + request.tokens / 8 + 16), -23)),
          dimensions_(dimensions), offsets_(request.offsets) {
        for (int i = 0; i < request.tokens; ++i)
            if (request.weights[i] > 0) order.push_back(i);
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return request.weights[a] > request.weights[b]; });
        tokens = static_cast<int>(order.size());
        if (tokens > 0) std::frexp(request.weights[order[0]], &exponent);
        if (offsets_) exponent = std::max(exponent, kLeastExponent);
        groups = (tokens + kGroup - 1) / kGroup;
        for (auto* numbers : {&weight, &norm, &square}) numbers->assign(static_cast<size_t>(groups) * kGroup, 0.0f);
        for (int at = 0; at < tokens; ++at) {
            weight[at] = std::ldexp(request.weights[order[at]], -exponent);
            total += weight[at];
            norm[at] = static_cast<float>(std::sqrt(path.square_sum(token_of(request, at), dimensions)));
            square[at] = norm[at] * norm[at];
        }
        choose_portions();
    }

    const float* token_of(const Request& request, int at) const {
        return request.query + static_cast<size_t>(order[at]) * dimensions_;
    }

    int dimensions() const { return dimensions_; }

    // What is added to the score of a candidate, scaled like the weights, which 64 bits do without rounding.
    double offset(int64_t candidate) const { return offsets_ ? std::ldexp(double{offsets_[candidate]}, -exponent) : 0; }

    int tokens = 0;  // number of tokens with weight
    int groups = 0;
    std::vector<Portion> portions;
    std::vector<int> order;  // index in the request
    int exponent = 0;  // weights and offsets are divided by 2 to this power while ranking: the heaviest is about 1
    double total = 0;  // sum of all weights
    std::vector<float> weight, norm, square;  // per token, padded with zeros to whole groups
    float rounding;                           // error of 32-bit arithmetic, relative to the largest possible result

   private:
    void choose_portions() {
        std::vector<double> from(groups + 1, 0.0);  // total weight from each group on
        for (int g = groups - 1; g >= 0; --g)
            from[g] = std::accumulate(&weight[g * kGroup], &weight[g * kGroup] + kGroup, from[g + 1]);
        for (int g = 0; g < groups; g += portions.back().groups) {
            const bool by_itself = tokens - (g + 1) * kGroup <= kFew || from[g + 1] <= kLight * from[0];
            portions.push_back({g, by_itself ? 1 : 2});
        }
    }

    int dimensions_;
    const float* offsets_;
};

}  // namespace chamfer
