// A query prepared for documents stored as residuals: its tokens, scaled by the spread of residuals, in 8 bits, and a
// table of their products with centroids.
#pragma once

#include <memory>

#include "query.hpp"
#include "residuals.hpp"
#include "threads.hpp"

namespace chamfer {

// With <q, x> for the product of a query token and a vector, s for the spread and L for the levels of a residual's codes:
//
//     <q, centroid + s * L> = <q, centroid> + middle * sum(q * s) + <q * s, L - middle>
//
// q * s and L - middle are rounded to 8 bits, with scales whose product is the unit of all sums. The first two terms are
// in the table, in that unit too, so that sums of products begin with them.
class ResidualQuery : public WeightedQuery {
   public:
    // Larger tables are not made, because each thread may have one: without it, every candidate may be in the top k.
    static constexpr int64_t kMostBytes = int64_t{1} << 26;

    ResidualQuery(const Path& path, const Request& request, const ResidualDocuments& documents, int threads)
        : WeightedQuery(path, request, documents.stored.dimensions),
          groups_(path, groups, documents.stored.dimensions) {
        const int dimensions = documents.stored.dimensions;
        for (auto* numbers : {&unit, &error, &best_error, &constant})
            numbers->assign(static_cast<size_t>(groups) * kGroup, 0.0f);
        codes_.resize(static_cast<size_t>(tokens) * dimensions);
        scaled_.resize(static_cast<size_t>(tokens) * dimensions);
        std::vector<const int8_t*> rows;
        for (int at = 0; at < tokens; ++at) {
            rows.push_back(codes_.data() + static_cast<size_t>(at) * dimensions);
            round(path, token_of(request, at), at, documents);
        }
        groups_.lay_out(path, rows, dimensions);
        fill(path, request, documents, threads);
    }

    bool has_table() const { return table_ != nullptr; }

    void* group(int g) const { return groups_.at(g); }

    // Sums of the first query token of a group begin with entry centroid * lanes() of its table, others behind it.
    const int32_t* table(int group) const { return static_cast<const int32_t*>(table_->at) + group * kGroup; }
    int32_t lanes() const { return groups * kGroup; }

    // A token times the spread.
    const float* scaled(int at) const { return scaled_.data() + static_cast<size_t>(at) * dimensions(); }

    // Per token, padded with zeros to whole groups.
    std::vector<float> unit;        // of sums
    std::vector<float> constant;    // what was added to every entry of the table
    std::vector<float> error;       // |token times spread - its code|, and the error of the table
    std::vector<float> best_error;  // the error of the table and of 32-bit arithmetic alone

   private:
    void round(const Path& path, const float* token, int at, const ResidualDocuments& documents) {
        const int dimensions = this->dimensions(), bits = documents.levels.bits;
        const Levels& levels = documents.levels;
        float* scaled = scaled_.data() + static_cast<size_t>(at) * dimensions;
        std::vector<float> left(dimensions);
        float largest = 0;
        double sum = 0;
        for (int k = 0; k < dimensions; ++k) {
            scaled[k] = token[k] * documents.stored.spread[k];
            largest = std::max(largest, std::fabs(scaled[k]));
            sum += scaled[k];
        }
        const double scaled_norm = std::sqrt(path.square_sum(scaled, dimensions));
        // No entry of the table may exceed 2^29, and no number vanish in the end.
        const double middles = std::sqrt(dimensions) * std::fabs(levels.middle);
        const double most = double{norm[at]} * documents.longest_centroid + scaled_norm * middles;
        const double least = std::max(most * 0x1p-29, kLeastUnit) / levels.step;
        const auto scale = static_cast<float>(std::max(double{largest} / 127, least));
        int8_t* codes = codes_.data() + static_cast<size_t>(at) * dimensions;
        for (int place = 0; place < dimensions; ++place) {
            const int k = plane_order(place, bits, dimensions);
            const float code = std::nearbyint(std::min(std::max(-127.0f, scaled[k] / scale), 127.0f));
            codes[place] = static_cast<int8_t>(code);
            left[k] = scaled[k] - code * scale;
        }
        unit[at] = scale * levels.step;
        constant[at] = static_cast<float>(levels.middle * sum / unit[at]);
        // 32-bit sums of all dimensions, one after the other.
        const double arithmetic = (dimensions / 2 + 16) * 0x1p-23;
        const double sizes = most + scaled_norm * (middles + std::sqrt(dimensions) * levels.step);
        const double of_table = unit[at] + arithmetic * sizes, of_levels = arithmetic * scaled_norm;
        const double of_codes = std::sqrt(path.square_sum(left.data(), dimensions)) + of_levels;
        error[at] = static_cast<float>(std::hypot(of_table, of_codes) * (1 + 1e-6));
        best_error[at] = static_cast<float>(std::hypot(of_table, of_levels) * (1 + 1e-6));
    }

    // Fill in the rows of the centroids that candidates have, or all of them if there are few.
    void fill(const Path& path, const Request& request, const ResidualDocuments& documents, int threads) {
        const int64_t count = documents.stored.count;
        const int64_t bytes = count * lanes() * int64_t{sizeof(int32_t)};
        if (bytes > kMostBytes) return;
        table_ = std::make_unique<Aligned>(std::max<int64_t>(bytes, 1));
        const std::vector<uint8_t> wanted = wanted_of(request, documents);
        std::vector<float> laid_out(static_cast<size_t>(groups) * dimensions() * kGroup, 0.0f), inverse(unit.size());
        for (int at = 0; at < tokens; ++at) {
            float* to = laid_out.data() + static_cast<size_t>(at / kGroup) * dimensions() * kGroup + at % kGroup;
            for (int k = 0; k < dimensions(); ++k) to[static_cast<size_t>(k) * kGroup] = token_of(request, at)[k];
            inverse[at] = 1 / unit[at];
        }
        constexpr int64_t kPiece = 4096;  // fewer rows take no longer than starting a thread
        Pieces pieces(count, kPiece);
        on_threads(useful_threads(count, kPiece, threads), [&] {
            for (int64_t from, to; pieces.take(from, to);) {
                for (int g = 0; g < groups; ++g) {
                    path.fill_table(laid_out.data() + static_cast<size_t>(g) * dimensions() * kGroup,
                                    documents.stored.centroids + from * dimensions(), to - from, dimensions(),
                                    wanted.empty() ? nullptr : wanted.data() + from, &inverse[g * kGroup],
                                    &constant[g * kGroup], lanes(),
                                    static_cast<int32_t*>(table_->at) + from * lanes() + g * kGroup);
                }
            }
        });
    }

    // Whether a candidate has each centroid; empty for all of them.
    static std::vector<uint8_t> wanted_of(const Request& request, const ResidualDocuments& documents) {
        int64_t tokens = 0;
        for (int64_t c = 0; c < request.count; ++c) tokens += documents.view.length(request.candidates[c]);
        if (documents.stored.count <= tokens / 8) return {};
        std::vector<uint8_t> wanted(1 << 16);
        for (int64_t c = 0; c < request.count; ++c) {
            const int64_t* offsets = documents.view.offsets + request.candidates[c];
            for (int64_t j = offsets[0]; j < offsets[1]; ++j) wanted[documents.stored.chosen[j]] = 1;
        }
        return wanted;
    }

    static constexpr double kLeastUnit = 1e-34;
    std::vector<int8_t> codes_;
    std::vector<float> scaled_;
    LaidOut groups_;
    std::unique_ptr<Aligned> table_;
};

}  // namespace chamfer
