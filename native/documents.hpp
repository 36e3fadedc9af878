// Packed documents: token vectors in 16 bits and their codes in 8.
#pragma once

#include <cstdint>

#include "path.hpp"

namespace chamfer {

// Document d owns tokens offsets[d] ... offsets[d + 1].
struct Documents {
    int dimensions = 0;
    int64_t count = 0;
    const int64_t* offsets = nullptr;
    const uint16_t* vectors = nullptr;  // (tokens, dimensions), IEEE half precision
    const uint8_t* codes = nullptr;     // (tokens, stride)
    int64_t stride = 0;
    const float* scales = nullptr;    // (tokens)
    const float* errors = nullptr;    // (count) the largest |token - its code| / scale and
    const float* worst = nullptr;     // (count) the largest |token - its code| in a document,
    const float* longest = nullptr;   // (count) the largest and
    const float* shortest = nullptr;  // (count) the smallest norm of its tokens

    int64_t length(int64_t document) const { return offsets[document + 1] - offsets[document]; }

    const uint16_t* vector(int64_t token) const { return vectors + token * dimensions; }

    Codes codes_of(int64_t document) const {
        const int64_t first = offsets[document];
        return {codes + first * stride, stride, scales + first, length(document)};
    }
};

// Codes are padded to whole groups of four dimensions, which are multiplied at once.
inline int64_t stride_of(int dimensions) { return (static_cast<int64_t>(dimensions) + 3) / 4 * 4; }

// One query and the documents that are looked at.
struct Request {
    const float* query = nullptr;    // (tokens, dimensions)
    const float* weights = nullptr;  // (tokens), none negative
    int tokens = 0;
    const int64_t* candidates = nullptr;
    int64_t count = 0;
    bool l2 = true;
};

// Fill in codes and scales (per token), errors, worst, longest and shortest (per document).
void quantise(const Path& path, const uint16_t* vectors, const int64_t* offsets, int64_t count, int dimensions,
              int threads, uint8_t* codes, float* scales, float* errors, float* worst, float* longest,
              float* shortest);

// Distances of every query token to the closest token of each candidate, (count, tokens); no codes are needed.
void minima(const Path& path, const Documents& documents, const Request& request, int threads, float* out);

}  // namespace chamfer
