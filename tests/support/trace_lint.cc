#include "tests/support/trace_lint.h"

#include <optional>
#include <set>

#include "tests/support/line_model.h"

namespace nvmdb::test {
namespace {

class Linter {
 public:
  explicit Linter(const Recording& recording) : recording_(recording) {}

  void report(std::optional<std::uint32_t> thread, const std::string& when) {
    for (const auto& [id, line] : model_.pending()) {
      for (const StoreUnit& unit : line.units) {
        if ((thread.has_value() && unit.thread != *thread) || !reported_.insert(unit.site).second) continue;
        lint_.errors.push_back(recording_.sites[unit.site] + ": stored and not durable at " + when);
      }
    }
  }
  TraceLint run() {
    for (std::uint64_t index = 0; index < recording_.events.size(); ++index) {
      const Event& event = recording_.events[index];
      if (event.kind == EventKind::Flush) ++lint_.flushes;
      if (event.kind == EventKind::Fence) ++lint_.fences;
      model_.step(recording_, index, [](LineId, std::uint8_t, std::uint64_t, std::uint64_t) {});
      if (event.kind == EventKind::Acknowledge)
        report(event.thread, "acknowledgement " + std::to_string(event.id));
    }
    report(std::nullopt, "the end");
    lint_.useless_flushes = model_.useless_flushes();
    lint_.useless_fences = model_.useless_fences();
    return lint_;
  }

 private:
  const Recording& recording_;
  LineModel model_{FenceModel::PerThread};
  TraceLint lint_;
  std::set<std::uint32_t> reported_;
};

}  // namespace

TraceLint lint_trace(const Recording& recording) {
  return Linter(recording).run();
}

}  // namespace nvmdb::test
