#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/engine_fixture.h"
#include "tests/support/scratch_directory.h"
#include "tpcc/loader.h"
#include "tpcc/trial.h"

namespace nvmdb::tpcc {
namespace {

TrialOptions small_trial(const std::filesystem::path& pool, std::uint32_t threads) {
  TrialOptions options;
  options.pool = pool;
  options.nvm_bytes = 1ULL << 30U;
  options.dram_bytes = 1ULL << 30U;
  options.log_bytes = 256ULL << 20U;
  options.run.threads = threads;
  options.run.warmup_seconds = 0;
  options.run.seconds = 1;
  options.check = true;
  return options;
}

class TpccTrial : public ::testing::Test {
 protected:
  test::ScratchDirectory scratch_;
};

TEST_F(TpccTrial, KeepsAllConditionsAlsoWhenItIsOpenedAgain) {
  TrialOptions options = small_trial(scratch_.path() / "pool", 2);
  for (int round = 0; round < 2; ++round) {
    const auto result = run_trial(options);
    ASSERT_TRUE(result.is_ok()) << result.status().to_string();
    EXPECT_TRUE(result->check->passed()) << result->check->first_violation();
    for (const KindResult& kind : result->run.kinds) EXPECT_GT(kind.committed, 0U);
    options.run.seed = 2;
  }
}

TEST_F(TpccTrial, WithoutValidationFailsTheConditions) {
  const TrialOptions options = small_trial(scratch_.path() / "pool", 4);
  const auto trial = std::move(TrialDatabase::open(options)).value();
  ASSERT_TRUE(load(trial->database(), {}).is_ok());
  engine::EngineTestAccess::faults(trial->database()).skip_read_validation = true;
  bool violated = false;
  for (int round = 0; round < 10 && !violated; ++round) {
    // A run may stumble over what went wrong, or the check finds it.
    const auto result = run(trial->database(), options.run);
    const auto check = check_consistency(trial->database());
    violated = !result.is_ok() || !check.is_ok() || !check->passed();
  }
  EXPECT_TRUE(violated);
}

TEST_F(TpccTrial, LosesNothingAcknowledgedWhenItIsKilled) {
  TrialOptions options = small_trial(scratch_.path() / "pool", 2);
  const auto report = run_kill_loop(options, 2);
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  EXPECT_EQ(report->kills, 2U);
}

/// The SSD's file on a disk, the rest in memory.
class TpccConfiguration : public ::testing::TestWithParam<Configuration> {
 protected:
  TpccConfiguration()
      : scratch_(GetParam() == Configuration::MmdbSsd ? test::ScratchDirectory::Disk : test::ScratchDirectory::Memory) {}
  [[nodiscard]] TrialOptions options() const {
    TrialOptions options = small_trial(scratch_.path() / "pool", 2);
    options.nvm_bytes = 512ULL << 20U;
    options.log_bytes = 128ULL << 20U;
    options.run.seconds = 0.3;
    options.configuration = GetParam();
    return options;
  }

 private:
  test::ScratchDirectory scratch_;
};

TEST_P(TpccConfiguration, KeepsAllConditions) {
  const auto result = run_trial(options());
  ASSERT_TRUE(result.is_ok()) << result.status().to_string();
  EXPECT_TRUE(result->check->passed()) << result->check->first_violation();
  EXPECT_GT(result->run.committed(), 0U);
}

TEST_P(TpccConfiguration, LosesNothingAcknowledgedWhenItIsKilled) {
  const auto report = run_kill_loop(options(), 1);
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
}

INSTANTIATE_TEST_SUITE_P(All, TpccConfiguration, ::testing::ValuesIn(all_configurations()), [](const auto& tested) {
  std::string name = configuration_name(tested.param);
  std::erase(name, '-');
  return name;
});

TEST_F(TpccTrial, WithoutLogKeepsAllConditionsButNotKills) {
  TrialOptions options = small_trial(scratch_.path() / "pool", 2);
  options.log_off = true;
  options.run.seconds = 0.3;
  const auto result = run_trial(options);
  ASSERT_TRUE(result.is_ok()) << result.status().to_string();
  EXPECT_TRUE(result->check->passed()) << result->check->first_violation();
  EXPECT_EQ(result->run.log_bytes, 0U);
  EXPECT_EQ(run_kill_loop(options, 1).status().code(), Code::InvalidArgument);
}

TEST(TpccConfigurations, AreFoundByTheirNames) {
  for (const Configuration configuration : all_configurations()) {
    EXPECT_EQ(*find_configuration(configuration_name(configuration)), configuration);
  }
  EXPECT_EQ(find_configuration("mmdb").status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace nvmdb::tpcc
