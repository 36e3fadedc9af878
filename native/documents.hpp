// Packed documents: 16-bit token vectors and their 8-bit codes.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>

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
    // (count) each, over the tokens of a document:
    const float* errors = nullptr;    // the largest |token - its code| / scale
    const float* worst = nullptr;     // the largest |token - its code|
    const float* longest = nullptr;   // the largest norm
    const float* shortest = nullptr;  // the smallest norm

    int64_t length(int64_t document) const { return offsets[document + 1] - offsets[document]; }

    const uint16_t* vector(int64_t token) const { return vectors + token * dimensions; }

    Codes codes_of(int64_t document) const {
        const int64_t first = offsets[document];
        return {codes + first * stride, stride, scales + first, length(document)};
    }
};

// Codes are padded to whole groups of dimensions, which are multiplied at once.
inline int64_t stride_of(int dimensions) {
    static_assert(CHAMFER_CODE_GROUP == 4, "the instructions of avx512.cpp multiply four dimensions at once");
    return (static_cast<int64_t>(dimensions) + CHAMFER_CODE_GROUP - 1) / CHAMFER_CODE_GROUP * CHAMFER_CODE_GROUP;
}

// Damaged vectors, codes or scales can give NaN, which std::sort cannot order: it would leave its array.
inline void check_number(float part_of_a_score) {
    if (!std::isfinite(part_of_a_score))
        throw std::runtime_error("a document got a score that is not a number; its vectors are damaged");
}

// Vectors, codes and scales are read from mapped files, which may be damaged; the bounds of a document tell.
inline void check_sound(bool sound) {
    if (!sound) throw std::runtime_error("the vectors of a document contradict their bounds; they are damaged");
}

// One query and its candidates.
struct Request {
    const float* query = nullptr;    // (tokens, dimensions)
    const float* weights = nullptr;  // (tokens), none negative
    int tokens = 0;
    const int64_t* candidates = nullptr;
    const float* offsets = nullptr;  // (count), added to the scores of candidates, or nothing
    int64_t count = 0;
    bool l2 = true;
};

// Compute codes and scales (per token), and errors, worst, longest and shortest (per document).
void quantize(const Path& path, const uint16_t* vectors, const int64_t* offsets, int64_t count, int dimensions,
              int threads, uint8_t* codes, float* scales, float* errors, float* worst, float* longest,
              float* shortest);

// The distance from every query token to the closest token of each candidate, (count, tokens); needs no codes.
void minima(const Path& path, const Documents& documents, const Request& request, int threads, float* out);

// <row, query> for every row of half precision numbers.
void dots(const Path& path, const uint16_t* rows, int64_t count, int dimensions, const float* query, int threads,
          float* out);

}  // namespace chamfer
