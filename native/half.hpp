// IEEE half precision without instructions for it.
#pragma once

#include <cstdint>
#include <cstring>

namespace chamfer {
namespace {  // each file its own: a function shared by files for different processors could be one that not all can run

inline float from_half(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t rest = half & 0x7fffu;
    uint32_t bits;
    if (rest >= 0x7c00u) {
        bits = 0x7f800000u | ((rest & 0x3ffu) << 13);  // infinity, or not a number
    } else if (rest >= 0x400u) {
        bits = (rest << 13) + (112u << 23);
    } else {  // subnormal: the number of units of 2^-24
        const float value = static_cast<float>(rest) * 0x1p-24f;
        std::memcpy(&bits, &value, sizeof bits);
    }
    bits |= sign;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace
}  // namespace chamfer
