#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/catalogue.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

struct TriggerOptions {
  std::string command{};  ///< run by /bin/sh for each event; empty: none
  std::string post_url{};  ///< gets each event as a CloudEvent (JSON, structured mode); empty: none
  std::string source{};    ///< of the CloudEvents: which database it is
  std::string state{};     ///< file that keeps the last event dealt with; empty: none
};

/// What is done for each event besides telling of it: a command, an HTTP POST, and a note of how far it came.
/// Each event at least once, in order: one that fails is tried again with growing delays, and none after it before it
/// succeeded.
/// Threads: one.
class EventTriggers {
 public:
  /// Errors: InvalidArgument (the URL is none of http and https; the state file holds something else), IoError.
  [[nodiscard]] static Result<EventTriggers> open(TriggerOptions options);

  /// The sequence number that the state file holds.
  [[nodiscard]] std::optional<std::uint64_t> last() const { return last_; }
  /// Returns when command and POST succeeded. Errors: IoError, OutOfSpace (of the state file).
  [[nodiscard]] Status deal_with(const engine::Event& event);

 private:
  explicit EventTriggers(TriggerOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Status run_command(const engine::Event& event) const;
  [[nodiscard]] Status post(const engine::Event& event) const;
  [[nodiscard]] Status keep(std::uint64_t sequence);

  TriggerOptions options_;
  std::optional<std::uint64_t> last_;
};

/// The event as a CloudEvent 1.0 in JSON.
[[nodiscard]] std::string cloud_event(const engine::Event& event, const std::string& source);

}  // namespace nvmdb::cli
