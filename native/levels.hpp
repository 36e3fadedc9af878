// Residuals in 2 or 4 bits per dimension, packed into bytes, lowest bits first.
#pragma once

#include <algorithm>
#include <cmath>

#include "path.hpp"

namespace chamfer {
namespace {

// Levels are standardised, so a smaller step than this would only express that all are equal.
constexpr float kLeastStep = 1e-6f;

inline Levels levels_of(const float* given, int bits) {
    const int count = 1 << bits;
    Levels levels{};
    levels.bits = bits;
    const float least = *std::min_element(given, given + count), most = *std::max_element(given, given + count);
    levels.middle = (least + most) / 2;
    levels.step = std::max((most - least) / 254, kLeastStep);
    for (int n = 0; n < 16; ++n) {
        levels.exact[n] = given[n % count];
        const float code = std::nearbyint((levels.exact[n] - levels.middle) / levels.step);
        levels.bytes[n] = static_cast<uint8_t>(static_cast<int>(std::min(std::max(-127.0f, code), 127.0f)) + 128);
        levels.rounded[n] = levels.middle + static_cast<float>(levels.bytes[n] - 128) * levels.step;
    }
    return levels;
}

inline int code_at(const uint8_t* packed, int bits, int k) {
    const int in_a_byte = 8 / bits;
    return (packed[k / in_a_byte] >> (k % in_a_byte * bits)) & ((1 << bits) - 1);
}

template <int Bits>
void unpack_one(const uint8_t* packed, int bytes, const Levels& levels, uint8_t* codes) {
    for (int plane = 0; plane < 8 / Bits; ++plane)
        for (int at = 0; at < bytes; ++at)
            codes[plane * bytes + at] = levels.bytes[(packed[at] >> (plane * Bits)) & ((1 << Bits) - 1)];
}

inline void unpack_plainly(const uint8_t* packed, int64_t tokens, int dimensions, const Levels& levels,
                           uint8_t* codes) {
    const int bytes = dimensions * levels.bits / 8;
    for (int64_t j = 0; j < tokens; ++j)
        (levels.bits == 4 ? unpack_one<4> : unpack_one<2>)(packed + j * bytes, bytes, levels, codes + j * dimensions);
}

// The compiler may not fuse what comes before with what comes after into one instruction, which rounds only once.
inline float rounded(float value) {
#if defined(__SSE__)
    __asm__("" : "+x"(value));
#elif defined(__aarch64__)
    __asm__("" : "+w"(value));
#endif
    return value;
}

inline void add_levels_from(int k, const uint8_t* packed, int bits, int dimensions, const float* levels,
                            const float* spread, float* values) {
    for (; k < dimensions; ++k) values[k] += rounded(spread[k] * levels[code_at(packed, bits, k)]);
}

}  // namespace
}  // namespace chamfer
