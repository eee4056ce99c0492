#include "server/config.h"

#include <toml++/toml.h>
#include <fstream>
#include <sstream>
#include <string>

#include "storage/base/size_text.h"

namespace nvmdb::server {
namespace {

std::string place(const std::filesystem::path& file, const toml::source_region& source) {
  return file.string() + ":" + std::to_string(source.begin.line) + ": ";
}

template <class Value>
Status take(const toml::node& node, const char* expected, std::optional<Value>& out,
            const std::string& where) {
  out = node.value_exact<Value>();
  if (out) return Status::ok();
  return Status::invalid_argument(where + "expected " + expected);
}

Status take_size(const toml::node& node, std::optional<std::uint64_t>& out, const std::string& where) {
  std::optional<std::string> text;
  NVMDB_TRY(take(node, "a size in quotes, such as \"4GiB\"", text, where));
  const auto size = parse_size(*text);
  if (!size.is_ok()) return Status::invalid_argument(where + size.status().message());
  out = *size;
  return Status::ok();
}

Status take_roots(const toml::node& node, std::vector<std::filesystem::path>& out, const std::string& where) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return Status::invalid_argument(where + "expected a list of directories");
  for (const toml::node& entry : *array) {
    std::optional<std::string> text;
    NVMDB_TRY(take(entry, "a directory in quotes", text, where));
    out.emplace_back(*text);
  }
  return Status::ok();
}

Status take_entry(std::string_view name, const toml::node& node, const std::string& where,
                  FileConfig& config) {
  if (name == "pool") return take(node, "a directory in quotes", config.pool, where);
  if (name == "listen") return take(node, "HOST:PORT in quotes", config.listen, where);
  if (name == "dram") return take_size(node, config.dram_bytes, where);
  if (name == "nvm") return take_size(node, config.nvm_bytes, where);
  if (name == "scrub-rate") return take_size(node, config.scrub_bytes_per_second, where);
  if (name == "no-create") return take(node, "true or false", config.no_create, where);
  if (name == "insecure-listen") return take(node, "true or false", config.insecure_listen, where);
  if (name == "ingest-root") return take_roots(node, config.ingest_roots, where);
  if (name == "placement") return take(node, "compact, scatter or none in quotes", config.placement, where);
  if (name == "device-model") return take(node, "a name in quotes", config.device_model, where);
  if (name == "ingest-workers") {
    std::optional<std::int64_t> count;
    NVMDB_TRY(take(node, "a number", count, where));
    if (*count < 1 || *count > 64) return Status::invalid_argument(where + "expected 1 to 64");
    config.ingest_workers = static_cast<std::uint64_t>(*count);
    return Status::ok();
  }
  return Status::invalid_argument(where +
                                  "unknown name; known are pool, listen, dram, nvm, no-create, "
                                  "insecure-listen, ingest-root, ingest-workers, placement, device-model, scrub-rate");
}

}  // namespace

Result<FileConfig> load_config(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Status::not_found("configuration " + file.string() + ": cannot be read");
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return Status::io_error("configuration " + file.string() + ": cannot be read");
  FileConfig config;
  try {
    const toml::table table = toml::parse(text.str(), file.string());
    for (const auto& [name, node] : table) {
      const std::string where = place(file, node.source()) + std::string(name.str()) + ": ";
      NVMDB_TRY(take_entry(name.str(), node, where, config));
    }
  } catch (const toml::parse_error& error) {
    return Status::invalid_argument(place(file, error.source()) + std::string(error.description()));
  }
  return config;
}

}  // namespace nvmdb::server
