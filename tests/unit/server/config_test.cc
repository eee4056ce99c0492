#include "server/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace nvmdb::server {
namespace {

Result<FileConfig> load(const std::string& text) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nvmdb_config_" + std::to_string(::getpid()) + ".toml");
  std::ofstream(file) << text;
  auto config = load_config(file);
  std::filesystem::remove(file);
  return config;
}

TEST(Config, ReadsEveryName) {
  const auto config = load(
      "pool = \"/data/pool\"\nlisten = \"127.0.0.1:0\"\ndram = \"1GiB\"\nnvm = \"2GiB\"\nno-create = true\n"
      "insecure-listen = false\ningest-workers = 3\nscrub-rate = \"8MiB\"\ningest-root = [\"/a\", \"/b\"]\n");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->pool, "/data/pool");
  EXPECT_EQ(config->listen, "127.0.0.1:0");
  EXPECT_EQ(config->dram_bytes, 1ULL << 30U);
  EXPECT_EQ(config->nvm_bytes, 2ULL << 30U);
  EXPECT_EQ(config->no_create, true);
  EXPECT_EQ(config->insecure_listen, false);
  EXPECT_EQ(config->ingest_workers, 3U);
  EXPECT_EQ(config->scrub_bytes_per_second, 8ULL << 20U);
  EXPECT_EQ(config->ingest_roots.size(), 2U);
}

TEST(Config, NamesTheLineOfAMistake) {
  for (const char* text : {"\npoool = \"x\"\n", "\npool = 3\n", "\nnvm = \"4XB\"\n", "\npool = \n",
                           "\ningest-workers = 0\n", "\ningest-root = \"/a\"\n"}) {
    const auto config = load(text);
    EXPECT_EQ(config.status().code(), Code::InvalidArgument) << text;
    EXPECT_NE(config.status().message().find(":2: "), std::string::npos) << config.status().message();
  }
}

TEST(Config, SaysThatAFileIsNotThere) {
  EXPECT_EQ(load_config("/nonexistent/nvmdb.toml").status().code(), Code::NotFound);
}

}  // namespace
}  // namespace nvmdb::server
