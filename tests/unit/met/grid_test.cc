#include "engine/met/grid.h"

#include <gtest/gtest.h>

#include "storage/base/random.h"

namespace nvmdb::met {
namespace {

Grid reduced_grid() {
  Grid grid;
  grid.type = GridType::ReducedGaussian;
  grid.rows = 4;
  grid.columns = 28;
  grid.row_lengths = {20, 28, 28, 20};
  grid.points = 96;
  grid.gaussian_number = 2;
  grid.first_latitude = 59.44;
  grid.last_latitude = -59.44;
  grid.description = "reduced";
  return grid;
}

TEST(Grid, DefinitionReadsBack) {
  const Grid grid = reduced_grid();
  const Grid again = Grid::decode_definition(grid.encode_definition()).value();
  EXPECT_EQ(again.encode_definition(), grid.encode_definition());
  EXPECT_EQ(again.row_lengths, grid.row_lengths);
  EXPECT_EQ(again.description, "reduced");
}

TEST(Grid, DecoderSurvivesAnyBytes) {
  const Bytes good = reduced_grid().encode_definition();
  SeededRandom random(7);
  for (int round = 0; round < 20000; ++round) {
    Bytes bad = good;
    bad.resize(random.below(good.size() + 1));
    for (std::uint64_t flips = random.below(8); flips > 0 && !bad.empty(); --flips) {
      bad[random.below(bad.size())] = static_cast<std::byte>(random.next());
    }
    const Result<Grid> grid = Grid::decode_definition(bad);
    if (grid.is_ok()) (void)grid->validate();
  }
}

TEST(Grid, ValidateNamesWhatDoesNotFit) {
  EXPECT_TRUE(reduced_grid().validate().is_ok());
  Grid grid = reduced_grid();
  grid.points = 97;
  EXPECT_NE(grid.validate().message().find("97"), std::string::npos);
  grid = reduced_grid();
  grid.row_lengths.pop_back();
  EXPECT_FALSE(grid.validate().is_ok());
  grid = reduced_grid();
  grid.first_latitude = 91;
  EXPECT_FALSE(grid.validate().is_ok());
}

}  // namespace
}  // namespace nvmdb::met
