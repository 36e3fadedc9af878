// Decodes token vectors from centroids and residuals, or from 8-bit codes.
#pragma once

#include "path.hpp"

namespace chamfer {

// Dimension k of a token is centroid[k] + spread[k] * levels[its code]; the token is then normalised to unit length.
// Codes of `bits` bits are packed into bytes, lowest bits first.
struct Residuals {
    const uint8_t* packed;  // (tokens, dimensions * bits / 8)
    int bits;
    int dimensions;
    const float* levels;     // (2 ** bits)
    const float* spread;     // (dimensions)
    const float* centroids;  // (centroids, dimensions)
    const uint16_t* chosen;  // (rows to decode) the centroid of each
};

// Decode the tokens of some rows, to IEEE half precision.
void decode(const Path& path, const Residuals& residuals, const int64_t* rows, int64_t count, int threads,
            uint16_t* out);

// The same from 8-bit codes and their scales.
void decode(const Path& path, const uint8_t* codes, int64_t stride, const float* scales, int dimensions,
            const int64_t* rows, int64_t count, int threads, uint16_t* out);

}  // namespace chamfer
