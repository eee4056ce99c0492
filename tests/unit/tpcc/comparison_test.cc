#include "tpcc/comparison.h"

#include <gtest/gtest.h>
#include <png.h>

#include <vector>

#include "tests/support/scratch_directory.h"

namespace nvmdb::tpcc {
namespace {

Comparison two_points() {
  Comparison comparison;
  comparison.points = {{.configuration = Configuration::Nvmdb, .threads = 2, .tps = 150},
                       {.configuration = Configuration::MmdbSsd, .threads = 2, .tps = 50}};
  return comparison;
}

TEST(TpccComparison, TellsHowFarTheProductIsOverEachBaseline) {
  EXPECT_NE(comparison_text(two_points()).find("+200.0%"), std::string::npos);
  const auto panels = comparison_panels(two_points());
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_DOUBLE_EQ(panels[1].series[1].points[0].y, 200);
}

TEST(TpccComparison, SaysThatADeviceIsModelled) {
  Comparison comparison = two_points();
  EXPECT_EQ(comparison_text(comparison).find("MODELLED"), std::string::npos);
  comparison.model = "optane-6x128";
  EXPECT_NE(comparison_text(comparison).find("MODELLED: the NVM has the delays of optane-6x128"), std::string::npos);
}

TEST(TpccComparison, RunsEachConfigurationOnAPoolOfItsOwnAndRemovesIt) {
  test::ScratchDirectory memory;
  test::ScratchDirectory disk(test::ScratchDirectory::Disk);
  ComparisonOptions options;
  options.trial.pool = memory.path();
  options.trial.nvm_bytes = 512ULL << 20U;
  options.trial.log_bytes = 128ULL << 20U;
  options.trial.check = true;
  options.trial.run.seconds = 0.1;
  options.trial.run.warmup_seconds = 0;
  options.ssd = disk.path();
  options.threads = {1};
  options.rounds = 1;
  const auto comparison = compare(options);
  ASSERT_TRUE(comparison.is_ok()) << comparison.status().to_string();
  for (const Configuration configuration : all_configurations()) {
    const ComparisonPoint* point = comparison->find(configuration, 1);
    ASSERT_NE(point, nullptr);
    EXPECT_GT(point->tps, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(memory.path()));
  EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
}

TEST(TpccPlot, IsAPngThatHoldsTheLines) {
  test::ScratchDirectory scratch;
  const std::filesystem::path file = scratch.path() / "plot.png";
  ASSERT_TRUE(write_png_plot(file, "title", comparison_panels(two_points())).is_ok());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, file.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<png_byte> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
  std::size_t coloured = 0;
  for (std::size_t i = 0; i < pixels.size(); i += 3) coloured += pixels[i] != pixels[i + 1] ? 1U : 0U;
  EXPECT_GT(coloured, 100U);
  EXPECT_EQ(write_png_plot("/nowhere/plot.png", "title", {}).code(), Code::IoError);
}

}  // namespace
}  // namespace nvmdb::tpcc
