// IEEE half precision in plain C++, for CPUs without instructions for it.
#pragma once

#include <cstdint>
#include <cstring>

namespace chamfer {
namespace {  // a copy per file: the linker could otherwise keep one that was compiled for a newer CPU

inline float from_half(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t rest = half & 0x7fffu;
    uint32_t bits;
    if (rest >= 0x7c00u) {
        bits = 0x7f800000u | ((rest & 0x3ffu) << 13);  // infinity or NaN
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

// Round to nearest, ties to even.
inline uint16_t to_half(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return sign | 0x7e00u;   // NaN
    if (bits >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
    if (bits < 0x38800000u) {                        // subnormal: adding 0.5 leaves units of 2^-24 in the last bits
        float shifted;
        std::memcpy(&shifted, &bits, sizeof shifted);
        shifted += 0.5f;
        std::memcpy(&bits, &shifted, sizeof bits);
        return sign | static_cast<uint16_t>(bits - 0x3f000000u);
    }
    return sign | static_cast<uint16_t>((bits + 0xfffu + ((bits >> 13) & 1u) - (112u << 23)) >> 13);
}

}  // namespace
}  // namespace chamfer
