#include "tests/lint/layers.h"

#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace nvmdb::lint {
namespace {

struct Layer {
  std::string_view folder;
  int rank;
};
/// storage <- wal <- index <- engine <- {ingest | query | tpcc} <- server <- cli.
constexpr std::array<Layer, 9> kLayers{{{"storage", 0},
                                        {"wal", 1},
                                        {"index", 2},
                                        {"engine", 3},
                                        {"ingest", 4},
                                        {"query", 4},
                                        {"tpcc", 4},
                                        {"server", 5},
                                        {"cli", 6}}};

std::string_view first_folder(std::string_view path) { return path.substr(0, path.find('/')); }

std::optional<int> rank_of(std::string_view path) {
  for (const Layer& layer : kLayers) {
    if (first_folder(path) == layer.folder) return layer.rank;
  }
  return std::nullopt;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

/// What stands between the quotes or angle brackets of an #include line.
std::optional<std::string_view> included(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string_view::npos || line[hash] != '#') return std::nullopt;
  const std::size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string_view::npos || !line.substr(word).starts_with("include")) return std::nullopt;
  const std::size_t open = line.find_first_of("\"<", word);
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = line.find_first_of("\">", open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

std::optional<std::string> broken_include_rule(std::string_view path, std::string_view target) {
  const std::optional<int> from = rank_of(path);
  const std::optional<int> to = rank_of(target);
  if (from && to) {
    if (*to > *from) return "includes upwards";
    if (*to == *from && first_folder(path) != first_folder(target)) return "includes sideways";
  }
  if (target.starts_with("tests/")) return "the product includes a test";
  if (path.starts_with("engine/met/") && to && !starts_with_any(target, {"engine/met/", "storage/base/"})) {
    return "engine/met holds values only: it may include engine/met and storage/base";
  }
  if (path.starts_with("storage/base/") && to && !target.starts_with("storage/base/")) {
    return "storage/base includes nothing else";
  }
  if (starts_with_any(target, {"grpc", "google/protobuf"}) && !starts_with_any(path, {"server/", "cli/"})) {
    return "gRPC and protobuf stay in server and cli";
  }
  if (target.starts_with("libpmem") && !path.starts_with("storage/nvm/")) {
    return "durable memory is reached through storage/nvm only";
  }
  return std::nullopt;
}

/// Flush and fence instructions, and the libraries that wrap them.
bool touches_media(std::string_view line) {
  for (const std::string_view word : {"_mm_clwb", "_mm_clflush", "_mm_sfence", "_mm_stream", "_mm256_stream",
                                      "pmem2_", "pmemobj_", "msync("}) {
    if (line.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<Violation> check_file(const std::string& path, const std::string& content) {
  std::vector<Violation> found;
  std::istringstream lines(content);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (const auto target = included(line)) {
      if (const auto rule = broken_include_rule(path, *target)) found.push_back({path, number, line, *rule});
    } else if (!path.starts_with("storage/nvm/") && touches_media(line)) {
      found.push_back({path, number, line, "flushes and fences belong to storage/nvm"});
    }
  }
  return found;
}

std::vector<Violation> check_tree(const std::filesystem::path& root, std::size_t& files) {
  std::vector<Violation> found;
  files = 0;
  for (const Layer& layer : kLayers) {
    const std::filesystem::path folder = root / layer.folder;
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string ending = entry.path().extension().string();
      if (!entry.is_regular_file() || (ending != ".h" && ending != ".cc")) continue;
      std::ifstream in(entry.path());
      std::ostringstream content;
      content << in.rdbuf();
      const std::string path = std::filesystem::relative(entry.path(), root).generic_string();
      const std::vector<Violation> broken = check_file(path, content.str());
      found.insert(found.end(), broken.begin(), broken.end());
      ++files;
    }
  }
  return found;
}

}  // namespace nvmdb::lint
