// The levels of residuals with AVX2 instructions.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "levels.hpp"

namespace chamfer {
namespace {

inline float sum_of(__m256 x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// 32 bytes of packed codes at a time, each of which holds codes of several planes; the rest one by one.
template <int Bits>
void unpack_planes(const uint8_t* packed, int64_t tokens, int bytes, const Levels& levels, uint8_t* codes) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels.bytes)));
    const __m256i mask = _mm256_set1_epi8((1 << Bits) - 1);
    for (int64_t j = 0; j < tokens; ++j, packed += bytes, codes += bytes * (8 / Bits)) {
        int at = 0;
        for (; at + 32 <= bytes; at += 32) {
            const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(packed + at));
            for (int plane = 0; plane < 8 / Bits; ++plane) {
                const __m256i one = _mm256_and_si256(_mm256_srli_epi16(all, plane * Bits), mask);
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + plane * bytes + at),
                                    _mm256_shuffle_epi8(table, one));
            }
        }
        for (; at < bytes; ++at)
            for (int plane = 0; plane < 8 / Bits; ++plane)
                codes[plane * bytes + at] = levels.bytes[(packed[at] >> (plane * Bits)) & ((1 << Bits) - 1)];
    }
}

void unpack(const uint8_t* packed, int64_t tokens, int dimensions, const Levels& levels, uint8_t* codes) {
    const auto planes = levels.bits == 4 ? unpack_planes<4> : unpack_planes<2>;
    planes(packed, tokens, dimensions * levels.bits / 8, levels, codes);
}

// The levels of the codes of 8 dimensions from a multiple of 8 on; an instruction chooses among 8 levels.
template <int Bits>
inline __m256 levels_at(const uint8_t* packed, int k, __m256 low, __m256 high) {
    int32_t codes = 0;
    std::memcpy(&codes, packed + k * Bits / 8, Bits);
    const __m256i shifts = _mm256_setr_epi32(0, Bits, 2 * Bits, 3 * Bits, 4 * Bits, 5 * Bits, 6 * Bits, 7 * Bits);
    const __m256i code = _mm256_srlv_epi32(_mm256_set1_epi32(codes), shifts);  // by its last bits
    const __m256 below = _mm256_permutevar8x32_ps(low, code);
    if (Bits == 2) return below;
    const __m256 beyond = _mm256_castsi256_ps(_mm256_slli_epi32(code, 28));  // the sign is the fourth bit
    return _mm256_blendv_ps(below, _mm256_permutevar8x32_ps(high, code), beyond);
}

// Leaves out the last dimensions if they are fewer than 8.
template <int Bits, typename Use>
inline void each_8(const uint8_t* packed, int dimensions, const float* levels, Use use) {
    const __m256 low = _mm256_loadu_ps(levels), high = _mm256_loadu_ps(levels + 8);
    for (int k = 0; k + 8 <= dimensions; k += 8) use(k, levels_at<Bits>(packed, k, low, high));
}

template <int Bits>
void add_levels_of(const uint8_t* packed, int dimensions, const float* levels, const float* spread, float* values) {
    each_8<Bits>(packed, dimensions, levels, [&](int k, __m256 level) {
        __m256 residual = _mm256_mul_ps(_mm256_loadu_ps(spread + k), level);
        __asm__("" : "+x"(residual));  // may not be fused with the addition, which would round only once
        _mm256_storeu_ps(values + k, _mm256_add_ps(_mm256_loadu_ps(values + k), residual));
    });
}

void add_levels(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* spread,
                float* values) {
    (bits == 4 ? add_levels_of<4> : add_levels_of<2>)(packed, dimensions, levels, spread, values);
    add_levels_from(dimensions / 8 * 8, packed, bits, dimensions, levels, spread, values);
}

template <int Bits>
float level_dot_of(const uint8_t* packed, int dimensions, const float* levels, const float* query) {
    __m256 sum = _mm256_setzero_ps();
    each_8<Bits>(packed, dimensions, levels,
                 [&](int k, __m256 level) { sum = _mm256_fmadd_ps(_mm256_loadu_ps(query + k), level, sum); });
    return sum_of(sum);
}

float level_dot(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* query) {
    return (bits == 4 ? level_dot_of<4> : level_dot_of<2>)(packed, dimensions, levels, query);
}

}  // namespace
}  // namespace chamfer
