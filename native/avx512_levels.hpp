// The levels of residuals with AVX-512 instructions.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "levels.hpp"

namespace chamfer {
namespace {

// 64 bytes of packed codes at a time, each of which holds codes of several planes.
template <int Bits>
void unpack_planes(const uint8_t* packed, int64_t tokens, int bytes, const Levels& levels, uint8_t* codes) {
    const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels.bytes)));
    const __m512i mask = _mm512_set1_epi8((1 << Bits) - 1);
    for (int64_t j = 0; j < tokens; ++j, packed += bytes, codes += bytes * (8 / Bits)) {
        for (int at = 0; at < bytes; at += 64) {
            const __mmask64 some = bytes - at >= 64 ? ~__mmask64{0} : (__mmask64{1} << (bytes - at)) - 1;
            const __m512i all = _mm512_maskz_loadu_epi8(some, packed + at);
#pragma GCC unroll 4
            for (int plane = 0; plane < 8 / Bits; ++plane) {
                const __m512i one = _mm512_and_si512(_mm512_srli_epi16(all, plane * Bits), mask);
                _mm512_mask_storeu_epi8(codes + plane * bytes + at, some, _mm512_shuffle_epi8(table, one));
            }
        }
    }
}

void unpack(const uint8_t* packed, int64_t tokens, int dimensions, const Levels& levels, uint8_t* codes) {
    const auto planes = levels.bits == 4 ? unpack_planes<4> : unpack_planes<2>;
    planes(packed, tokens, dimensions * levels.bits / 8, levels, codes);
}

// The levels of the codes of 16 dimensions from a multiple of 8 on, of which `some` are there.
template <int Bits>
[[gnu::always_inline]] inline __m512 levels_at(const uint8_t* packed, int k, __mmask16 some, __m512 levels) {
    const __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const int bytes = (some == 0xffff ? 16 : 8) * Bits / 8;
    uint64_t codes = 0;
    std::memcpy(&codes, packed + k * Bits / 8, bytes);
    __m512i of_lane = _mm512_set1_epi32(static_cast<int32_t>(codes));
    if (Bits == 4)  // the last eight are in the upper half
        of_lane = _mm512_mask_set1_epi32(of_lane, 0xff00, static_cast<int32_t>(codes >> 32));
    const __m512i shifts = _mm512_slli_epi32(_mm512_and_si512(places, _mm512_set1_epi32(32 / Bits - 1)), Bits / 2);
    return _mm512_permutexvar_ps(_mm512_srlv_epi32(of_lane, shifts), levels);  // by the last four bits
}

// Leaves out the last dimensions if they are fewer than 8.
template <int Bits, typename Use>
[[gnu::always_inline]] inline void each_16(const uint8_t* packed, int dimensions, const float* levels, Use use) {
    const __m512 table = _mm512_loadu_ps(levels);
    int k = 0;
    for (; k + 16 <= dimensions; k += 16) use(k, __mmask16{0xffff}, levels_at<Bits>(packed, k, 0xffff, table));
    if (k + 8 <= dimensions) use(k, __mmask16{0xff}, levels_at<Bits>(packed, k, 0xff, table));
}

template <int Bits>
void add_levels_of(const uint8_t* packed, int dimensions, const float* levels, const float* spread, float* values) {
    each_16<Bits>(packed, dimensions, levels, [&](int k, __mmask16 some, __m512 level) {
        __m512 residual = _mm512_mul_ps(_mm512_maskz_loadu_ps(some, spread + k), level);
        __asm__("" : "+v"(residual));  // may not be fused with the addition, which would round only once
        _mm512_mask_storeu_ps(values + k, some, _mm512_add_ps(_mm512_maskz_loadu_ps(some, values + k), residual));
    });
}

void add_levels(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* spread,
                float* values) {
    (bits == 4 ? add_levels_of<4> : add_levels_of<2>)(packed, dimensions, levels, spread, values);
    add_levels_from(dimensions / 8 * 8, packed, bits, dimensions, levels, spread, values);
}

template <int Bits>
float level_dot_of(const uint8_t* packed, int dimensions, const float* levels, const float* query) {
    __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
    each_16<Bits>(packed, dimensions, levels, [&](int k, __mmask16 some, __m512 level) {
        __m512& sum = k % 32 ? odd : even;
        sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(some, query + k), level, sum);
    });
    return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

float level_dot(const uint8_t* packed, int bits, int dimensions, const float* levels, const float* query) {
    return (bits == 4 ? level_dot_of<4> : level_dot_of<2>)(packed, dimensions, levels, query);
}

}  // namespace
}  // namespace chamfer
