// The candidates that can be in the top k, by their codes or residuals alone.
#pragma once

#include <vector>

#include "documents.hpp"
#include "residuals.hpp"

namespace chamfer {

std::vector<int64_t> survivors(const Path& path, const Documents& documents, const Request& request, int64_t k,
                               int threads);

std::vector<int64_t> survivors(const Path& path, const ResidualDocuments& documents, const Request& request, int64_t k,
                               int threads);

}  // namespace chamfer
