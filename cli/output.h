#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/arguments.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

/// Where a command writes its answer: standard output, or a file that appears only when it is complete.
class Output {
 public:
  /// Empty `path`: standard output. Errors: NotFound, PermissionDenied, IoError.
  [[nodiscard]] static Result<Output> open(const std::string& path);
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  /// Without finish(): removes what was written.
  ~Output();

  /// Errors: IoError, OutOfSpace. `text` is kept back until there is more or finish().
  [[nodiscard]] Status write(std::string_view text);
  /// Writes what was kept back.
  [[nodiscard]] Status flush();
  [[nodiscard]] Status finish();
  [[nodiscard]] bool is_terminal() const;
  /// `asked`, else text on a terminal and csv elsewhere.
  [[nodiscard]] Format format(const std::optional<Format>& asked) const {
    return asked.value_or(is_terminal() ? Format::Text : Format::Csv);
  }

 private:
  Output(int fd, std::string path, std::string part)
      : fd_(fd), path_(std::move(path)), part_(std::move(part)) {}

  int fd_;
  std::string path_;  ///< empty: standard output
  std::string part_;  ///< written until complete; empty: written directly
  std::string buffer_;
};

}  // namespace nvmdb::cli
