#include "cli/events_command.h"

#include <chrono>
#include <optional>
#include <thread>

#include "cli/event_triggers.h"
#include "cli/exit_codes.h"
#include "cli/listings.h"
#include "cli/messages.h"
#include "cli/output.h"

namespace nvmdb::cli {
namespace {

constexpr std::chrono::seconds kReconnect{1};
/// Who was served so long had the right address: the server went away.
constexpr std::chrono::seconds kServed{2};

class EventsCommand {
 public:
  EventsCommand(const Arguments& arguments, server::Client& client) : arguments_(arguments), client_(client) {}

  Status run() {
    const std::string source = arguments_.pool.empty() ? "nvmdb://" + arguments_.server : "file:" + arguments_.pool;
    NVMDB_ASSIGN(EventTriggers triggers, EventTriggers::open({arguments_.event_command, arguments_.event_url, source,
                                                              arguments_.event_state}));
    NVMDB_ASSIGN(Output output, Output::open(arguments_.output));
    const Format format = output.format(arguments_.format);
    after_ = triggers.last() ? triggers.last() : arguments_.after;
    const bool follow = arguments_.follow || !after_;
    // Lines, not a table: each event is told when it comes.
    NVMDB_TRY(output.write(event_header(format)));
    NVMDB_TRY(output.flush());
    for (;;) {
      const auto began = std::chrono::steady_clock::now();
      Status failure;
      const Status status = client_.watch(after_, follow, [&](const engine::Event& event) {
        failure = tell(event, format, output, triggers);
        after_ = event.sequence;
        ++seen_;
        return failure.is_ok() && seen_ != arguments_.count;
      });
      NVMDB_TRY(failure);
      if (status.is_ok()) return output.finish();
      const bool was_served = seen_ > 0 || std::chrono::steady_clock::now() - began > kServed || was_away_;
      if (!follow || !client_.unreachable() || !was_served) return status;
      if (!was_away_) tell_error(status.message() + "; waiting for it");
      was_away_ = true;
      std::this_thread::sleep_for(kReconnect);
    }
  }

 private:
  Status tell(const engine::Event& event, Format format, Output& output, EventTriggers& triggers) {
    was_away_ = false;
    NVMDB_TRY(output.write(event_line(event, format)));
    NVMDB_TRY(output.flush());
    return triggers.deal_with(event);
  }

  const Arguments& arguments_;
  server::Client& client_;
  std::optional<std::uint64_t> after_;
  std::uint64_t seen_ = 0;
  bool was_away_ = false;
};

}  // namespace

int run_events(const Arguments& arguments, server::Client& client) {
  const Status status = EventsCommand(arguments, client).run();
  if (status.is_ok()) return kDone;
  tell_error(status);
  return client.unreachable() ? kUnreachable : exit_code_of(status.code());
}

}  // namespace nvmdb::cli
