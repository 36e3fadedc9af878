// Products of a query with centroids, written so that the compiler vectorises them for every path.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "path.hpp"

namespace chamfer {
namespace {

using Lanes = float __attribute__((vector_size(4 * kGroup), aligned(4)));

// `Rows` rows at a time, so that the sums of one do not wait for each other.
template <int Rows>
void fill_rows(const float* query, const float* rows, const int64_t* chosen, int dimensions, const float* inverse,
               const float* constant, int64_t stride, int32_t* table) {
    const float* row[Rows];
    Lanes sums[Rows];
    for (int r = 0; r < Rows; ++r) {
        row[r] = rows + chosen[r] * dimensions;
        sums[r] = Lanes{};
    }
    for (int k = 0; k < dimensions; ++k) {
        Lanes q;
        std::memcpy(&q, query + static_cast<size_t>(k) * kGroup, sizeof q);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) sums[r] += q * row[r][k];
    }
    for (int r = 0; r < Rows; ++r) {
        float sum[kGroup];
        std::memcpy(sum, &sums[r], sizeof sum);
        int32_t* to = table + chosen[r] * stride;
        for (int i = 0; i < kGroup; ++i) {
            const float start = sum[i] * inverse[i] + constant[i];  // NaN becomes -kMostStart
            to[i] = static_cast<int32_t>(std::nearbyint(std::min(std::max(-kMostStart, start), kMostStart)));
        }
    }
}

template <int Rows>
void fill_table(const float* query, const float* rows, int64_t count, int dimensions, const uint8_t* wanted,
                const float* inverse, const float* constant, int64_t stride, int32_t* table) {
    int64_t chosen[Rows];
    int many = 0;
    for (int64_t n = 0; n < count; ++n) {
        if (wanted && !wanted[n]) continue;
        chosen[many++] = n;
        if (many < Rows) continue;
        fill_rows<Rows>(query, rows, chosen, dimensions, inverse, constant, stride, table);
        many = 0;
    }
    for (int r = 0; r < many; ++r)
        fill_rows<1>(query, rows, chosen + r, dimensions, inverse, constant, stride, table);
}

bool take_starts(const uint16_t* centroids, const uint16_t* factors, int64_t tokens, int64_t count, int32_t lanes,
                 float most, int32_t* rows, float* scales) {
    uint32_t last = 0, largest = 0;
    for (int64_t j = 0; j < tokens; ++j) {
        const uint32_t centroid = centroids[j], half = factors[j];
        last = std::max(last, centroid);
        largest = std::max(largest, half);
        rows[j] = static_cast<int32_t>(centroid * static_cast<uint32_t>(lanes));  // may overflow before it is checked
        const uint32_t bits = half << 13;  // of the factor, divided by 2^112
        float scale;
        std::memcpy(&scale, &bits, sizeof scale);
        scales[j] = scale * 0x1p112f;
    }
    // Halves that are negative, infinite or not a number are the largest by their bits. The others compare as they do.
    const uint32_t bits = largest << 13;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return last < count && largest < 0x7c00u && scale * 0x1p112f <= most;
}

}  // namespace
}  // namespace chamfer
