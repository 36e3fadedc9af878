// A query prepared for screening: its tokens with weight, heaviest first, in 8 bits.
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

class WeightedQuery {
   public:
    WeightedQuery(const Path& path, const Request& request, int dimensions)
        : rounding(std::ldexp(static_cast<float>(dimensions / 8 + request.tokens / 8 + 16), -23)),
          offsets_(request.offsets), group_bytes_(path.group_bytes(dimensions)) {
        for (int i = 0; i < request.tokens; ++i)
            if (request.weights[i] > 0) order.push_back(i);
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return request.weights[a] > request.weights[b]; });
        tokens = static_cast<int>(order.size());
        if (tokens > 0) std::frexp(request.weights[order[0]], &exponent);
        if (offsets_) exponent = std::max(exponent, kLeastExponent);
        groups = (tokens + kGroup - 1) / kGroup;
        const int64_t stride = stride_of(dimensions);
        codes_.assign(2 * static_cast<size_t>(tokens) * stride, 0);
        for (auto* numbers : {&scale, &weight, &norm, &square, &error, &code_norm, &rest_share, &rest_error, &loss})
            numbers->assign(static_cast<size_t>(groups) * kGroup, 0.0f);
        for (int at = 0; at < tokens; ++at) {
            int8_t* row = codes_.data() + at * stride;
            int8_t* rest = codes_.data() + (tokens + at) * stride;
            rows.push_back(row);
            rests.push_back(rest);
            weight[at] = std::ldexp(request.weights[order[at]], -exponent);
            total += weight[at];
            const float* token = request.query + static_cast<size_t>(order[at]) * dimensions;
            quantize(path, std::vector<float>(token, token + dimensions), at, row, rest);
        }
        laid_out_ = std::make_unique<Aligned>(group_bytes_ * std::max(groups, 1));
        for (int g = 0; g < groups; ++g)
            path.lay_out(rows.data() + g * kGroup, std::min(kGroup, tokens - g * kGroup), dimensions, group(g));
        choose_portions();
    }

    void* group(int g) const { return static_cast<char*>(laid_out_->at) + g * group_bytes_; }

    // What is added to the score of a candidate, scaled like the weights, which 64 bits do without rounding.
    double offset(int64_t candidate) const { return offsets_ ? std::ldexp(double{offsets_[candidate]}, -exponent) : 0; }

    int tokens = 0;  // number of tokens with weight
    int groups = 0;
    std::vector<Portion> portions;
    std::vector<int> order;            // index in the request
    std::vector<const int8_t*> rows;   // codes
    std::vector<const int8_t*> rests;  // codes of the rounding error
    int exponent = 0;  // weights and offsets are divided by 2 to this power while ranking: the heaviest is about 1
    double total = 0;  // sum of all weights
    // Per token, padded with zeros to whole groups.
    std::vector<float> scale, weight, norm, square;
    std::vector<float> error;       // |token - its code|
    std::vector<float> code_norm;   // |its code|
    std::vector<float> rest_share;  // scale of the rest, relative to the scale of the codes
    std::vector<float> rest_error;  // |token - code - rest|
    std::vector<float> loss;        // |its code| / scale; multiplied by the relative error of a document's codes
    float rounding;                 // error of 32-bit arithmetic, relative to the largest possible result

   private:
    void quantize(const Path& path, std::vector<float> token, int at, int8_t* row, int8_t* rest) {
        const auto dimensions = static_cast<int>(token.size());
        const auto norm_of = [&] { return static_cast<float>(std::sqrt(path.square_sum(token.data(), dimensions))); };
        norm[at] = norm_of();
        square[at] = norm[at] * norm[at];
        scale[at] = path.take_codes(token.data(), dimensions, row);
        // Bounds multiply errors by the norm of a document token, so the rounding error can be added here.
        error[at] = norm_of() + rounding * norm[at];
        code_norm[at] = norm[at] + error[at];
        loss[at] = scale[at] > 0 ? code_norm[at] / scale[at] : 0;
        const float rest_scale = path.take_codes(token.data(), dimensions, rest);
        rest_share[at] = scale[at] > 0 ? rest_scale / scale[at] : 0;
        rest_error[at] = norm_of() + rounding * norm[at];
    }

    void choose_portions() {
        std::vector<double> from(groups + 1, 0.0);  // total weight from each group on
        for (int g = groups - 1; g >= 0; --g)
            from[g] = std::accumulate(&weight[g * kGroup], &weight[g * kGroup] + kGroup, from[g + 1]);
        for (int g = 0; g < groups; g += portions.back().groups) {
            const bool by_itself = tokens - (g + 1) * kGroup <= kFew || from[g + 1] <= kLight * from[0];
            portions.push_back({g, by_itself ? 1 : 2});
        }
    }

    const float* offsets_;
    size_t group_bytes_;
    std::vector<int8_t> codes_;
    std::unique_ptr<Aligned> laid_out_;
};

}  // namespace chamfer
