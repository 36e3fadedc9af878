#include <cmath>
#include <limits>

#include "documents.hpp"
#include "half.hpp"
#include "threads.hpp"

namespace chamfer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Round outwards, so that bounds computed from the result hold.
float up(double value) { return std::nextafter(static_cast<float>(value), kInfinity); }
float down(double value) { return std::nextafter(static_cast<float>(value), 0.0f); }

}  // namespace

void quantize(const Path& path, const uint16_t* vectors, const int64_t* offsets, int64_t count, int dimensions,
              int threads, uint8_t* codes, float* scales, float* errors, float* worst, float* longest,
              float* shortest) {
    constexpr int64_t kPiece = 64;
    const int64_t stride = stride_of(dimensions);
    Pieces pieces(count, kPiece);
    on_threads(useful_threads(count, kPiece, threads), [&] {
        std::vector<float> token(dimensions);
        std::vector<int8_t> rounded(stride, 0);
        for (int64_t from, to; pieces.take(from, to);) {
            for (int64_t d = from; d < to; ++d) {
                errors[d] = worst[d] = 0;
                double most = 0, least = std::numeric_limits<double>::infinity();
                for (int64_t j = offsets[d]; j < offsets[d + 1]; ++j) {
                    for (int k = 0; k < dimensions; ++k) token[k] = from_half(vectors[j * dimensions + k]);
                    const double square = path.square_sum(token.data(), dimensions);
                    scales[j] = path.take_codes(token.data(), dimensions, rounded.data());
                    for (int64_t k = 0; k < stride; ++k) codes[j * stride + k] = static_cast<uint8_t>(rounded[k] + 128);
                    const double lost =
                        std::sqrt(path.square_sum(token.data(), dimensions)) + CHAMFER_CODE_ERROR * std::sqrt(square);
                    worst[d] = std::max(worst[d], up(lost));
                    if (scales[j] > 0) errors[d] = std::max(errors[d], up(lost / scales[j]));
                    most = std::max(most, square);
                    least = std::min(least, square);
                }
                longest[d] = up(std::sqrt(most));
                shortest[d] = offsets[d] == offsets[d + 1] ? 0.0f : down(std::sqrt(least));
            }
        }
    });
}

}  // namespace chamfer
