#include "residuals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "half.hpp"
#include "levels.hpp"
#include "read_once.hpp"
#include "threads.hpp"

namespace chamfer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// With a larger factor, all that rounding left of a sum that should be 0 would be a token.
constexpr double kMostFactor = 60000;

float up(double value) { return std::nextafter(static_cast<float>(value), std::numeric_limits<float>::infinity()); }
float down(double value) { return std::nextafter(static_cast<float>(value), 0.0f); }

// Measures one token at a time.
class Measure {
   public:
    Measure(const Path& path, const Residuals& residuals)
        : path_(path), given_(residuals), levels_(levels_of(residuals.levels, residuals.bits)),
          in_half_(std::sqrt(residuals.dimensions) * 0x1p-25),
          in_levels_(std::sqrt(path.square_sum(residuals.spread, residuals.dimensions)) *
                     (std::fabs(levels_.middle) + 127 * levels_.step)),
          ones_(residuals.dimensions, 1.0f),
          sum_(residuals.dimensions), rounded_(residuals.dimensions), codes_(residuals.dimensions) {
        for (int n = 0; n < 16; ++n) steps_[n] = static_cast<float>(levels_.bytes[n] - 128) * levels_.step;
    }

    void take(int64_t token) {
        const uint8_t* packed = given_.packed + token * given_.bytes();
        const float* centroid = given_.centroids + centroid_of(token) * given_.dimensions;
        fill(sum_, centroid, packed, levels_.exact, given_.spread);
        fill(rounded_, centroid, packed, levels_.rounded, given_.spread);
        fill(codes_, nullptr, packed, steps_, ones_.data());
        const double norm = norm_of(sum_), scale = 1 / std::max(norm, CHAMFER_SMALLEST_NORM);
        const bool fits = scale <= kMostFactor;
        const float wide = fits ? static_cast<float>(scale) : 0.0f;
        path_.to_halves(&wide, 1, &factor);
        const double kept = from_half(factor);
        double apart = 0;
        for (int k = 0; k < given_.dimensions; ++k) {
            const double here = scale * sum_[k] - kept * rounded_[k];
            apart += here * here;
            sum_[k] -= centroid[k];  // the residual
        }
        // Every number of the sum, and of its parts, was rounded, and so was its product with the scale; then it
        // becomes a half.
        const double parts = std::sqrt(path_.square_sum(centroid, given_.dimensions)) + norm_of(sum_) + in_levels_;
        const double rounding = scale * (parts + norm) * 0x1p-22;
        const double slack = std::min(rounding + 1e-6 * scale * norm, 2.0) + scale * norm * 0x1p-11 + in_half_;
        lost = std::sqrt(apart) + slack;
        best_lost = std::fabs(scale - kept) * norm + slack;
        reach = kept * std::sqrt(1 + path_.square_sum(codes_.data(), given_.dimensions));
        longest = scale * norm + slack;
        shortest = std::max(scale * norm - slack, 0.0);
    }

    uint16_t factor = 0;
    double lost = 0, best_lost = 0, reach = 0, longest = 0, shortest = 0;

   private:
    int64_t centroid_of(int64_t token) const {
        const int64_t chosen = read_once(given_.chosen + token);
        if (chosen >= given_.count) throw std::invalid_argument("every token must name one of the centroids");
        return chosen;
    }

    void fill(std::vector<float>& values, const float* centroid, const uint8_t* packed, const float* levels,
              const float* spread) const {
        if (centroid) {
            std::copy_n(centroid, values.size(), values.begin());
        } else {
            std::fill(values.begin(), values.end(), 0.0f);
        }
        path_.add_levels(packed, given_.bits, given_.dimensions, levels, spread, values.data());
    }

    double norm_of(const std::vector<float>& values) const {
        return std::sqrt(path_.square_sum(values.data(), given_.dimensions));
    }

    const Path& path_;
    const Residuals& given_;
    const Levels levels_;
    const double in_half_;    // error of small numbers in half precision
    const double in_levels_;  // the largest numbers that rounded levels are sums of
    float steps_[16];
    const std::vector<float> ones_;
    std::vector<float> sum_, rounded_, codes_;
};

}  // namespace

void measure(const Path& path, const Residuals& residuals, const int64_t* offsets, int64_t documents, int threads,
             const Measured& out) {
    constexpr int64_t kPiece = 16;
    Pieces pieces(documents, kPiece);
    on_threads(useful_threads(documents, kPiece, threads), [&] {
        Measure token(path, residuals);
        for (int64_t from, to; pieces.take(from, to);) {
            for (int64_t d = from; d < to; ++d) {
                out.lost[d] = out.best_lost[d] = out.reach[d] = out.longest[d] = out.shortest[d] = 0;
                if (offsets[d] == offsets[d + 1]) continue;
                double lost = 0, best_lost = 0, reach = 0, longest = 0, shortest = kInfinity;
                for (int64_t j = offsets[d]; j < offsets[d + 1]; ++j) {
                    token.take(j);
                    out.factors[j] = token.factor;
                    lost = std::max(lost, token.lost);
                    best_lost = std::max(best_lost, token.best_lost);
                    reach = std::max(reach, token.reach);
                    longest = std::max(longest, token.longest);
                    shortest = std::min(shortest, token.shortest);
                }
                out.lost[d] = up(lost);
                out.best_lost[d] = up(best_lost);
                out.reach[d] = up(reach);
                out.longest[d] = up(longest);
                out.shortest[d] = down(shortest);
            }
        }
    });
}

}  // namespace chamfer
