// A query prepared for documents with 8-bit codes: its tokens in 8 bits.
#pragma once

#include "query.hpp"

namespace chamfer {

class CodedQuery : public WeightedQuery {
   public:
    CodedQuery(const Path& path, const Request& request, int dimensions)
        : WeightedQuery(path, request, dimensions), groups_(path, groups, dimensions) {
        const int64_t stride = stride_of(dimensions);
        codes_.assign(2 * static_cast<size_t>(tokens) * stride, 0);
        for (auto* numbers : {&scale, &error, &code_norm, &rest_share, &rest_error, &loss})
            numbers->assign(static_cast<size_t>(groups) * kGroup, 0.0f);
        for (int at = 0; at < tokens; ++at) {
            rows.push_back(codes_.data() + at * stride);
            rests.push_back(codes_.data() + (tokens + at) * stride);
            const float* token = token_of(request, at);
            quantize(path, std::vector<float>(token, token + dimensions), at, codes_.data() + at * stride,
                     codes_.data() + (tokens + at) * stride);
        }
        groups_.lay_out(path, rows, dimensions);
    }

    void* group(int g) const { return groups_.at(g); }

    std::vector<const int8_t*> rows;   // codes
    std::vector<const int8_t*> rests;  // codes of the rounding error
    // Per token, padded with zeros to whole groups.
    std::vector<float> scale;
    std::vector<float> error;       // |token - its code|
    std::vector<float> code_norm;   // |its code|
    std::vector<float> rest_share;  // scale of the rest, relative to the scale of the codes
    std::vector<float> rest_error;  // |token - code - rest|
    std::vector<float> loss;        // |its code| / scale; multiplied by the relative error of a document's codes

   private:
    void quantize(const Path& path, std::vector<float> token, int at, int8_t* row, int8_t* rest) {
        const auto dimensions = static_cast<int>(token.size());
        const auto norm_of = [&] { return static_cast<float>(std::sqrt(path.square_sum(token.data(), dimensions))); };
        scale[at] = path.take_codes(token.data(), dimensions, row);
        // Bounds multiply errors by the norm of a document token, so the rounding error can be added here.
        error[at] = norm_of() + rounding * norm[at];
        code_norm[at] = norm[at] + error[at];
        loss[at] = scale[at] > 0 ? code_norm[at] / scale[at] : 0;
        const float rest_scale = path.take_codes(token.data(), dimensions, rest);
        rest_share[at] = scale[at] > 0 ? rest_scale / scale[at] : 0;
        rest_error[at] = norm_of() + rounding * norm[at];
    }

    std::vector<int8_t> codes_;
    LaidOut groups_;
};

}  // namespace chamfer
