#pragma once

#include <cstdint>
#include <vector>

namespace nvmdb::query {

/// Latitudes of the 2N rows of the Gaussian grid of number `n` (at least 1), north to south: the roots of the
/// Legendre polynomial of degree 2N, by Newton's iteration. Units:  degrees. Source: Abramowitz and
/// Stegun, 22.16.6 (first guess) and 22.7.10 (recurrence).
[[nodiscard]] std::vector<double> gaussian_latitudes(std::uint32_t n);

}  // namespace nvmdb::query
