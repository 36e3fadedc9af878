// Decodes token vectors from centroids and residuals, or from 8-bit codes.
#pragma once

#include "residuals.hpp"

namespace chamfer {

// Decode the tokens of some rows, whose centroids are `chosen`, to IEEE half precision.
void decode(const Path& path, const Residuals& residuals, const uint16_t* chosen, const int64_t* rows, int64_t count,
            int threads, uint16_t* out);

// The same from 8-bit codes and their scales.
void decode(const Path& path, const uint8_t* codes, int64_t stride, const float* scales, int dimensions,
            const int64_t* rows, int64_t count, int threads, uint16_t* out);

}  // namespace chamfer
