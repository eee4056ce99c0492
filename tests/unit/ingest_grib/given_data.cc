#include "given_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace nvmdb::ingest::testing {
namespace {

bool is_shared_data(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path / "given") && std::filesystem::is_directory(path / "expected");
}

}  // namespace

std::filesystem::path shared_data() {
  if (const char* set = std::getenv("NVMDB_SHARED_DATA"); set != nullptr)
    return is_shared_data(set) ? set : "";
  for (std::filesystem::path at = NVMDB_SOURCE_DIR; at.has_relative_path(); at = at.parent_path()) {
    if (is_shared_data(at.parent_path() / "shared" / "data")) return at.parent_path() / "shared" / "data";
  }
  return "";
}

std::vector<std::string> given_grib_files() {
  std::vector<std::string> files;
  if (shared_data().empty()) return files;
  for (const auto& entry : std::filesystem::directory_iterator(shared_data() / "expected")) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("_") || name.find(".nc") != std::string::npos) continue;
    if (expected_result(name).value("kind", "") == "grib") files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

nlohmann::json expected_result(const std::string& file) {
  std::ifstream in(shared_data() / "expected" / (file + ".json"));
  return nlohmann::json::parse(in);
}

nlohmann::json expected_case(const std::string& name) {
  return expected_result("_cases").at(name);
}

Status decode_given(const std::string& file, MemorySink& sink) {
  const int fd = ::open((shared_data() / "given" / file).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::not_found(file);
  const Status status = decode_grib(fd, DecodeLimits{}, sink);
  ::close(fd);
  return status;
}

Status decode_bytes(ByteSpan bytes, MemorySink& sink, const DecodeLimits& limits) {
  const int fd = ::memfd_create("grib", MFD_CLOEXEC);
  NVMDB_CHECK(fd >= 0, "memfd_create failed");
  NVMDB_CHECK(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "short write");
  const Status status = decode_grib(fd, limits, sink);
  ::close(fd);
  return status;
}

Bytes read_given(const std::string& file) {
  std::ifstream in(shared_data() / "given" / file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace nvmdb::ingest::testing
