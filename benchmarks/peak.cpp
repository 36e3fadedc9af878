// How many 8-bit operations one core can do in a second, at best: products and sums in registers, nothing to wait for.
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

int main() {
    constexpr int kRegisters = 16, kRounds = 4'000'000;
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
        __m512i sums[kRegisters] = {};
        const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
        const auto began = std::chrono::steady_clock::now();
        for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 16
            for (auto& sum : sums) asm volatile("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        best = std::max(best, 128.0 * kRegisters * kRounds / took.count());
    }
    std::printf("%.1f\n", best / 1e9);
}
