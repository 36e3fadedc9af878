// Bounds on a score, written so that the compiler vectorises it for every path.
#pragma once

#include <algorithm>
#include <cmath>

#include "path.hpp"

namespace chamfer {
namespace {

// An upper bound on the relative rounding error of a 32-bit sum of three numbers.
constexpr float kSumError = 1e-6f;

template <bool L2>
[[gnu::always_inline]] inline Bounds bounds_of(const Found& found, int lanes, const Limits& at,
                                               float* most, float* otherwise) {
    float high[kGroup] = {}, low[kGroup] = {};
    const float nearest = at.shortest * at.shortest, farthest = at.longest * at.longest;
    for (int from = 0; from < lanes; from += kGroup) {
        float closest[kGroup], others[kGroup];
        const float* best = found.best + from;
        const float* second = found.second + from;
        const float* scale = at.scale + from;
        const float* weight = at.weight + from;
        const float* norm = at.norm + from;
        const float* square = at.square + from;
        const float* error = at.error + from;
        const float* best_error = at.best_error + from;
        const float* raised = at.raised + from;
        for (int i = 0; i < kGroup; ++i) {
            const float product = best[i] * scale[i], off = best_error[i] * at.reach + norm[i] * at.best_lost;
            const float other = second[i] * scale[i] + error[i] * at.reach + norm[i] * at.lost;
            const float largest = std::max(product + off, other);
            const float smallest = product - off - raised[i];
            const float near = std::max((square[i] + nearest) * (1 - kSumError) - 2 * largest, 0.0f);
            const float far = std::max((square[i] + farthest) * (1 + kSumError) - 2 * smallest, 0.0f);
            others[i] = other;
            closest[i] = weight[i] * (L2 ? -std::sqrt(near) : largest);
            high[i] += closest[i];
            low[i] += weight[i] * (L2 ? -std::sqrt(far) : smallest);
        }
        std::copy_n(closest, kGroup, most + from);
        std::copy_n(others, kGroup, otherwise + from);
    }
    Bounds sum{0, 0};
    for (int lane = 0; lane < kGroup; ++lane) sum.high += high[lane], sum.low += low[lane];
    return sum;
}

Bounds bounds(const Found& found, int lanes, const Limits& limits, float* most, float* otherwise) {
    return limits.l2 ? bounds_of<true>(found, lanes, limits, most, otherwise)
                     : bounds_of<false>(found, lanes, limits, most, otherwise);
}

}  // namespace
}  // namespace chamfer
