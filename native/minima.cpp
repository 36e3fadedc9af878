#include <cmath>
#include <limits>

#include "documents.hpp"
#include "threads.hpp"

namespace chamfer {
namespace {

constexpr float kNoise = CHAMFER_NOISE;

// Query tokens in groups, [group][dimension][kGroup], and the squares of their norms.
struct Groups {
    explicit Groups(const Request& request, int dimensions)
        : count((request.tokens + kGroup - 1) / kGroup),
          values(static_cast<size_t>(count) * dimensions * kGroup, 0.0f),
          squares(request.tokens) {
        for (int i = 0; i < request.tokens; ++i) {
            double sum = 0;
            for (int k = 0; k < dimensions; ++k) {
                const float value = request.query[static_cast<size_t>(i) * dimensions + k];
                values[(static_cast<size_t>(i / kGroup) * dimensions + k) * kGroup + i % kGroup] = value;
                sum += static_cast<double>(value) * value;
            }
            squares[i] = static_cast<float>(sum);
        }
    }
    int count;
    std::vector<float> values, squares;
};

}  // namespace

void minima(const Path& path, const Documents& documents, const Request& request, int threads, float* out) {
    constexpr int64_t kPiece = 8;
    const int dimensions = documents.dimensions;
    const Groups query(request, dimensions);
    const std::vector<float> zeros(dimensions, 0.0f);
    const float* origin = zeros.data();
    Pieces pieces(request.count, kPiece);
    on_threads(useful_threads(request.count, kPiece, threads), [&] {
        std::vector<float> half_squares;
        const auto one = [&](int64_t document, float* row) {
            const int64_t first = documents.offsets[document], tokens = documents.length(document);
            if (tokens == 0) {
                std::fill_n(row, request.tokens, std::numeric_limits<float>::infinity());
                return;
            }
            if (request.l2) {
                half_squares.resize(tokens);
                for (int64_t j = 0; j < tokens; ++j) {
                    const uint16_t* vector = documents.vector(first + j);
                    path.squares(&origin, &vector, 1, dimensions, &half_squares[j]);
                    half_squares[j] /= 2;
                    check_number(half_squares[j]);
                }
            }
            for (int g = 0; g < query.count; ++g) {
                float best[kGroup];
                path.products(query.values.data() + static_cast<size_t>(g) * dimensions * kGroup,
                              documents.vector(first), tokens, dimensions,
                              request.l2 ? half_squares.data() : nullptr, best);
                for (int i = g * kGroup; i < std::min((g + 1) * kGroup, request.tokens); ++i) {
                    // The difference of nearly equal 32-bit numbers is noise, which the square root would magnify.
                    const float apart = query.squares[i] - 2 * best[i % kGroup];
                    row[i] = !request.l2                          ? -best[i % kGroup]
                             : apart < kNoise * query.squares[i] ? 0.0f
                                                                  : std::sqrt(apart);
                    check_number(row[i]);
                }
            }
        };
        for (int64_t from, to; pieces.take(from, to);)
            for (int64_t c = from; c < to; ++c) one(request.candidates[c], out + c * request.tokens);
    });
}

void dots(const Path& path, const uint16_t* rows, int64_t count, int dimensions, const float* query, int threads,
          float* out) {
    constexpr int kAtOnce = 8;
    constexpr int64_t kPiece = 1024;
    Pieces pieces(count, kPiece);
    on_threads(useful_threads(count, kPiece, threads), [&] {
        const float* queries[kAtOnce];
        std::fill_n(queries, kAtOnce, query);
        for (int64_t from, to; pieces.take(from, to);) {
            for (int64_t row = from; row < to; row += kAtOnce) {
                const int some = static_cast<int>(std::min<int64_t>(kAtOnce, to - row));
                const uint16_t* vectors[kAtOnce];
                for (int n = 0; n < some; ++n) vectors[n] = rows + (row + n) * dimensions;
                path.dots(queries, vectors, some, dimensions, out + row);
                for (int n = 0; n < some; ++n) check_number(out[row + n]);
            }
        }
    });
}

}  // namespace chamfer
