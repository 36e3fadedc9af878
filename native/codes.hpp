// Rounding to 8 bits, written so that the compiler vectorises it for every path.
#pragma once

#include <algorithm>
#include <cstring>

#include "path.hpp"

namespace chamfer {
namespace {

// Round to codes from -127 to 127, leave the rounding error in `token`, and return the scale.
float take_codes(float* token, int dimensions, int8_t* codes) {
    uint32_t bits = 0;  // of the largest magnitude; compilers vectorise the maximum of integers
    for (int k = 0; k < dimensions; ++k) {
        uint32_t here;
        std::memcpy(&here, token + k, sizeof here);
        bits = std::max(bits, here & 0x7fffffffu);
    }
    float largest;
    std::memcpy(&largest, &bits, sizeof largest);
    if (largest < 1e-30f) {  // its inverse would overflow 32 bits
        std::fill_n(codes, dimensions, int8_t{0});
        return 0;
    }
    constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds to an integer
    const float scale = largest / 127, inverse = 127 / largest;
    for (int k = 0; k < dimensions; ++k) {
        const float code = std::min(std::max(-127.0f, (token[k] * inverse + kRound) - kRound), 127.0f);  // NaN: -127
        codes[k] = static_cast<int8_t>(static_cast<int32_t>(code));
        token[k] -= code * scale;
    }
    return scale;
}

// Numbers that are not negative compare as their bits do; those of NaN and of negative numbers are larger.
bool scales_within(const float* scales, int64_t tokens, float least, float most) {
    uint32_t low, high, outside = 0;
    std::memcpy(&low, &least, sizeof low);
    std::memcpy(&high, &most, sizeof high);
    for (int64_t j = 0; j < tokens; ++j) {
        uint32_t here;
        std::memcpy(&here, scales + j, sizeof here);
        outside |= here - low > high - low;
    }
    return outside == 0;
}

double square_sum(const float* token, int dimensions) {
    double sums[8] = {};
    int k = 0;
    for (; k + 8 <= dimensions; k += 8)
        for (int t = 0; t < 8; ++t) sums[t] += static_cast<double>(token[k + t]) * token[k + t];
    for (; k < dimensions; ++k) sums[0] += static_cast<double>(token[k]) * token[k];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace
}  // namespace chamfer
