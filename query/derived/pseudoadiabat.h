#pragma once

#include <memory>
#include <vector>

namespace nvmdb::query::derived {

/// Temperatures along pseudoadiabats, from a table made when it is first asked for: 150 x 150 nodes, evenly
/// spaced in the logarithms of equivalent potential temperature (200 to 688 K) and pressure (1100 to 40 hPa),
/// linear between them. A node solves Bolton's equation for saturated air. The nodes are those of the table
/// psadilookup.dat that RIP, NCL and wrf-python read, and so is the gas constant over the heat capacity
/// (287.04 / 1004): temperatures agree with theirs to 1e-5, where an exact solution differs by some
/// hundredths of a kelvin, which is percents of a small CAPE.
/// Source: Bolton (1980), 43; Stoelinga, RIP version 4 users' guide.
/// Threads: any number.
class Pseudoadiabat {
 public:
  [[nodiscard]] static const Pseudoadiabat& instance();
  /// Temperature in K of saturated air; NaN beyond the table. Above 40 hPa it is that of dry air.
  [[nodiscard]] double temperature(double equivalent_theta, double pressure_hpa) const;

 private:
  Pseudoadiabat();
  std::vector<double> theta_;
  std::vector<double> pressure_;
  std::vector<double> temperature_;  // [theta][pressure]; NaN where there is no solution
};

}  // namespace nvmdb::query::derived
