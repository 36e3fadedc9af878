#include "decode.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "levels.hpp"
#include "threads.hpp"

namespace chamfer {
namespace {

constexpr int64_t kPiece = 256;

// Call fill(n, values) for the n-th row, and write the values in half precision.
template <typename Fill>
void decode_rows(const Path& path, int dimensions, int64_t count, int threads, uint16_t* out, Fill fill) {
    Pieces pieces(count, kPiece);
    on_threads(useful_threads(count, kPiece, threads), [&] {
        std::vector<float> values(dimensions);
        for (int64_t from, to; pieces.take(from, to);) {
            for (int64_t n = from; n < to; ++n) {
                fill(n, values.data());
                path.to_halves(values.data(), dimensions, out + n * dimensions);
            }
        }
    });
}

}  // namespace

void decode(const Path& path, const Residuals& residuals, const uint16_t* chosen, const int64_t* rows, int64_t count,
            int threads, uint16_t* out) {
    const int dimensions = residuals.dimensions;
    const Levels levels = levels_of(residuals.levels, residuals.bits);
    decode_rows(path, dimensions, count, threads, out, [&](int64_t n, float* values) {
        std::copy_n(residuals.centroids + static_cast<int64_t>(chosen[n]) * dimensions, dimensions, values);
        path.add_levels(residuals.packed + rows[n] * residuals.bytes(), residuals.bits, dimensions, levels.exact,
                        residuals.spread, values);
        const double norm = std::sqrt(path.square_sum(values, dimensions));
        const auto factor = static_cast<float>(1 / std::max(norm, CHAMFER_SMALLEST_NORM));
        for (int k = 0; k < dimensions; ++k) values[k] *= factor;
    });
}

void decode(const Path& path, const uint8_t* codes, int64_t stride, const float* scales, int dimensions,
            const int64_t* rows, int64_t count, int threads, uint16_t* out) {
    decode_rows(path, dimensions, count, threads, out, [&](int64_t n, float* values) {
        const int64_t row = rows[n];
        for (int k = 0; k < dimensions; ++k)
            values[k] = static_cast<float>(codes[row * stride + k] - 128) * scales[row];
    });
}

}  // namespace chamfer
